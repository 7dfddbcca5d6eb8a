import Type, { type TSchema } from 'typebox';
import { closedBody, filter } from './shared.ts';

const slug = Type.String({
  pattern: '^[a-z0-9][a-z0-9_-]{0,63}$',
  'x-expected': '1 to 64 lower-case letters, digits, underscores and hyphens that begin with a letter or a digit',
});

export const profileBody = closedBody({
  filter: Type.Optional(filter),
  buckets: Type.Optional(
    Type.Array(slug, { maxItems: 50, description: 'Only these buckets; left out: all that the namespace has.' }),
  ),
});

const lines = Type.Array(
  Type.Object({
    id: Type.String({ description: 'The id of the memory; one that begins with aggregated_ cannot be forgotten.' }),
    memory: Type.String(),
  }),
  { description: 'Newest first.' },
);

export const profileAnswer = Type.Object({
  profile: Type.Object({
    static: lines,
    dynamic: lines,
    buckets: Type.Unsafe<Record<string, { id: string; memory: string }[]>>({
      type: 'object',
      additionalProperties: lines,
    }),
  }),
});

export const profileMarkdown = Type.Unsafe<string>({ type: 'string' });

const map = (description: TSchema) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    propertyNames: slug,
    additionalProperties: description,
    minProperties: 1,
    maxProperties: 50,
    examples: [{ work: 'Role, employer, projects and work decisions.' }],
  });

export const putBucketsBody = closedBody({ buckets: map(Type.String({ maxLength: 2_000 })) });

export const deleteBucketsBody = closedBody({
  buckets: Type.Array(slug, { minItems: 1, maxItems: 50, uniqueItems: true, description: 'Unknown ones are ignored.' }),
});

export const bucketsAnswer = Type.Object({
  buckets: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: Type.String(),
    description: 'Buckets of the organization and of the namespace, with their descriptions.',
  }),
});
