import Type, { type Static } from 'typebox';
import { containerTag, documentIdParameter, documentStatus, jsonObject, nullable, timestamp, words } from './shared.ts';

/** Section 13 of the API, which is the interface specification itself. */

export const namespaceDocumentParams = Type.Object({
  namespace: Type.Unsafe<string>({ ...containerTag, description: 'The isolated scope that is read.' }),
  id: documentIdParameter,
});

export const namespaceDocumentQuery = Type.Object(
  {
    include: Type.Optional(
      Type.Array(words(['chunks', 'memories']), { description: 'What to add to the answer, separated by commas.' }),
    ),
  },
  { style: 'form', explode: false },
);

const times = { createdAt: timestamp, updatedAt: timestamp };

export const namespaceDocumentAnswer = Type.Object({
  id: Type.String({ description: 'Stable document identifier.' }),
  title: nullable(Type.String()),
  type: Type.String(),
  summary: nullable(Type.String()),
  content: nullable(Type.String()),
  metadata: jsonObject,
  system: Type.Object({ status: documentStatus, ...times }),
  chunks: Type.Optional(
    Type.Array(
      Type.Object({
        id: Type.String(),
        position: Type.Integer(),
        content: Type.String(),
        type: Type.String(),
        metadata: jsonObject,
        system: Type.Object({ createdAt: timestamp }),
      }),
      { description: 'Only when asked for; ordered by position.' },
    ),
  ),
  memories: Type.Optional(
    Type.Array(
      Type.Object({
        id: Type.String(),
        memory: Type.String(),
        metadata: jsonObject,
        isStatic: Type.Boolean(),
        isInference: Type.Boolean(),
        isLatest: Type.Boolean(),
        isForgotten: Type.Boolean(),
        version: Type.Integer(),
        system: Type.Object(times),
      }),
      { description: 'Only when asked for; every version, forgotten ones included, oldest first.' },
    ),
  ),
});
export type NamespaceDocumentAnswer = Static<typeof namespaceDocumentAnswer>;
