import { readScope, type Caller } from '../../account/access.ts';
import { scoring, weakSimilarity } from '../../search/ranking-constants.ts';
import type { SearchRequest } from '../../search/search.ts';
import { callerOf, type Api, type RouteContext, abortOnDisconnect, searchedTags } from '../request.ts';
import { dateRange, pastTime } from '../validation.ts';
import { parseFilters } from '../filters.ts';
import { searchAnswer, searchBody, type ExplanationAnswer, type SearchBody } from '../schemas/search.ts';
import type { ApiServices } from '../services.ts';
import { searchResultView, type ResultParts } from '../views.ts';

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
      const caller = callerOf(request);
      const wanted = {
        ...searchRequest(request.body, parts),
        ...searchedTags(caller, request.body, config),
        signal: abortOnDisconnect(reply),
      };
      const found = await services.search.search(wanted);
      const timing = clock.now().getTime() - startedAtMs;
      const results = found.map((result) => searchResultView(result, parts));
      const named = request.body.explain?.documentId;
      const explanation =
        named === undefined ? {} : { explanation: await explain(named, wanted, { services, caller }) };
      return { results, total: results.length, timing, ...explanation };
    },
  );
}

/** A document that the key may not read is one that there is not. */
async function explain(
  named: string,
  request: SearchRequest,
  { services, caller }: { services: ApiServices; caller: Caller },
): Promise<ExplanationAnswer> {
  const document =
    (await services.documents.find(named, request.scope)) ??
    (await services.documents.find(named, readScope(caller, [])));
  if (!document) {
    const nothing = { documentId: null, title: null, status: null, rank: null, similarity: null, scores: null };
    return { ...nothing, outcome: 'not_found', ranked: 0, leftOutBy: [] };
  }
  const { id, title, status } = document;
  return { documentId: id, title, status, ...(await services.explainSearch(request, id)) };
}

function partsOf({ include = {}, searchMode = 'memories' }: SearchBody): ResultParts {
  const summaries = include.summaries ?? false;
  const passagesAsMemories = searchMode === 'memories';
  return {
    passagesAsMemories,
    scores: include.scores ?? false,
    summaries,
    documents: summaries || (include.documents ?? false),
  };
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
    ...(threshold === undefined ? { threshold: scoring.related, weak: weakSimilarity } : { threshold }),
    limit: limit ?? 10,
    levelled: true,
    includeChunks: chunksOfMemories,
    includeSummaries: parts.summaries,
    includeForgotten: include.forgottenMemories ?? false,
    includeRelated: include.relatedMemories ?? body.relatedMemories ?? false,
    rerank: rerank ?? false,
    rewriteQuery: rewriteQuery ?? false,
    ...dateRange(body.dates),
    ...pastTime(body.asOf),
    aggregate: aggregate ?? false,
    filters,
    filepath,
    docId,
  };
}
