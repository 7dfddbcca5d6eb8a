import type { Clock } from '../base/clock.ts';
import { createGathering } from '../base/concurrency.ts';
import type { Scope } from '../base/scope.ts';
import type { Database } from '../store/database.ts';
import type { Filter } from '../store/filters.ts';
import { relatedMemories, type RelatedMemoryRow } from '../store/search/related-memories.ts';
import { readResults, type ResultDocumentRow, type ResultRow } from '../store/search/results.ts';
import { linkWeight, memoryMargin, mostTogether, spreading, wholeTurn } from './ranking-constants.ts';
import { type Place, bestScores, type Scored } from './score-candidates.ts';
import type { ResultDocument, SearchResult, MemoryContext } from './search.ts';

/** A result that is to be shown, without its text. */
export type Line = Pick<Scored, 'id' | 'kind' | 'type' | 'places' | 'score' | 'similarity' | 'scores'>;

/** A line that is answered. */
export interface Chosen extends Line {
  /** Nothing reaches the threshold, and this is only near. */
  isWeak: boolean;
}

export const bestFirst = (a: Pick<Line, 'id' | 'score'>, b: Pick<Line, 'id' | 'score'>) =>
  b.score - a.score || (a.id < b.id ? -1 : 1);

/** Each at least as similar as whatever comes after it. */
export function levelled<Ranked extends { similarity: number }>(ranked: readonly Ranked[]): Ranked[] {
  let most = 0;
  const similarities = ranked.toReversed().map(({ similarity }) => (most = Math.max(most, similarity)));
  return ranked.map((one, place) => ({ ...one, similarity: similarities.at(-1 - place)! }));
}

type Placeable = Pick<Line, 'kind' | 'type' | 'places'>;

/**
 * Keeps one long document from taking all of the first places: of each only some passages are among them, as long as
 * there is something else. The others follow in their order. Turns of a conversation tell different things and stay.
 */
export function spread<Ranked extends Placeable>(ranked: readonly Ranked[]): Ranked[] {
  const places = createFirstPlaces(spreading.places);
  const first: Ranked[] = [];
  const later: Ranked[] = [];
  for (const one of ranked) (places.take(one) ? first : later).push(one);
  return [...first, ...later];
}

/**
 * Whether what was found is enough to show so many results. Where one document would take all of the first places, some
 * more is looked at for others.
 */
export function enoughFor(limit: number): (found: readonly Placeable[]) => boolean {
  const places = createFirstPlaces(Math.min(limit, spreading.places));
  let seen = 0;
  return (found) => {
    for (; seen < found.length; seen++) places.take(found[seen]!);
    return found.length >= limit && (places.areTaken || found.length >= limit + spreading.ahead);
  };
}

/** Gives places to lines as they come, of one document only to some. */
function createFirstPlaces(places: number) {
  const passages = new Map<string, number>();
  let taken = 0;
  return {
    get areTaken() {
      return taken >= places;
    },
    take({ kind, type, places: [place] }: Placeable): boolean {
      const document = kind === 'chunk' && type === 'text' ? place?.document : undefined;
      const before = document === undefined ? 0 : (passages.get(document) ?? 0);
      if (taken >= places || before === spreading.passages) return false;
      taken += 1;
      if (document !== undefined) passages.set(document, before + 1);
      return true;
    },
  };
}

/** How chunks and memories of one ranking belong together. */
interface Links {
  /** Chunks in the ranking that each memory came from. */
  chunksOf: ReadonlyMap<string, readonly Scored[]>;
  memoriesOf: ReadonlyMap<string, readonly Scored[]>;
  /** Facts that state what stands in an episode's stretch of text. */
  factsOf(memory: Scored): readonly Scored[];
}

/**
 * One line for each thing that is said, best first, made as they are asked for:
 *
 * 1. A chunk and its memories raise each other's score.
 * 2. A memory stands for its chunk unless it scores less by `memoryMargin`, and a fact for its episode unless it is
 *    less similar by as much. With `wholeTurns` a turn stands for the memories that say only a part of it, and for an
 *    episode, which says the same in more words.
 * 3. What an earlier line says already is left out: an equal statement, a linked chunk or memory, or, of facts and
 *    episodes, the same stretch of text.
 */
