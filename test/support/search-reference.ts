import { queryWords, terms } from '../../src/engine/terms.ts';
import { bestFirst, spread, toLines } from '../../src/search/results.ts';
import type { Scored } from '../../src/search/score-candidates.ts';
import type { SearchRequest } from '../../src/search/search.ts';
import type { Filter, FilterCondition } from '../../src/store/filters.ts';
import { worldModel, worldTime, type World, type WorldDocument, type WorldMemory } from './search-world.ts';

/**
 * The ranking of docs/decisions/0008-search-scoring.md by brute force, without a database: it says
 * what a search must find. Keywords are left out; the worlds it is used on have none.
 */
interface Item extends Omit<Scored, 'score' | 'similarity' | 'scores'> {
  cosine: number | null;
  weight: number;
  length: number;
  counts: Map<string, number>;
}

interface Word {
  forms: readonly string[];
  times: number;
}

function countOf({ forms }: Word, { counts }: Pick<Item, 'counts'>): number {
  return Math.max(...forms.map((form) => counts.get(form) ?? 0));
}

export function rank(world: World, request: SearchRequest, vector: readonly number[], relatedAt: number) {
  const items = visibleItems(world, request, vector);
  const words = queryWords(request.q).map(({ forms, count }) => ({ forms, times: count }));
  const weights = weightsOf(items, words);
  const scoreOf = bm25(items, words, weights);
  const scored = items.map((item) => ({ ...item, bm25: scoreOf(item) }));
  const pool = (['chunk', 'memory'] as const).flatMap((kind) =>
    bestOf(
      scored.filter((item) => item.kind === kind),
      kind === 'memory' && request.mode !== 'memories only' ? 100 : 200,
    ),
  );
  const dense = minMax(pool.map(({ cosine }) => cosine));
  const lexical = minMax(pool.map((item) => item.bm25));
  const covered = coverage(words, weights);
  const held = Math.max(0, ...pool.map(covered));
  const trust = words.length > 8 ? 1 : held + (1 - held) / Math.max(1, words.length);
  const later = new Set(pool.flatMap((item) => (isPassage(item) ? [documentOf(item)] : [])));
  const heads = new Map(
    pool.flatMap((item, index) =>
      item.kind === 'chunk' && !isPassage(item) ? [[documentOf(item), dense[index]!]] : [],
    ),
  );
  const beneath = (item: Item, score: number) =>
    item.kind === 'memory' || item.cosine === null || (!isPassage(item) && !later.has(documentOf(item)))
      ? score
      : (score + 0.3 * (heads.get(documentOf(item)) ?? 0)) / 1.3;
  const mostWords = Math.max(...pool.map((item) => item.bm25));
  const ranked = pool.map((item, index): Scored => {
    const own = rounded(item.cosine === null ? covered(item) : calibrate(item.cosine, relatedAt));
    const fused =
      dense[index] === null ? trust * lexical[index]! : 0.65 * dense[index]! + 0.35 * trust * lexical[index]!;
    return {
      ...item,
      score: item.weight * beneath(item, fused) + 0.3 * Math.max(0, (covered(item) - 0.75) / 0.25),
      similarity: covered(item) >= 0.75 ? Math.max(own, 0.6) : own,
      scores: { words: mostWords > 0 ? item.bm25 / mostWords : 0, vectors: item.cosine === null ? null : own },
    };
  });
  const lines =
    request.mode === 'documents'
      ? ranked.toSorted(bestFirst)
      : [...toLines(ranked, { wholeTurns: request.mode === 'hybrid' })];
  return spread(lines.filter(({ similarity }) => similarity >= request.threshold)).slice(0, request.limit);
}

function bestOf<T extends Item & { bm25: number }>(scored: readonly T[], count: number): T[] {
  const byCosine = best(
    scored.filter(({ cosine }) => cosine !== null),
    ({ cosine }) => cosine!,
    count,
  );
  const byTerms = best(
    scored.filter((item) => item.bm25 > 0),
    (item) => item.bm25,
    count,
  );
  return [...new Set([...byCosine, ...byTerms])];
}

