import { present } from '../base/collections.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { queryWords } from '../engine/terms.ts';
import type { Embedder } from '../models/embedder.ts';
import type { Database } from '../store/database.ts';
import { candidatesStatement, type CandidateRow } from '../store/search/candidates.ts';
import type { CandidatePlan, Keyword, Period, QueryTerm, SearchedKind } from '../store/search/search-plan.ts';
import { createAccess, type AccessChooser, type Scoped } from './access.ts';
import type { ResidentTexts, UpToDateTexts } from './resident/resident-texts.ts';
import { asNotes, readLoneTurns, scoreTurns } from './conversation.ts';
import { keywordsOf, periodsOf, wordingsOf } from './read-query.ts';
import {
  withRelated,
  bestFirst,
  levelled,
  enoughFor,
  spread,
  toLines,
  type Chosen,
  type Line,
  createResultReader,
  resultOf,
  type ResultReader,
} from './results.ts';
import { explained, type Trace } from './explain.ts';
import { foundInRows, mergeRankings, scoreCandidates, type Found, type Scored } from './score-candidates.ts';
import { scoreAgain } from './rerank.ts';
import {
  besidePassages,
  exactLimit,
  maxQueryTerms,
  mostWeak,
  nearSimilarity,
  rerankedCandidates,
  scoring,
} from './ranking-constants.ts';
import type { ExplainedSearch, SearchMode, SearchRequest, SearchResult, MatchingChunk } from './search.ts';
import { containersNaming } from '../store/container-tags.ts';
import { readTexts } from '../store/search/results.ts';
import { createGathering } from '../base/concurrency.ts';
import { languageCodes } from '../engine/languages.ts';
import { readLanguages } from '../store/text-languages.ts';

/** Chunks that are looked at, of all documents of the scope. */
const matchingChunks = 100;
/** Of one memory. */
const maxChunks = 10;

/** Gives each memory the best of the found chunks that are of its documents. */
function withChunks(memories: readonly SearchResult[], found: readonly SearchResult[]): SearchResult[] {
  const byDocument = Map.groupBy(found.flatMap(matchingChunk), ({ documentId }) => documentId);
  return memories.map((memory) => {
    const chunks = memory.documents.flatMap(({ id }) => byDocument.get(id) ?? []);
    return { ...memory, chunks: chunks.toSorted((a, b) => b.similarity - a.similarity).slice(0, maxChunks) };
  });
}

function matchingChunk({ text, position, similarity, documents }: SearchResult): MatchingChunk[] {
  const [document] = documents;
  return document && position !== null ? [{ content: text, documentId: document.id, position, similarity }] : [];
}

export interface SearchOptions {
  database: Database;
  embedder: Embedder;
  clock?: Clock;
  log: Logger;
  /** Scopes with more chunks, or more memories, than this are reached by indexes. Default 5,000. */
  exactLimit?: number;
  /** Default: each search reads from the database. */
  residentTexts?: ResidentTexts | null;
}

interface Context extends Required<SearchOptions> {
  access: AccessChooser;
  readResults: ResultReader;
  readLanguages: LanguageReader;
}

/** Search over chunks and memories by vectors and BM25: candidates of each kind by a statement, ranked together here. */
export function createSearch(options: SearchOptions): ExplainedSearch {
  const complete = { clock: systemClock, exactLimit, residentTexts: null, ...options };
  const context: Context = {
    ...complete,
    access: createAccess(complete),
    readResults: createResultReader(complete.database, complete.clock),
    readLanguages: createLanguageReader(complete.database),
  };
  return {
    async search(wanted) {
      const request = await resolveNamedTags(wanted, context.database);
      if (request.scope.containerTags?.length === 0) return [];
      const found = await find(request, context);
      const results = request.levelled ? levelled(found) : found;
      const detailed = request.includeChunks ? withChunks(results, await chunksFor(request, context)) : results;
      if (!request.includeRelated) return detailed;
      const { scope, filters } = request;
      const narrowed = { scope, ...(filters && { filters }) };
      return withRelated(detailed, { database: context.database, ...narrowed, now: context.clock.now() });
    },
    async explain(wanted, documentId) {
      const { database } = context;
      const request = await resolveNamedTags(wanted, database);
      const isEmpty = request.scope.containerTags?.length === 0;
      return explained(request, documentId, {
        database,
        trace: isEmpty ? { ranked: [], lines: [], order: [] } : await trace(request, context),
        ofDocumentAlone: () => rank({ ...request, docId: documentId }, context),
      });
    },
  };
}