export function* toLines(ranked: readonly Scored[], { wholeTurns }: { wholeTurns: boolean }): Generator<Line> {
  const links = linksOf(ranked);
  const shown = createShown(links);
  const places = ranked.map((text) => ({ text, id: text.id, score: placeScore(text, links) }));
  for (const { text, score } of places.sort(bestFirst)) {
    if (shown.isTold(text)) continue;
    const memory = text.kind === 'chunk' ? standIn(text, links.memoriesOf.get(text.id), 'score', shown.isTold) : text;
    // It says in fewer words what the episode says.
    const fact = memory && standIn(memory, links.factsOf(memory), 'similarity', shown.isTold);
    const brief = fact ?? memory ?? text;
    const line = (wholeTurns ? turnAround(brief, links, shown.isTold) : undefined) ?? brief;
    shown.add(line);
    // A line is as similar as whatever it stands for.
    const told = [text, brief, line, ...(links.chunksOf.get(line.id) ?? [])];
    yield {
      ...{ id: line.id, kind: line.kind, type: line.type, places: line.places, score },
      similarity: Math.max(...told.map((one) => one.similarity)),
      scores: bestScores(told.map((one) => one.scores)),
    };
  }
}

function linksOf(ranked: readonly Scored[]): Links {
  const memories = ranked.filter(({ kind }) => kind === 'memory');
  const chunks = byDocument(ranked.filter(({ kind }) => kind === 'chunk'));
  const facts = byDocument(memories.filter(({ type }) => type !== 'episode'));
  const chunksOf = new Map<string, Scored[]>();
  const memoriesOf = new Map<string, Scored[]>();
  for (const memory of memories) {
    const found: Scored[] = [];
    for (const place of memory.places) {
      for (const one of chunks.get(place.document) ?? []) if (overlap(place, one.place)) found.push(one.text);
    }
    chunksOf.set(memory.id, found);
    for (const { id } of found) {
      const others = memoriesOf.get(id);
      if (others) others.push(memory);
      else memoriesOf.set(id, [memory]);
    }
  }
  return {
    chunksOf,
    memoriesOf,
    factsOf: ({ type, places }) =>
      type !== 'episode'
        ? []
        : places.flatMap((place) =>
            (facts.get(place.document) ?? []).filter((one) => shareText(place, one.place)).map(({ text }) => text),
          ),
  };
}

interface Placed {
  text: Scored;
  place: Place;
}

function byDocument(texts: readonly Scored[]): Map<string, Placed[]> {
  const placed = new Map<string, Placed[]>();
  for (const text of texts) {
    for (const place of text.places) {
      const others = placed.get(place.document);
      if (others) others.push({ text, place });
      else placed.set(place.document, [{ text, place }]);
    }
  }
  return placed;
}

/** Chunks of one document that two places share. */
function overlap(a: Place, b: Place): boolean {
  return a.first <= b.last && b.first <= a.last;
}

/** Something that cannot have a counterpart loses nothing by that: it counts as its own. */
function placeScore({ id, kind, score, isMined, places }: Scored, { chunksOf, memoriesOf }: Links): number {
  const linked = (kind === 'chunk' ? memoriesOf : chunksOf).get(id) ?? [];
  const isAlone = kind === 'chunk' ? !isMined : places.length === 0;
  return score + linkWeight * linked.reduce((most, one) => Math.max(most, one.score), isAlone ? score : 0);
}

/** The best of others that is shown in place of a text, unless it is worth less by more than the margin. */
function standIn(
  text: Scored,
  others: readonly Scored[] | undefined,
  worth: 'score' | 'similarity',
  isTold: (one: Scored) => boolean,
): Scored | undefined {
  const worthy = (others ?? []).filter((other) => other[worth] >= text[worth] - memoryMargin && !isTold(other));
  return worthy.toSorted(bestFirst)[0];
}

/** The turn that a memory came from and says only a part of, or that an episode tells. */
function turnAround(
  { id, type, length }: Scored,
  { chunksOf }: Links,
  isTold: (one: Scored) => boolean,
): Scored | undefined {
  const [chunk, ...others] = chunksOf.get(id) ?? [];
  const isTurn = chunk && others.length === 0 && chunk.type !== 'text';
  return isTurn && (type === 'episode' || length < wholeTurn * chunk.length) && !isTold(chunk) ? chunk : undefined;
}

function createShown({ chunksOf, memoriesOf }: Links) {
  const ids = new Set<string>();
  const statements = new Set<string>();
  const memories = new Map<string, { place: Place; type: Scored['type'] }[]>();

  /** An episode says all that its stretch of text does; facts of one sentence say different things. */
  function isSaid({ places, type }: Scored): boolean {
    return places.some((place) =>
      memories
        .get(place.document)
        ?.some((said) => [type, said.type].includes('episode') && shareText(place, said.place)),
    );
  }

  return {
    add({ id, kind, type, statement, places }: Scored) {
      ids.add(id);
      if (statement !== null) statements.add(statement);
      if (kind === 'chunk') return;
      for (const place of places) {
        memories.set(place.document, [...(memories.get(place.document) ?? []), { place, type }]);
      }
    },
    /** Whether a line says it already. */
    isTold(one: Scored): boolean {
      const { id, kind, statement } = one;
      if (ids.has(id) || (statement !== null && statements.has(statement))) return true;
      const linked = (kind === 'chunk' ? memoriesOf : chunksOf).get(id) ?? [];
      return linked.some((other) => ids.has(other.id)) || (kind === 'memory' && isSaid(one));
    },
  };
}