function documentOf({ places }: Item): string {
  return places[0]!.document;
}

/** Behind the beginning of its document. */
function isPassage({ kind, places }: Item): boolean {
  return kind === 'chunk' && places[0]!.first > 0;
}

function rounded(similarity: number): number {
  return Math.round(similarity * 1e6) / 1e6;
}

function best<T extends { id: string }>(items: readonly T[], score: (item: T) => number, count: number): T[] {
  return items.toSorted((a, b) => score(b) - score(a) || (a.id < b.id ? -1 : 1)).slice(0, count);
}

function minMax(values: readonly (number | null)[]): (number | null)[] {
  const present = values.filter((value) => value !== null);
  const low = Math.min(...present);
  const high = Math.max(...present);
  return values.map((value) => (value === null ? null : high > low ? (value - low) / (high - low) : 1));
}

function calibrate(cosine: number, relatedAt: number): number {
  const similarity =
    cosine < relatedAt ? 0.6 * (cosine / relatedAt) : 0.6 + (0.4 * (cosine - relatedAt)) / (1 - relatedAt);
  return Math.min(Math.max(similarity, 0), 1);
}

/** Lengths are compared within a kind. */
function bm25(items: readonly Item[], words: readonly Word[], weights: readonly number[]): (item: Item) => number {
  const averageOf = (kind: Item['kind']) => {
    const lengths = items.filter((item) => item.kind === kind).map(({ length }) => length);
    return Math.max(lengths.reduce((sum, length) => sum + length, 0) / Math.max(lengths.length, 1), 1);
  };
  const averages = { chunk: averageOf('chunk'), memory: averageOf('memory') };
  return (item) => {
    let score = 0;
    for (const [index, word] of words.entries()) {
      const count = countOf(word, item);
      score += (weights[index]! * count * 2.5) / (count + 1.5 * (0.6 + (0.4 * item.length) / averages[item.kind]));
    }
    return score;
  };
}

function coverage(words: readonly Word[], weights: readonly number[]): (item: Item) => number {
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  return (item) =>
    weights.reduce((sum, weight, index) => sum + (countOf(words[index]!, item) > 0 ? weight : 0), 0) / (whole || 1);
}

function weightsOf(items: readonly Item[], words: readonly Word[]): number[] {
  return words.map((word) => {
    const holding = items.filter((item) => countOf(word, item) > 0).length;
    return word.times * Math.log(1 + (items.length - holding + 0.5) / (holding + 0.5));
  });
}

// ---- What is visible

export function visibleItems(world: World, request: SearchRequest, vector: readonly number[]): Item[] {
  const inScope = ({ containerTag }: { containerTag: string }) =>
    request.scope.containerTags === null || request.scope.containerTags.includes(containerTag);
  const documents = world.documents.filter((each) => inScope(each) && !each.deleted);
  const chunks =
    request.mode === 'memories only' ? [] : documents.filter((each) => fits(world, each, request, each.metadata ?? {}));
  const memories =
    request.mode === 'documents'
      ? []
      : (world.memories ?? []).filter((each) => inScope(each) && remembered(world, each, request));
  return [
    ...chunks.flatMap((document) => document.chunks.map((_, place) => chunkItem(world, document, place, vector))),
    ...memories.map((each) => memoryItem(world, each, request, vector)),
  ];
}

function chunkItem(world: World, document: WorldDocument, position: number, vector: readonly number[]): Item {
  const chunk = document.chunks[position]!;
  return {
    ...itemOf(chunk, `${chunk.context ?? ''} ${chunk.text}`, vector, 1),
    kind: 'chunk',
    ...{ type: 'text', isLone: false, scoreAsText: null, turn: null },
    places: [{ document: document.id, first: position, last: position, start: null, end: null }],
    isMined: (world.memories ?? []).some(({ sources }) => sources?.includes(document.id)),
    statement: null,
  };
}

