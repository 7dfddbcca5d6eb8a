import { readScope } from '../../../account/access.ts';
import { mergePassages } from '../../../search/results.ts';
import type { SearchMode, SearchRequest } from '../../../search/search.ts';
import { callerOf, type Api, type RouteContext, abortOnDisconnect } from '../../request.ts';
import { parseFilterTree } from '../filter-tree.ts';
import { searchAnswer, searchBody, type SearchBody } from '../schemas/search.ts';
import { namespaceParams } from '../schemas/shared.ts';
import { searchResultView } from '../views.ts';

const modes: Record<NonNullable<SearchBody['searchMode']>, SearchMode> = {
  hybrid: 'hybrid',
  memories: 'memories only',
  chunks: 'documents',
};

export function namespaceSearchRoutes(app: Api, { services, clock }: RouteContext): void {
  app.post(
    '/ns/:namespace/search',
    {
      schema: {
        operationId: 'searchNamespace',
        summary: 'Search a namespace',
        description:
          'Recall over memories, chunks of documents, or both. A namespace that does not exist is an empty one.',
        tags: ['Namespaces'],
        params: namespaceParams,
        body: searchBody,
        response: { 200: searchAnswer },
      },
    },
    async (request, reply) => {
      const startedAtMs = clock.now().getTime();
      const { documents = false, related = false } = request.body.include ?? {};
      const found = await services.search.search({
        ...searchRequest(request.body),
        scope: readScope(callerOf(request), [request.params.namespace]),
        signal: abortOnDisconnect(reply),
      });
      const shown = request.body.rerank === 'aggregate' ? mergePassages(found) : found;
      const results = shown.map((result) => searchResultView(result, { documents, related }));
      return { results, searchTime: clock.now().getTime() - startedAtMs };
    },
  );
}

function searchRequest(body: SearchBody): Omit<SearchRequest, 'scope'> {
  const { query, searchMode = 'hybrid', threshold = 0.3, limit = 10, include = {}, rerank = 'none' } = body;
  return {
    ...{ q: query, mode: modes[searchMode], threshold, limit, levelled: true },
    includeSummaries: include.documents ?? false,
    includeRelated: include.related ?? false,
    includeForgotten: include.forgotten ?? false,
    rerank: rerank !== 'none',
    aggregate: rerank === 'aggregate',
    rewriteQuery: body.rewriteQuery ?? false,
    ...parseFilterTree(body.filter),
  };
}
