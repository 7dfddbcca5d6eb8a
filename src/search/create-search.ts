import { systemClock, type Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { queryTerms } from '../engine/terms.ts';
import type { Embedder } from '../models/embedder.ts';
import type { Database } from '../store/database.ts';
import type { ResultDocumentRow, ResultRow } from '../store/search/results.ts';
import type { SearchPlan } from '../store/search/search-plan.ts';
import { searchStatement } from '../store/search/search-statement.ts';
import { matchingChunks, withChunks } from './chunks-of-memories.ts';
import { createChunkAccess, type ChunkAccessChooser } from './chunk-access.ts';
import { keywordsOf } from './keywords.ts';
import { resolveNamedTags } from './named-tags.ts';
import { withRelated } from './related.ts';
import { rerank } from './rerank.ts';
import { exactLimit, maxQueryTerms, rerankedCandidates, scoring } from './scoring.ts';
import type { ResultDocument, Search, SearchRequest, SearchResult } from './search.ts';
import { mergeRankings, wordingsOf } from './wordings.ts';
import { wordReranker } from './word-reranker.ts';

export interface SearchOptions {
  database: Database;
  embedder: Embedder;
  clock?: Clock;
  log: Logger;
  /** Scopes with more chunks than this are reached by indexes. Default 5,000. */
  exactLimit?: number;
}

interface Context extends Required<SearchOptions> {
  access: ChunkAccessChooser;
}

/** Search over chunks and memories: vectors and BM25, fused in one statement of the database. */
export function createSearch(options: SearchOptions): Search {
  const complete = { clock: systemClock, exactLimit, ...options };
  const context: Context = { ...complete, access: createChunkAccess(complete) };
  return {
    async search(wanted) {
      const request = await resolveNamedTags(wanted, context.database);
      if (request.scope.containerTags?.length === 0) return [];
      const results = await find(request, context);
      const detailed = request.includeChunks ? withChunks(results, await chunksFor(request, context)) : results;
      if (!request.includeRelated) return detailed;
      return withRelated(detailed, { database: context.database, scope: request.scope, now: context.clock.now() });
    },
  };
}

async function find(request: SearchRequest, context: Context): Promise<SearchResult[]> {
  const { limit, rerank: isReranked, rewriteQuery: isRewritten, signal } = request;
  const candidates = isReranked || isRewritten ? Math.max(limit, rerankedCandidates) : limit;
  const wordings = isRewritten ? wordingsOf(request.q) : [request.q];
  const rankings = await Promise.all(
    wordings.map(async (q) => run(await planSearch({ ...request, q, limit: candidates }, context), context)),
  );
  const found = rankings.map((rows) => rows.filter(({ id }) => id !== null));
  const rows = found.length > 1 ? mergeRankings(found) : found[0]!;
  const reranker = context.embedder.reranker ?? wordReranker;
  const ranked = isReranked ? await rerank(request.q, rows, { reranker, signal }) : rows;
  return ranked.slice(0, limit).map((row) => resultOf(row, row.id!));
}

function chunksFor(request: SearchRequest, context: Context): Promise<SearchResult[]> {
  const simple = { ...request, rerank: false, rewriteQuery: false };
  return find({ ...simple, mode: 'documents', limit: matchingChunks, includeDocuments: true }, context);
}

async function planSearch(request: SearchRequest, context: Context): Promise<SearchPlan> {
  // The database's text holds no U+0000, and no half characters.
  const query = request.q.replaceAll('\0', ' ').toWellFormed();
  const terms = searchedTerms(query);
  const narrowing = narrowingOf(request);
  const vector = await embedQuery(query, terms, request.signal, context);
  request.signal?.throwIfAborted();
  const chunks = request.mode === 'memories' ? null : await context.access.choose(narrowing, terms);
  request.signal?.throwIfAborted();
  return {
    ...narrowing,
    chunks,
    memories: request.mode === 'documents' ? null : request.includeForgotten ? 'forgotten too' : 'current',
    model: { id: context.embedder.id, dimensions: context.embedder.dimensions },
    vector,
    terms,
    keywords: keywordsOf(query, terms),
    scoring: { ...scoring, relatedAt: context.embedder.relatedAt },
    threshold: request.threshold,
    limit: request.limit,
    now: context.clock.now(),
    details: {
      documents: request.includeDocuments === true || request.includeSummaries === true,
      summaries: request.includeSummaries === true,
    },
  };
}

function narrowingOf(request: SearchRequest) {
  return {
    containerTags: request.scope.containerTags,
    ...(request.filters && { filters: request.filters }),
    ...(request.filepath !== undefined && { filepath: request.filepath.replaceAll('\0', '') }),
    ...(request.namedTags && { namedTags: request.namedTags }),
    ...(request.docId !== undefined && { docId: request.docId.replaceAll('\0', '') }),
  };
}

function searchedTerms(query: string): string[] {
  const terms = queryTerms(query);
  if (terms.length <= maxQueryTerms) return terms;
  return terms.toSorted((a, b) => b.length - a.length).slice(0, maxQueryTerms);
}

/** Null when the model fails and there are terms to search by; throws its error when there are none. */
async function embedQuery(
  query: string,
  terms: readonly string[],
  signal: AbortSignal | undefined,
  { embedder, log }: Context,
): Promise<Float32Array | null> {
  try {
    const [vector] = await embedder.embed([query], { kind: 'query', ...(signal && { signal }) });
    if (vector?.length === embedder.dimensions && vector.every(Number.isFinite)) return vector;
    throw new MemorydError('embed_failed', `The model ${embedder.id} gave no usable vector for a query.`);
  } catch (error) {
    if (signal?.aborted || terms.length === 0) throw error;
    log.warn({ err: error, model: embedder.id }, 'searching by words only, the embedder failed');
    return null;
  }
}

/** Scans the scope when the index, which looks at a bounded number of vectors, did not find enough in it. */
async function run(plan: SearchPlan, { database, access }: Context): Promise<ResultRow[]> {
  const rows = await database.query<ResultRow>(searchStatement(plan));
  const found = rows[0]!.nearest_found;
  const short = found !== null && found < plan.scoring.candidates;
  if (!short || plan.chunks?.kind !== 'candidates' || plan.chunks.dense === 'scanned') return rows;
  return database.query<ResultRow>(searchStatement({ ...plan, chunks: access.withoutIndex(plan, plan.chunks) }));
}

function resultOf(row: ResultRow, id: string): SearchResult {
  return {
    id,
    kind: row.kind,
    text: row.text,
    similarity: row.similarity,
    metadata: row.metadata,
    updatedAt: row.updated_at,
    version: row.version,
    position: row.position,
    rootMemoryId: row.root_memory_id,
    filepath: row.filepath,
    documents: row.documents.map(documentOf),
  };
}

function documentOf(row: ResultDocumentRow): ResultDocument {
  return { ...row, createdAt: new Date(row.createdAt), updatedAt: new Date(row.updatedAt) };
}
