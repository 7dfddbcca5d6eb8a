import Type from 'typebox';
import { bucket, buckets } from './settings.ts';
import { containerTag, filepath, jsonObject, nullable, timestamp, words, type Answered } from './shared.ts';

/** Section 18 of the API. */

/** The published interface closes the answers of merges (section 1 rule 10 of the API). */
const closed = { additionalProperties: false };

export const containerTagsAnswer = Type.Array(
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    containerTag: Type.String(),
    description: nullable(Type.String()),
    createdAt: timestamp,
    updatedAt: timestamp,
    isExperimental: Type.Boolean(),
    isNova: Type.Boolean({ description: 'The tag begins with sm_project_.' }),
    visibility: words(['public', 'private', 'unlisted']),
    documentCount: Type.Integer(),
    memoryCount: Type.Integer(),
    lastActivityAt: nullable(timestamp),
    mergeStatus: Type.Optional(words(['source', 'target'], { description: 'While it is merged: which side it is.' })),
    mergeId: Type.Optional(Type.String()),
    mergeTargetTag: Type.Optional(Type.String()),
  }),
  { description: 'The one with the newest activity first.' },
);
export type ContainerTagAnswer = Answered<typeof containerTagsAnswer>[number];

export const containerParams = Type.Object({ containerTag });

export const inferredParams = Type.Object({
  containerTag,
  memoryId: Type.String({ minLength: 1, maxLength: 100 }),
});

export const mergeParams = Type.Object({ mergeId: Type.String({ minLength: 1, maxLength: 100 }) });

const changedContainer = {
  containerTag: Type.String(),
  name: nullable(Type.String()),
  entityContext: nullable(Type.String()),
  memoryFilesystemPaths: nullable(Type.Array(Type.String())),
  memories: nullable(words(['off', 'facts', 'facts+episodes']), {
    description:
      'Which content becomes a memory, for documents whose connection has no setting. Null: direct input, the owner’s own content and transcripts.',
  }),
  profileBuckets: Type.Array(bucket, { description: 'Its own, beside those of the organization.' }),
  quota: Type.Object({
    documents: nullable(Type.Integer()),
    bytes: nullable(Type.Integer()),
    requestsPerMinute: nullable(Type.Integer()),
  }),
  updatedAt: timestamp,
};

export const containerChangeAnswer = Type.Object(changedContainer);
export type ContainerChangeAnswer = Answered<typeof containerChangeAnswer>;

export const containerAnswer = Type.Object({
  ...changedContainer,
  usage: nullable(Type.Object({ documents: Type.Integer(), bytes: Type.Integer() }), {
    description: 'Null: it has no quota of documents or bytes, so that nothing is counted.',
  }),
  createdAt: timestamp,
});

const quota = (description: string, maximum = Number.MAX_SAFE_INTEGER) =>
  Type.Optional(nullable(Type.Integer({ minimum: 1, maximum, description })));

export const containerChangeBody = Type.Object({
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'For display only.' })),
  entityContext: Type.Optional(
    nullable(Type.String({ maxLength: 1_500, description: 'Guides the extraction of memories.' })),
  ),
  memoryFilesystemPaths: Type.Optional(
    nullable(Type.Array(filepath, { maxItems: 100 }), {
      description: 'Documents with a filepath elsewhere have no memories; null: they all have.',
    }),
  ),
  memories: Type.Optional(changedContainer.memories),
  profileBuckets: Type.Optional(buckets),
  quota: Type.Optional(
    Type.Object(
      {
        documents: quota('Documents that it may hold, mirrored ones included.'),
        bytes: quota('Size of its documents: for each, the larger of the sent content and its text.'),
        requestsPerMinute: quota('Requests that name it, or come with a key for it alone.', 1_000_000),
      },
      { additionalProperties: false, description: 'Absent limits stay as they are; null: no limit.' },
    ),
  ),
});

export const containerDeleteAnswer = Type.Object({
  success: Type.Boolean(),
  containerTag: Type.String(),
  deletedDocumentsCount: Type.Integer(),
  deletedMemoriesCount: Type.Integer(),
});

export const mergeBody = Type.Object({
  containerTags: Type.Array(containerTag, {
    minItems: 2,
    maxItems: 2,
    uniqueItems: true,
    description: 'Two; one of them may be the target.',
  }),
  targetContainerTag: containerTag,
});

export const mergeAnswer = Type.Object(
  {
    success: Type.Boolean(),
    status: words(['queued']),
    mergeId: Type.String(),
    targetTag: Type.String(),
    sourceTags: Type.Array(Type.String()),
  },
  closed,
);

export const mergeStatusAnswer = Type.Object(
  {
    id: Type.String(),
    status: words([
      'queued',
      'waiting_for_ingest',
      'copying_vectors',
      'db_committing',
      'cleanup_pending',
      'completed',
      'failed',
    ]),
    sourceTags: Type.Array(Type.String()),
    targetTag: Type.String(),
    progress: nullable(jsonObject),
    lastError: nullable(Type.String()),
  },
  closed,
);

export const inferredAnswer = Type.Object({
  memories: Type.Array(
    Type.Object({
      id: Type.String(),
      memory: Type.String(),
      parentCount: Type.Integer({ description: 'Memories that it was concluded from.' }),
      createdAt: timestamp,
      updatedAt: timestamp,
      metadata: nullable(jsonObject),
    }),
    { description: 'At most 50, the best founded first.' },
  ),
  total: Type.Integer(),
});

export const reviewBody = Type.Object({ action: words(['approve', 'decline', 'undo']) });

export const reviewAnswer = Type.Object({
  id: Type.String(),
  isInference: Type.Boolean(),
  isForgotten: Type.Boolean(),
  reviewStatus: Type.Unsafe<'approved' | 'declined' | null>({ type: ['string', 'null'] }),
});
