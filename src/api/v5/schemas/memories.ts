import Type from 'typebox';
import { words } from '../../schemas/shared.ts';
import { memoryFields } from './documents.ts';
import { documentOfMemory, relatedMemoriesWithDocuments } from './search.ts';
import { closedBody, listStyle, namespace } from './shared.ts';

export const memoryParams = Type.Object({ namespace, id: Type.String({ minLength: 1, maxLength: 255 }) });

export const memoryQuery = Type.Object(
  {
    include: Type.Optional(
      Type.Array(words(['related', 'documents']), { description: 'Parts to add to the answer, separated by commas.' }),
    ),
    relatedLimit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'Limit for each list of related memories. Default 10.' }),
    ),
  },
  listStyle,
);

export const memoryAnswer = Type.Object({
  ...memoryFields,
  included: Type.Optional(
    Type.Object(
      { related: Type.Optional(relatedMemoriesWithDocuments), document: Type.Optional(documentOfMemory) },
      { description: 'Only when something was asked for. document is the source that changed last.' },
    ),
  ),
});

export const forgetBody = closedBody({
  ids: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { minItems: 1, maxItems: 500 }),
});

export const forgetMatchingBody = closedBody({
  query: Type.String({
    maxLength: 2_000,
    pattern: '\\S',
    'x-expected': 'text of 1 to 2000 characters',
    description: 'The subject of the memories.',
  }),
  dryRun: Type.Boolean({ description: 'true: only says which they are.' }),
});

export const forgetAnswer = Type.Object(
  {
    count: Type.Integer({ description: 'How many matches there are.' }),
    matches: Type.Array(Type.Object({ id: Type.String(), memory: Type.String() })),
    errors: Type.Array(Type.Object({ id: Type.String(), error: Type.String() })),
  },
  { additionalProperties: false },
);
