import Type, { type Static } from 'typebox';
import { citedMemory } from './memories.ts';
import { searchAnswer } from './search.ts';
import { asOf, containerTag, filters } from './shared.ts';

/** Section 15 of the API. */

export const profileBody = Type.Object({
  containerTag,
  q: Type.Optional(
    Type.String({
      maxLength: 8192,
      'x-expected': 'text of at most 8192 characters',
      description: 'Also search memories, unless it is empty.',
    }),
  ),
  threshold: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1, description: 'The threshold of the search. Default 0.6.' }),
  ),
  filters: Type.Optional(filters),
  asOf: Type.Optional(asOf),
  include: Type.Optional(
    Type.Unsafe<('static' | 'dynamic' | 'buckets')[] | object>({
      anyOf: [{ type: 'array', items: { type: 'string', enum: ['static', 'dynamic', 'buckets'] } }, { type: 'object' }],
      description: 'Sections to answer; absent, empty or an object: all.',
      'x-expected': 'an array of static, dynamic and buckets',
    }),
  ),
  buckets: Type.Optional(
    Type.Array(Type.String({ maxLength: 100 }), { maxItems: 100, description: 'Only these keys.' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Results of the search. Default 10.' })),
});
export type ProfileBody = Static<typeof profileBody>;

const texts = Type.Array(Type.String(), { description: 'Newest first.' });

export const profileAnswer = Type.Object({
  profile: Type.Object({
    static: Type.Optional(texts),
    dynamic: Type.Optional(texts),
    buckets: Type.Optional(Type.Unsafe<Record<string, string[]>>({ type: 'object', additionalProperties: texts })),
  }),
  facts: Type.Array(citedMemory, { description: 'The memories behind the lines, with where they come from.' }),
  searchResults: Type.Optional(searchAnswer),
});

export const bucketsBody = Type.Object({ containerTag });
export const bucketsAnswer = Type.Object({
  buckets: Type.Array(Type.Object({ key: Type.String(), description: Type.String() })),
});
