import Type from 'typebox';
import { nullable, timestamp, words } from './shared.ts';

export const erasureBody = Type.Object(
  {
    documents: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 1_000 }), {
        minItems: 1,
        maxItems: 1_000,
        description: 'Documents by id or customId, also those that a mirror has removed.',
      }),
    ),
    containerTag: Type.Optional(
      Type.String({ minLength: 1, maxLength: 100, description: 'A container with everything in it.' }),
    ),
    deleted: Type.Optional(
      Type.Literal(true, { description: 'All that was deleted and forgotten so far, in all containers.' }),
    ),
    rewrite: Type.Optional(
      Type.Boolean({
        description:
          'Default true. False: only the rows go, for operators who rewrite the files of tables themselves, e.g. with pg_repack.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const erasureParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 100 }) });

export const erasureAnswer = Type.Object({
  id: Type.String(),
  status: words(['removing', 'rewriting', 'completed'], {
    description: 'rewriting: the rows are gone, and the files of the database are being written anew without them.',
  }),
  documents: Type.Integer({ description: 'Documents that are gone.' }),
  memories: Type.Integer({ description: 'Memories that are gone.' }),
  problem: nullable(Type.String(), { description: 'Why the last attempt came to no end. It is tried again.' }),
  left: Type.Array(Type.String(), { description: 'Where the text may still be that memoryd cannot reach.' }),
  createdAt: timestamp,
  finishedAt: nullable(timestamp),
});
