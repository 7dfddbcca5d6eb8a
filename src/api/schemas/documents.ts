import Type, { type Static } from 'typebox';
import { documentStatuses } from '../../engine/document.ts';
import {
  containerTag,
  containerTags,
  customId,
  documentIdParameter,
  documentStatus,
  filepath,
  filters,
  jsonObject,
  memoryKind,
  memoryOrigin,
  flatMetadata,
  metadataInput,
  nullable,
  pagination,
  timestamp,
  trust,
  words,
  type Answered,
} from './shared.ts';

/** Sections 12 and 13 of the API. */

/** Fields of an item in a batch, which a batch may also set as defaults for all its items. */
const ingestFields = {
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(
    Type.Array(Type.String(), { deprecated: true, description: 'Use containerTag. Ignored next to it.' }),
  ),
  metadata: Type.Optional(metadataInput),
  entityContext: Type.Optional(
    Type.String({ maxLength: 1500, description: 'Guides the extraction of memories; stored on the container.' }),
  ),
  taskType: Type.Optional(
    words(['memory', 'superrag'], { description: 'superrag: searchable, but no memories. Default memory.' }),
  ),
  dreaming: Type.Optional(
    words(['instant', 'dynamic'], { description: 'instant: memories exist when status is done. Default dynamic.' }),
  ),
  filepath: Type.Optional(filepath),
  filterByMetadata: Type.Optional(flatMetadata),
  documentDate: Type.Optional(
    Type.String({
      description: 'When the content is from.',
      pattern: '^\\d{4}-\\d{2}-\\d{2}(?:[Tt ]\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,9})?)?(?:[Zz]|[+-]\\d{2}:?\\d{2})?)?$',
      'x-expected': 'a date as YYYY-MM-DD or ISO 8601',
      examples: ['2026-03-01'],
    }),
  ),
};

export const addBody = Type.Object({
  content: Type.String({
    description: 'Text of at most 1 MiB, or one http(s) URL and nothing else, which is then fetched.',
    pattern: '\\S',
    examples: ['Mira asked to move the weekly review to Thursdays.'],
  }),
  customId: Type.Optional(customId),
  ...ingestFields,
  updateMode: Type.Optional(
    words(['replace', 'append'], { description: 'How to treat an existing customId. Default replace.' }),
  ),
});
export type AddBody = Static<typeof addBody>;

/** Answers that the published interface closes; clients may refuse more keys (section 1 rule 10 of the API). */
const closed = { additionalProperties: false };

export const addAnswer = Type.Object({ id: Type.String(), status: documentStatus }, closed);

export const batchBody = Type.Object({
  documents: Type.Array(
    Type.Unsafe<unknown>({
      'x-each': { anyOf: [addBody, addBody.properties.content] },
      description: 'The body of POST /v3/documents, or its content alone.',
    }),
    {
      minItems: 1,
      maxItems: 600,
    },
  ),
  content: Type.Optional(Type.Null()),
  ...ingestFields,
});
export type BatchBody = Static<typeof batchBody>;

export const batchAnswer = Type.Object({
  results: Type.Array(
    Type.Object(
      {
        id: Type.String({ description: 'Empty for a failed item.' }),
        status: words([...documentStatuses, 'error']),
        error: Type.Optional(Type.String()),
        details: Type.Optional(Type.String()),
        url: Type.Optional(Type.String()),
      },
      closed,
    ),
    { description: 'One per item, in the order of the request.' },
  ),
  success: Type.Integer(),
  failed: Type.Integer(),
});
export type BatchResult = Answered<typeof batchAnswer>['results'][number];

export const documentParams = Type.Object({ id: documentIdParameter });

const documentError = nullable(
  Type.Object({
    code: Type.String(),
    message: Type.String(),
    attempts: Type.Integer(),
    nextRetryAt: nullable(timestamp),
  }),
  { description: 'Why it failed or waits for another attempt.' },
);

const documentMemory = Type.Object({
  id: Type.String(),
  memory: Type.String(),
  kind: memoryKind,
  ...memoryOrigin,
  createdAt: timestamp,
  updatedAt: timestamp,
  isLatest: Type.Boolean(),
  isForgotten: Type.Boolean(),
  isStatic: Type.Boolean(),
  isInference: Type.Boolean(),
  version: Type.Integer(),
  sourceCount: Type.Integer(),
  metadata: jsonObject,
  parentMemoryId: nullable(Type.String()),
  rootMemoryId: nullable(Type.String()),
});

