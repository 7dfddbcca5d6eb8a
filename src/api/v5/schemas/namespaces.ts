import Type from 'typebox';
import { containerTag, nullable, pagination, words } from '../../schemas/shared.ts';
import { pageFields } from './lists.ts';
import { closedBody, times } from './shared.ts';

export const namespacesQuery = Type.Object(pageFields);

export const namespacesAnswer = Type.Object({
  namespaces: Type.Array(
    Type.Object({
      id: Type.String(),
      namespace: Type.String(),
      documentCount: Type.Integer(),
      memoryCount: Type.Integer({ description: 'Memories that can be recalled.' }),
      description: nullable(Type.String()),
      system: Type.Object(times),
    }),
  ),
  pagination,
});

const context = Type.String({
  minLength: 1,
  maxLength: 1_500,
  description: 'Guides what is taken from the documents of the namespace.',
});

export const namespaceAnswer = Type.Object({
  namespace: Type.String(),
  supportingContext: nullable(Type.String()),
  system: Type.Object(times),
});

export const namespaceBody = closedBody({ supportingContext: nullable(context) });

export const moveQuery = Type.Object({
  moveTo: Type.Optional(
    Type.Unsafe<string>({ ...containerTag, description: 'The namespace that everything moves to instead of going.' }),
  ),
});

export const deletedAnswer = Type.Object(
  {
    status: words(['deleted']),
    namespace: Type.String(),
    deletedDocumentsCount: Type.Integer(),
    deletedMemoriesCount: Type.Integer(),
  },
  { description: 'Everything in it is gone.' },
);

export const movedAnswer = Type.Object(
  {
    status: words(['queued']),
    operationId: Type.String({ description: 'GET /v3/container-tags/merge/{mergeId} says how far it is.' }),
    namespace: Type.String(),
    moveTo: Type.String(),
  },
  { description: 'It moves, and is gone afterwards.' },
);