async function find(request: SearchRequest, context: Context): Promise<SearchResult[]> {
  const lines = linesOf(await rankAll(request, context), request);
  const chosen = spread(choose(lines, request, enoughFor(request.limit)));
  return resultsOf(chosen.slice(0, request.limit), request, context);
}

/** All that a search goes through: what it ranked, the lines that it made of that, and those in the order of the answer. */
async function trace(request: SearchRequest, context: Context): Promise<Trace> {
  const ranked = await rankAll(request, context);
  const lines = [...linesOf(ranked, request)];
  const order = spread(choose(lines, request, () => false));
  const shown = order.slice(0, request.limit);
  return { ranked, lines, order: [...(request.levelled ? levelled(shown) : shown), ...order.slice(request.limit)] };
}

/** What was found, scored by itself and by what stands around it; where that is asked for, the best of it once more. */
async function rankAll(request: SearchRequest, context: Context): Promise<Scored[]> {
  const { database, embedder } = context;
  const worded = await rankWordings(request, context);
  const lone = await readLoneTurns(worded, database);
  const found = asNotes(worded, lone);
  const ranked = scoreTurns(found, lone);
  const reranker = request.rerank ? embedder.reranker : undefined;
  if (!reranker) return ranked;
  // Of a turn itself is read, whatever is shown for it.
  const ofTheirOwn = ranked.filter(({ turn }) => turn === null);
  const best = choose(linesOf(ofTheirOwn, request), request, ({ length }) => length >= rerankedCandidates);
  const texts = await readTexts(database, best.slice(0, rerankedCandidates));
  const { q: query, signal } = request;
  return scoreTurns(await scoreAgain(found, { query, texts, reranker, signal }), lone);
}

async function rankWordings(request: SearchRequest, context: Context): Promise<Scored[]> {
  const wordings = request.rewriteQuery ? wordingsOf(request.q) : [request.q];
  const rankings = await Promise.all(wordings.map((q) => rank({ ...request, q }, context)));
  return rankings.length > 1 ? mergeRankings(rankings) : rankings[0]!;
}

function linesOf(ranked: readonly Scored[], { mode }: SearchRequest): Iterable<Line> {
  return mode === 'documents' ? ranked.toSorted(bestFirst) : toLines(ranked, { wholeTurns: mode === 'hybrid' });
}

function chunksFor(request: SearchRequest, context: Context): Promise<SearchResult[]> {
  const simple = { ...request, rerank: false, rewriteQuery: false };
  return find({ ...simple, mode: 'documents', limit: matchingChunks }, context);
}

const kindsOf: Record<SearchMode, readonly SearchedKind[]> = {
  documents: ['chunks'],
  hybrid: ['chunks', 'memories'],
  memories: ['chunks', 'memories'],
  'memories only': ['memories'],
};

/**
 * The first lines that reach the threshold or, where weak ones are asked for and there are no others, the most similar.
 * Then too, what ranks before the first that reaches it stays if it is nearly as similar: other than the similarity,
 * the rank counts words.
 */