export const documentAnswer = Type.Object({
  id: Type.String(),
  customId: nullable(Type.String()),
  connectionId: nullable(Type.String()),
  title: nullable(Type.String()),
  content: nullable(Type.String(), { description: 'The canonical text; null until it is extracted.' }),
  raw: nullable(Type.String(), { description: 'The input as sent; null for a file.' }),
  summary: nullable(Type.String()),
  type: Type.String(),
  status: documentStatus,
  dreamingStatus: words(['dreaming', 'done']),
  taskType: words(['memory', 'superrag']),
  source: nullable(Type.String()),
  metadata: jsonObject,
  containerTags: Type.Array(Type.String()),
  url: nullable(Type.String()),
  ogImage: nullable(Type.String()),
  filepath: nullable(Type.String()),
  spatialPoint: Type.Null(),
  documentDate: nullable(timestamp),
  author: nullable(Type.String(), { description: 'Who "I" is in the text. Null: nobody is named.' }),
  trust,
  createdAt: timestamp,
  updatedAt: timestamp,
  memories: Type.Optional(Type.Array(documentMemory)),
  error: documentError,
});
export type DocumentAnswer = Answered<typeof documentAnswer>;

const selection = {
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
  filters: Type.Optional(filters),
  filepath: Type.Optional(filepath),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1000,
      description: 'Only documents with this in title or path, in any case.',
    }),
  ),
  status: Type.Optional(
    Type.Unsafe<string | string[]>({
      anyOf: [
        { type: 'string', enum: documentStatuses },
        { type: 'array', items: { type: 'string', enum: documentStatuses } },
      ],
      'x-expected': `one or several of ${documentStatuses.join(', ')}`,
    }),
  ),
  source: Type.Optional(Type.String({ description: 'api, file, url, or the name of a provider.' })),
  sources: Type.Optional(Type.Array(Type.String())),
  connectionId: Type.Optional(Type.String()),
  type: Type.Optional(Type.String()),
};

export const listBody = Type.Object({
  ...selection,
  includeContent: Type.Optional(Type.Boolean()),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: '1-based. Default 1.' })),
  cursor: Type.Optional(
    Type.String({
      maxLength: 400,
      description:
        'In place of page: next of the page before, or empty for the first one. Costs the same however far the page is, and counts nothing.',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1100, description: 'Default 10.' })),
  sort: Type.Optional(words(['createdAt', 'updatedAt'])),
  order: Type.Optional(words(['desc', 'asc'])),
});
export type ListBody = Static<typeof listBody>;

export const listedDocument = Type.Object({
  id: Type.String(),
  customId: nullable(Type.String()),
  connectionId: nullable(Type.String()),
  title: nullable(Type.String()),
  summary: nullable(Type.String()),
  type: Type.String(),
  status: documentStatus,
  url: nullable(Type.String()),
  filepath: nullable(Type.String()),
  metadata: jsonObject,
  containerTags: Type.Array(Type.String()),
  content: Type.Optional(Type.String()),
  size: Type.Optional(
    nullable(Type.Integer(), {
      description: 'Bytes: the larger of what was sent and its text. Null: there is neither.',
    }),
  ),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type ListedDocument = Answered<typeof listedDocument>;

export const listAnswer = Type.Object({
  memories: Type.Array(listedDocument),
  pagination: Type.Optional(pagination),
  next: Type.Optional(
    nullable(Type.String(), { description: 'With cursor, in place of pagination; null at the end.' }),
  ),
});

export const countBody = Type.Object(selection);
export type CountBody = Static<typeof countBody>;

export const countAnswer = Type.Object({
  totalItems: Type.Integer(),
  waiting: Type.Integer({ description: 'Of them those that are still to be processed.' }),
  failed: Type.Integer({ description: 'Of them those that could not be read.' }),
  failedUploads: Type.Integer({ description: 'Of those that failed, the ones that were sent and not mirrored.' }),
});

export const processingQuery = Type.Object(
  { containerTag: Type.Optional(containerTag), containerTags: Type.Optional(containerTags) },
  { style: 'form', explode: false },
);

export const processingAnswer = Type.Object({
  documents: Type.Array(listedDocument, { description: 'Newest first, at most 100.' }),
  totalCount: Type.Integer(),
});

export const chunksAnswer = Type.Object({
  documentId: Type.String(),
  chunks: Type.Array(
    Type.Object({
      id: Type.String(),
      position: Type.Integer(),
      content: Type.String(),
      type: Type.String(),
      metadata: jsonObject,
      createdAt: timestamp,
    }),
    { description: 'Ordered by position.' },
  ),
  total: Type.Integer(),
});
