import Type from 'typebox';
import { documentStatuses } from '../../../engine/document.ts';
import { addBody } from '../../schemas/documents.ts';
import {
  customId,
  documentStatus,
  jsonObject,
  nullable,
  timestamp,
  words,
  type Answered,
} from '../../schemas/shared.ts';
import { closedBody, documentFields, listStyle, processing, times } from './shared.ts';

const id = Type.Unsafe<string>({
  ...customId,
  description:
    'Your own id of the document, unique in its namespace. Sending it again adds to the document: what is there already, wholly or at its end, is not added twice.',
});

const { content } = addBody.properties;

export const addDocumentBody = closedBody({ content, id: Type.Optional(id), ...documentFields, ...processing });

/** Older clients put these into the query; the body goes first. */
export const processingQuery = Type.Object(processing);

export const batchDocumentsBody = closedBody({
  documents: Type.Array(closedBody({ content, id: Type.Optional(id), ...documentFields }), {
    minItems: 1,
    maxItems: 600,
  }),
  ...processing,
});

export const batchDocumentsAnswer = Type.Object(
  {
    results: Type.Array(
      Type.Object(
        {
          id: Type.String({ description: 'For a failed document, the id that was sent, or empty.' }),
          status: words([...documentStatuses, 'error']),
          error: Type.Optional(Type.String()),
          details: Type.Optional(Type.String()),
          url: Type.Optional(Type.String()),
        },
        { additionalProperties: false },
      ),
      { description: 'Accepted documents in the order of the request, then the others.' },
    ),
    count: Type.Integer({ description: 'How many were taken.' }),
    failed: Type.Integer(),
  },
  { additionalProperties: false },
);
export type BatchDocumentsAnswer = Answered<typeof batchDocumentsAnswer>;

export const patchDocumentBody = closedBody({ content: Type.Optional(content), ...documentFields, ...processing });

export const deleteDocumentsBody = closedBody({
  ids: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
    minItems: 1,
    maxItems: 100,
    description: 'Ids of documents, or ids of your own.',
  }),
});

export const deleteDocumentsAnswer = Type.Object(
  {
    count: Type.Integer(),
    errors: Type.Array(Type.Object({ id: Type.String(), error: Type.String() })),
  },
  { additionalProperties: false },
);

export const namespaceDocumentQuery = Type.Object(
  {
    include: Type.Optional(
      Type.Array(words(['chunks', 'memories']), { description: 'Parts to add to the answer, separated by commas.' }),
    ),
  },
  listStyle,
);

export const chunkFields = {
  id: Type.String(),
  position: Type.Integer(),
  content: Type.String(),
  type: Type.String(),
  metadata: jsonObject,
  system: Type.Object({ createdAt: timestamp }),
};

export const memoryFields = {
  id: Type.String(),
  memory: Type.String(),
  metadata: jsonObject,
  isStatic: Type.Boolean(),
  isInference: Type.Boolean(),
  isLatest: Type.Boolean(),
  isForgotten: Type.Boolean(),
  version: Type.Integer(),
  system: Type.Object(times),
};

export const namespaceDocumentAnswer = Type.Object({
  id: Type.String({ description: 'Stable document identifier.' }),
  title: nullable(Type.String()),
  type: Type.String(),
  summary: nullable(Type.String()),
  content: nullable(Type.String()),
  metadata: jsonObject,
  system: Type.Object({ status: documentStatus, ...times }),
  chunks: Type.Optional(
    Type.Array(Type.Object(chunkFields), { description: 'Only when asked for; ordered by position.' }),
  ),
  memories: Type.Optional(
    Type.Array(Type.Object(memoryFields), {
      description: 'Only when asked for; every version, forgotten ones included, oldest first.',
    }),
  ),
});
export type NamespaceDocumentAnswer = Answered<typeof namespaceDocumentAnswer>;