function choose(
  lines: Iterable<Line>,
  { threshold, weak }: SearchRequest,
  isEnough: (reached: readonly Line[]) => boolean,
): Chosen[] {
  const reached: Line[] = [];
  const others: Line[] = [];
  for (const line of lines) {
    if (line.similarity < threshold) {
      others.push(line);
      continue;
    }
    if (weak !== undefined && reached.length === 0)
      reached.push(...others.filter(({ similarity }) => similarity >= nearSimilarity));
    reached.push(line);
    if (isEnough(reached)) break;
  }
  if (weak === undefined || reached.length > 0) return reached.map((line) => ({ ...line, isWeak: false }));
  const near = others.filter(({ similarity }) => similarity >= weak).sort((a, b) => b.similarity - a.similarity);
  return near.slice(0, mostWeak).map((line) => ({ ...line, isWeak: true }));
}

// ---- Candidates

interface Query {
  text: string;
  terms: readonly QueryTerm[];
  keywords: readonly Keyword[];
  periods: readonly Period[];
  vector: Float32Array | null;
  /** For each kind that is searched, its texts in memory; null: they are in the database. */
  residents: readonly (UpToDateTexts | null)[];
}

async function rank(request: SearchRequest, context: Context): Promise<Scored[]> {
  const kinds = kindsOf[request.mode];
  const scopes = kinds.map((kind) => scopeOf(kind, request, context.clock.now()));
  const query = await readQuery(request, scopes, context);
  request.signal?.throwIfAborted();
  const linked = kinds.length > 1;
  const found = await Promise.all(
    scopes.map((scope, place) => findCandidates(scope, query.residents[place] ?? null, { linked, query }, context)),
  );
  request.signal?.throwIfAborted();
  return scoreCandidates(found);
}

async function readQuery(request: SearchRequest, scopes: readonly Scoped[], context: Context): Promise<Query> {
  // The database's text holds no U+0000, and no half characters.
  const text = request.q.replaceAll('\0', ' ').toWellFormed();
  const [{ languages, residents }, vector] = await Promise.all([
    readScopes(scopes, request, context),
    embedQuery(text, queryWords(text).length > 0, request.signal, context),
  ]);
  const searched = searchedTerms(text, languages);
  const words = searched.map(({ forms }) => forms);
  const periods = periodsOf(text, context.clock.now());
  return { text, terms: searched, keywords: keywordsOf(text, words), periods, vector, residents };
}

/** The texts of each scope that are in memory, and the languages in which the query is read. */
async function readScopes(
  scopes: readonly Scoped[],
  request: SearchRequest,
  { residentTexts, readLanguages }: Context,
): Promise<{ languages: readonly string[]; residents: (UpToDateTexts | null)[] }> {
  const residents = await Promise.all(scopes.map(async (scope) => (await residentTexts?.upToDate(scope)) ?? null));
  const known = residents.find((resident) => resident !== null);
  return { languages: known?.languages ?? (await readLanguages(request.scope.containerTags)), residents };
}

function searchedTerms(query: string, languages: readonly string[]): QueryTerm[] {
  const searched = queryWords(query, languages);
  if (searched.length <= maxQueryTerms) return searched;
  return searched.toSorted((a, b) => b.forms[0]!.length - a.forms[0]!.length).slice(0, maxQueryTerms);
}

/** Null when the model fails and there are terms to search by; throws its error when there are none. */
async function embedQuery(
  query: string,
  isFoundByWords: boolean,
  signal: AbortSignal | undefined,
  { embedder, log }: Context,
): Promise<Float32Array | null> {
  try {
    const [vector] = await embedder.embed([query], { kind: 'query', ...(signal && { signal }) });
    if (vector?.length === embedder.dimensions && vector.every(Number.isFinite)) return vector;
    throw new MemorydError('embed_failed', `The model ${embedder.id} gave no usable vector for a query.`);
  } catch (error) {
    if (signal?.aborted || !isFoundByWords) throw error;
    log.warn({ err: error, model: embedder.id }, 'searching by words only, the embedder failed');
    return null;
  }
}

