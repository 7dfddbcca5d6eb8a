import Type, { type Static } from 'typebox';
import { asOf, containerTag, filters } from '../schemas/shared.ts';
import { searchAnswer } from '../schemas/search.ts';
import { citedMemory } from '../schemas/memories.ts';
import { readScope, type Caller } from '../../account/access.ts';
import type { Section } from '../../memory/profiles.ts';
import { callerOf, type Api, type RouteContext } from '../request.ts';
import { pastTime } from '../validation.ts';
import { parseFilters } from '../filters.ts';
import { containerParams } from '../schemas/container-tags.ts';
import { profileView, searchResultView } from '../views.ts';

/** Section 15 of the API. */

const profileBody = Type.Object({
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
type ProfileBody = Static<typeof profileBody>;

const texts = Type.Array(Type.String(), { description: 'Newest first.' });

const profileAnswer = Type.Object({
  profile: Type.Object({
    static: Type.Optional(texts),
    dynamic: Type.Optional(texts),
    buckets: Type.Optional(Type.Unsafe<Record<string, string[]>>({ type: 'object', additionalProperties: texts })),
  }),
  facts: Type.Array(citedMemory, { description: 'The memories behind the lines, with where they come from.' }),
  searchResults: Type.Optional(searchAnswer),
});

const bucketsBody = Type.Object({ containerTag });
const bucketsAnswer = Type.Object({
  buckets: Type.Array(Type.Object({ key: Type.String(), description: Type.String() })),
});

const tags = ['Profiles'];
const sections: readonly Section[] = ['static', 'dynamic', 'buckets'];

/** Sections 15 and 18.7 of the API. */
export function profileRoutes(app: Api, context: RouteContext): void {
  const { services } = context;
  app.post(
    '/v4/profile',
    {
      schema: {
        operationId: 'getProfile',
        summary: 'Read the profile of a container',
        description:
          'Stable facts, recent ones, and those of buckets; with q also the results of a search in memories.',
        tags,
        body: profileBody,
        response: { 200: profileAnswer },
      },
    },
    async (request) => readProfile(context, callerOf(request), request.body),
  );

  app.post(
    '/v4/profile/buckets',
    {
      schema: {
        operationId: 'listProfileBuckets',
        summary: 'List the buckets of a container’s profile',
        tags,
        body: bucketsBody,
        response: { 200: bucketsAnswer },
      },
    },
    async (request) => {
      const { containerTag } = request.body;
      readScope(callerOf(request), [containerTag]);
      return { buckets: await services.profiles.buckets(containerTag) };
    },
  );

  app.get(
    '/v3/container-tags/:containerTag/profile',
    {
      schema: {
        operationId: 'getContainerProfile',
        summary: 'Read the profile of a container without buckets',
        tags,
        params: containerParams,
        response: { 200: profileAnswer },
      },
    },
    async (request) => {
      const { containerTag } = request.params;
      readScope(callerOf(request), [containerTag]);
      return profileView(await services.profiles.read({ containerTag, sections: ['static', 'dynamic'] }));
    },
  );
}

async function readProfile({ services, clock }: RouteContext, caller: Caller, body: ProfileBody) {
  const startedAtMs = clock.now().getTime();
  const scope = readScope(caller, [body.containerTag]);
  const filters = parseFilters(body.filters);
  const narrowed = { filters, ...pastTime(body.asOf) };
  const [profile, found] = await Promise.all([
    services.profiles.read({
      ...{ containerTag: body.containerTag, sections: sectionsOf(body) },
      buckets: body.buckets,
      ...narrowed,
    }),
    body.q === undefined || body.q.trim() === ''
      ? null
      : services.search.search({ ...searchOf(body, body.q), scope, ...narrowed }),
  ]);
  if (found === null) return profileView(profile);
  const results = found.map((result) =>
    searchResultView(result, { passagesAsMemories: true, documents: false, summaries: false }),
  );
  return {
    ...profileView(profile),
    searchResults: { results, total: results.length, timing: clock.now().getTime() - startedAtMs },
  };
}

/** Older callers send an object. */
function sectionsOf({ include }: ProfileBody): readonly Section[] {
  return Array.isArray(include) && include.length > 0 ? (include as Section[]) : sections;
}

function searchOf({ threshold, limit }: ProfileBody, q: string) {
  return { q, mode: 'memories' as const, threshold: threshold ?? 0.6, limit: limit ?? 10 };
}