function shareText(a: Place, b: Place): boolean {
  return a.start !== null && b.start !== null && a.start < b.end! && b.start < a.end!;
}

/** The rows of lines, in no order. */
export type ResultReader = (lines: readonly Line[], details: { summaries: boolean }) => Promise<ResultRow[]>;

/** Searches at the same time read their results together. */
export function createResultReader(database: Database, clock: Clock): ResultReader {
  const reading = (summaries: boolean) =>
    createGathering<readonly Line[], ResultRow[]>({
      async run(searches) {
        const rows = await readResults(database, searches.flat(), { summaries, now: clock.now() });
        return searches.map(() => rows);
      },
      most: mostTogether,
    });
  const [plain, withSummaries] = [reading(false), reading(true)];
  return async (lines, { summaries }) => (lines.length === 0 ? [] : (summaries ? withSummaries : plain)(lines));
}

export function resultOf(row: ResultRow, { similarity, scores, isWeak }: Chosen): SearchResult {
  return { ...row, similarity, scores, isWeak, documents: row.documents.map(documentOf) };
}

function documentOf(row: ResultDocumentRow): ResultDocument {
  return {
    ...row,
    documentDate: row.documentDate === null ? null : new Date(row.documentDate),
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
  };
}

/** Entries of each list. */
const maxRelated = 10;

/** Gives each memory among the results what stands beside it. */
export async function withRelated(
  results: readonly SearchResult[],
  { database, scope, ...narrowed }: { database: Database; scope: Scope; filters?: Filter; now: Date },
): Promise<SearchResult[]> {
  const ids = results.filter(({ kind }) => kind === 'memory').map(({ id }) => id);
  const rows = await relatedMemories(database, {
    ids,
    containerTags: scope.containerTags,
    ...narrowed,
    limit: maxRelated,
  });
  const byFound = Map.groupBy(rows, ({ foundId }) => foundId);
  return results.map((result) =>
    result.kind === 'memory' ? { ...result, context: contextOf(byFound.get(result.id) ?? []) } : result,
  );
}

function contextOf(rows: readonly RelatedMemoryRow[]): MemoryContext {
  const entriesOf = (wanted: RelatedMemoryRow['list']) => rows.filter(({ list }) => list === wanted);
  return {
    parents: entriesOf('parents').map((row) => ({ ...entryOf(row), version: -row.distance })),
    children: entriesOf('children').map((row) => ({ ...entryOf(row), version: row.distance })),
    related: entriesOf('related').map(entryOf),
  };
}

function entryOf({ id, relation, memory, metadata, updatedAt }: RelatedMemoryRow) {
  return { id, relation, memory, metadata, updatedAt };
}

/** Characters that passages which follow each other have in common: whole sentences, where there are any. */
const [leastInCommon, mostInCommon] = [16, 4_000];

/**
 * Passages of one document that follow each other become one, with the text in its order and the id and
 * similarity of the best of them.
 */
export function mergePassages(results: readonly SearchResult[]): SearchResult[] {
  const merged: SearchResult[] = [];
  const taken = new Set<SearchResult>();
  for (const best of results) {
    if (taken.has(best)) continue;
    const passages = neighboursOf(best, results);
    for (const one of passages) taken.add(one);
    merged.push({ ...best, text: passages.map(({ text }) => text).reduce(joinedPassages) });
  }
  return merged;
}

/** A result with those that stand right before and after it in its document, in their order there. */
function neighboursOf(result: SearchResult, results: readonly SearchResult[]): SearchResult[] {
  const id = documentIdOf(result);
  if (id === null || result.position === null) return [result];
  const byPosition = new Map(results.filter((one) => documentIdOf(one) === id).map((one) => [one.position, one]));
  let first = result.position;
  while (byPosition.has(first - 1)) first -= 1;
  const passages: SearchResult[] = [];
  for (let one = byPosition.get(first); one; one = byPosition.get(first + passages.length)) passages.push(one);
  return passages;
}

function documentIdOf({ kind, documents: [document] }: SearchResult): string | null {
  return kind === 'chunk' && document ? document.id : null;
}

/** Joins two passages, with the overlap of one's end and the other's start only once. */
function joinedPassages(before: string, after: string): string {
  for (let length = Math.min(before.length, after.length, mostInCommon); length >= leastInCommon; length--) {
    if (before.endsWith(after.slice(0, length))) return before + after.slice(length);
  }
  return `${before}\n\n${after}`;
}