/**
 * It came from the document when that is one chunk; from which of several is not known here. Without
 * chunks in the search no memory has a counterpart to be raised by.
 */
function memoryItem(world: World, memory: WorldMemory, { mode }: SearchRequest, vector: readonly number[]): Item {
  const documents = mode === 'memories only' ? [] : world.documents;
  const sources = documents.filter(({ id, chunks }) => memory.sources?.includes(id) && chunks.length === 1);
  return {
    ...itemOf(memory, memory.text, vector, memory.inference ? 0.9 : 1),
    kind: 'memory',
    ...{ type: 'fact', isLone: false, scoreAsText: null, turn: null },
    places: sources.map(({ id }) => ({ document: id, first: 0, last: 0, start: null, end: null })),
    isMined: false,
    statement: memory.id,
  };
}

function itemOf(
  item: { id: string; vector: readonly number[] | null; model?: string },
  text: string,
  vector: readonly number[],
  weight: number,
) {
  const found = terms(text);
  const comparable = item.vector !== null && (item.model ?? worldModel) === worldModel;
  return {
    id: item.id,
    cosine: comparable ? cosineOf(item.vector!, vector) : null,
    weight,
    length: found.total,
    counts: new Map(found.terms.map((term, index) => [term, found.counts[index]!])),
  };
}

function cosineOf(a: readonly number[], b: readonly number[]): number | null {
  const dot = a.reduce((sum, value, index) => sum + value * b[index]!, 0);
  const norms = a.reduce((sum, value) => sum + value * value, 0) * b.reduce((sum, value) => sum + value * value, 0);
  return norms === 0 ? null : dot / Math.sqrt(norms);
}

function fits(
  world: World,
  document: WorldDocument,
  request: SearchRequest,
  metadata: Record<string, unknown>,
): boolean {
  if (request.docId !== undefined && !namedBy(world, request).includes(document.id)) return false;
  if (request.filepath?.endsWith('/') && !document.filepath?.startsWith(request.filepath)) return false;
  if (request.filepath !== undefined && !request.filepath.endsWith('/') && document.filepath !== request.filepath)
    return false;
  return request.filters === undefined || passes(request.filters, metadata);
}

function namedBy(world: World, { docId, scope }: SearchRequest): string[] {
  const visible = world.documents.filter(
    (each) => !each.deleted && (scope.containerTags === null || scope.containerTags.includes(each.containerTag)),
  );
  const byId = visible.filter(({ id }) => id === docId);
  return (byId.length > 0 ? byId : visible.filter(({ customId }) => customId === docId)).map(({ id }) => id);
}

function remembered(world: World, memory: WorldMemory, request: SearchRequest): boolean {
  if (memory.latest === false) return false;
  const current = !memory.forgotten && (memory.forgetAfter === undefined || memory.forgetAfter > worldTime);
  if (!current && request.includeForgotten !== true) return false;
  if ((memory.sources ?? []).length === 0) {
    if (request.docId !== undefined || request.filepath !== undefined) return false;
    return request.filters === undefined || passes(request.filters, memory.metadata ?? {});
  }
  return memory.sources!.some((id) => {
    const document = world.documents.find((each) => each.id === id)!;
    return !document.deleted && fits(world, document, request, { ...document.metadata, ...memory.metadata });
  });
}

/** Filters on the few types of value that the worlds have. */
function passes(filter: Filter, metadata: Record<string, unknown>): boolean {
  if ('and' in filter) return filter.and.every((part) => passes(part, metadata));
  if ('or' in filter) return filter.or.some((part) => passes(part, metadata));
  return conditionPasses(filter, metadata[filter.key]);
}

function conditionPasses(condition: FilterCondition, stored: unknown): boolean {
  if (condition.filterType !== 'numeric') {
    const equal = [stored]
      .flat()
      .some((value) => `${value as string | number | undefined}` === String(condition.value));
    return condition.negate ? !equal : equal;
  }
  if (typeof stored !== 'number') return false;
  const less = stored < Number(condition.value);
  return condition.negate ? !less : less;
}
