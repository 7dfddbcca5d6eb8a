import Type, { type Static } from 'typebox';
import {
  containerTag,
  containerTags,
  filepath,
  filters,
  jsonObject,
  nullable,
  timestamp,
  type Answered,
} from '../schemas/shared.ts';
import { firstOf } from '../../base/collections.ts';
import type { Scope } from '../../base/scope.ts';
import type { SearchResult } from '../../search/search.ts';
import { callerOf, type Api, type RouteContext, searchedTags } from '../request.ts';
import { parseFilters } from '../filters.ts';
import { publicMetadata } from '../views.ts';

/** `POST /v3/search` of section 24 of the API. */

const flag = (description: string) => Type.Optional(Type.Boolean({ description }));
const share = Type.Number({ minimum: 0, maximum: 1 });

const oldSearchBody = Type.Object({
  q: Type.String({ maxLength: 8192, pattern: '\\S', 'x-expected': 'text of 1 to 8192 characters' }),
  chunkThreshold: Type.Optional(share),
  documentThreshold: Type.Optional(share),
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
  docId: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
  filters: Type.Optional(filters),
  filepath: Type.Optional(filepath),
  includeFullDocs: flag('Add the content of each document.'),
  includeSummary: flag('Add the summary of each document.'),
  onlyMatchingChunks: flag('Default true; false adds the chunks beside them.'),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Chunks that match. Default 10.' })),
  rerank: flag('Ignored.'),
  rewriteQuery: flag('Ignored.'),
});
type OldSearchBody = Static<typeof oldSearchBody>;

const oldSearchResult = Type.Object({
  documentId: Type.String(),
  title: nullable(Type.String()),
  type: nullable(Type.String()),
  score: Type.Number({ description: 'The score of its best chunk.' }),
  createdAt: timestamp,
  updatedAt: timestamp,
  metadata: nullable(jsonObject),
  chunks: Type.Array(
    Type.Object({
      content: Type.String(),
      isRelevant: Type.Boolean(),
      score: Type.Number(),
      position: Type.Integer(),
    }),
  ),
  summary: Type.Optional(nullable(Type.String())),
  content: Type.Optional(nullable(Type.String())),
});
type OldSearchResult = Answered<typeof oldSearchResult>;

const oldSearchAnswer = Type.Object({
  results: Type.Array(oldSearchResult, { description: 'Best first.' }),
  timing: Type.Integer({ description: 'Milliseconds.' }),
  total: Type.Integer(),
});

/** `POST /v3/search` for older clients (section 24 of the API), where the switch search-v3 is on. */
export function oldSearchRoutes(app: Api, { services, config, clock }: RouteContext): void {
  if (!config.compat?.includes('search-v3')) return;
  app.post(
    '/v3/search',
    {
      schema: {
        operationId: 'searchDocuments',
        summary: 'Search documents, as version 3 did',
        description: 'For older clients; use POST /v4/search.',
        deprecated: true,
        tags: ['Search'],
        body: oldSearchBody,
        response: { 200: oldSearchAnswer },
      },
    },
    async (request) => {
      const startedAtMs = clock.now().getTime();
      const listed = searchedTags(callerOf(request), request.body, config);
      const { scope } = listed;
      const found = await services.search.search({ ...searchRequest(request.body), ...listed });
      const byDocument = Map.groupBy(found, (result) => result.documents[0]?.id ?? '');
      byDocument.delete('');
      const results = await Promise.all([...byDocument].map(([id, hits]) => resultOf(id, hits, request.body, scope)));
      return { results, total: results.length, timing: clock.now().getTime() - startedAtMs };
    },
  );

  async function resultOf(id: string, hits: SearchResult[], body: OldSearchBody, scope: Scope) {
    const chunks = await services.documents.chunks(id);
    const scores = new Map(hits.map((hit) => [hit.id, hit.similarity]));
    const matching = new Set(chunks.filter((chunk) => scores.has(chunk.id)).map((chunk) => chunk.position));
    const isNear = (position: number) => matching.has(position - 1) || matching.has(position + 1);
    const shown = chunks.filter(
      ({ position }) => matching.has(position) || (body.onlyMatchingChunks === false && isNear(position)),
    );
    const document = firstOf(firstOf(hits).documents);
    const result: OldSearchResult = {
      documentId: id,
      title: document.title,
      type: document.type,
      score: Math.max(...scores.values()),
      createdAt: document.createdAt,
      updatedAt: document.updatedAt,
      metadata: publicMetadata(document.metadata),
      chunks: shown.map((chunk) => ({
        content: chunk.content,
        isRelevant: scores.has(chunk.id),
        score: scores.get(chunk.id) ?? 0,
        position: chunk.position,
      })),
    };
    if (body.includeSummary) result.summary = document.summary;
    if (body.includeFullDocs) result.content = (await services.documents.find(id, scope))?.content ?? null;
    return result;
  }
}

function searchRequest(body: OldSearchBody) {
  const { q, chunkThreshold = 0, docId, filepath, limit = 10 } = body;
  const filters = parseFilters(body.filters);
  return {
    q,
    limit,
    mode: 'documents' as const,
    threshold: chunkThreshold,
    includeSummaries: true,
    filters,
    filepath,
    docId,
  };
}