/** Scans the scope when the index, which looks at a bounded number of vectors, did not find enough in it. */
async function findCandidates(
  scope: Scoped,
  resident: UpToDateTexts | null,
  { linked, query: { terms: searched, keywords, periods, vector } }: { linked: boolean; query: Query },
  { database, access: chooser, embedder, residentTexts }: Context,
): Promise<Found> {
  const model = { id: embedder.id, dimensions: embedder.dimensions };
  const fewer = scope.kind === 'memories' && linked ? besidePassages : {};
  const weights = { ...scoring, ...fewer, relatedAt: embedder.relatedAt };
  const asked = { terms: searched, keywords, periods, vector };
  const unplanned = { ...scope, ...asked, linked, model, scoring: weights };
  if (resident) return { plan: { ...unplanned, access: { kind: 'all' } }, ...(await resident.candidates(unplanned)) };
  const access = await chooser.choose(scope, searched);
  const plan: CandidatePlan = { ...unplanned, access };
  const rows = await database.query<CandidateRow>(candidatesStatement(plan));
  residentTexts?.note(scope, access.kind === 'candidates' ? access.items : 0);
  if (vector === null || access.kind === 'all' || access.dense === 'scanned') return foundInRows(plan, rows);
  const nearest = rows.find(({ id }) => id === null)!.numbers[0]!;
  if (nearest >= weights.candidates) return foundInRows(plan, rows);
  const scanned = { ...plan, access: chooser.withoutIndex(scope, access) };
  return foundInRows(scanned, await database.query<CandidateRow>(candidatesStatement(scanned)));
}

function scopeOf(kind: SearchedKind, request: SearchRequest, now: Date): Scoped {
  return {
    ...{ kind, now, forgottenToo: request.includeForgotten ?? false, containerTags: request.scope.containerTags },
    ...(request.filters && { filters: request.filters }),
    ...present({ filepath: request.filepath?.replaceAll('\0', '') }),
    ...(request.asOf && { asOf: request.asOf }),
    ...(request.dates && { dates: request.dates }),
    ...(request.namedTags && { namedTags: request.namedTags }),
    ...present({ docId: request.docId?.replaceAll('\0', '') }),
  };
}

// ---- Results

async function resultsOf(
  lines: readonly Chosen[],
  request: SearchRequest,
  { readResults }: Context,
): Promise<SearchResult[]> {
  const rows = await readResults(lines, { summaries: request.includeSummaries === true });
  const byId = new Map(rows.map((row) => [row.id, row]));
  return lines.flatMap((line) => {
    const row = byId.get(line.id);
    return row ? [resultOf(row, line)] : [];
  });
}

/**
 * The containers that named tags lead to, within the scope. Where no other container's documents name
 * them, the search is one of these containers and looks at no document.
 */
async function resolveNamedTags(request: SearchRequest, database: Database): Promise<SearchRequest> {
  const { namedTags, ...rest } = request;
  if (namedTags === undefined) return request;
  const others = (await containersNaming(database, namedTags)).filter((tag) => !namedTags.includes(tag));
  const allowed = request.scope.containerTags;
  const containerTags = [...new Set([...namedTags, ...others])].filter((tag) => allowed?.includes(tag) ?? true);
  return others.length === 0 ? { ...rest, scope: { containerTags } } : { ...request, scope: { containerTags } };
}

/** The languages of the texts in containers, or of all texts, by ISO 639-1 code. */
type LanguageReader = (containerTags: readonly string[] | null) => Promise<readonly string[]>;

/** Searches of the same containers at the same time read together. */
function createLanguageReader(database: Database): LanguageReader {
  return createGathering<readonly string[] | null, readonly string[]>({
    async run(scopes) {
      const read = new Map<string, Promise<string[]>>();
      return Promise.all(
        scopes.map((tags) => {
          const key = JSON.stringify(tags);
          const reading = read.get(key) ?? readLanguages(database, tags, languageCodes);
          read.set(key, reading);
          return reading;
        }),
      );
    },
    most: Infinity,
  });
}
