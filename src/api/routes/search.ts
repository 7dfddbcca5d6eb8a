import type { SearchRequest } from '../../search/search.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { pastTime } from '../dates.ts';
import { abortOnDisconnect } from '../disconnect.ts';
import { parseFilters } from '../filters.ts';
import { searchAnswer, searchBody, type SearchBody } from '../schemas/search.ts';
import { searchedTags } from '../tags.ts';
import { searchResultView, type ResultParts } from '../views/search.ts';

/** Section 14 of the API. */
export function searchRoutes(app: Api, { services, config, clock }: RouteContext): void {
  app.post(
    '/v4/search',
    {
      schema: {
        operationId: 'search',
        summary: 'Search',
        description: 'Semantic recall over memories, chunks of documents, or both.',
        tags: ['Search'],
        body: searchBody,
        response: { 200: searchAnswer },
      },
    },
    async (request, reply) => {
      const startedAtMs = clock.now().getTime();
      const parts = partsOf(request.body);
      const found = await services.search.search({
        ...searchRequest(request.body, parts),
        ...searchedTags(callerOf(request), request.body, config),
        signal: abortOnDisconnect(reply),
      });
      const results = found.map((result) => searchResultView(result, parts));
      return { results, total: results.length, timing: clock.now().getTime() - startedAtMs };
    },
  );
}

function partsOf({ include = {}, searchMode = 'memories' }: SearchBody): ResultParts {
  const summaries = include.summaries ?? false;
  const passagesAsMemories = searchMode === 'memories';
  return { passagesAsMemories, summaries, documents: summaries || (include.documents ?? false) };
}

function searchRequest(body: SearchBody, parts: ResultParts): Omit<SearchRequest, 'scope'> {
  const {
    q,
    searchMode = 'memories',
    threshold,
    limit,
    filepath,
    docId,
    rerank,
    rewriteQuery,
    aggregate,
    include = {},
  } = body;
  const filters = parseFilters(body.filters);
  // The old format; of the other modes chunks are results of their own.
  const chunksOfMemories = include.chunks === true && searchMode === 'memories';
  return {
    q,
    mode: searchMode,
    threshold: threshold ?? 0.6,
    limit: limit ?? 10,
    includeChunks: chunksOfMemories,
    includeSummaries: parts.summaries,
    includeForgotten: include.forgottenMemories ?? false,
    includeRelated: include.relatedMemories ?? body.relatedMemories ?? false,
    rerank: rerank ?? false,
    rewriteQuery: rewriteQuery ?? false,
    ...pastTime(body.asOf),
    aggregate: aggregate ?? false,
    ...(filters && { filters }),
    ...(filepath !== undefined && { filepath }),
    ...(docId !== undefined && { docId }),
  };
}
