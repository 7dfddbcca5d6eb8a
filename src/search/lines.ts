import type { Place } from './candidates.ts';
import { bestScores, type Ranked } from './ranking.ts';
import { linkWeight, memoryMargin, wholeTurn } from './scoring.ts';

/** A result that is to be shown, without its text. */
export type Line = Pick<Ranked, 'id' | 'kind' | 'score' | 'similarity' | 'scores'>;

export const bestFirst = (a: Pick<Line, 'id' | 'score'>, b: Pick<Line, 'id' | 'score'>) =>
  b.score - a.score || (a.id < b.id ? -1 : 1);

/** How chunks and memories of one ranking belong together. */
interface Links {
  /** Chunks in the ranking that each memory came from. */
  chunksOf: ReadonlyMap<string, readonly Ranked[]>;
  memoriesOf: ReadonlyMap<string, readonly Ranked[]>;
  /** Facts that state what stands in an episode's stretch of text. */
  factsOf(memory: Ranked): readonly Ranked[];
}

/**
 * One line for each thing that is said, best first, made as they are asked for. A chunk and its memories raise each
 * other; then the memory stands for the chunk that it came from, or the chunk for its memories where these score less,
 * likewise the fact for the episode, and of memories that say the same, or the same stretch of text, the
 * first one stays. With `wholeTurns` a turn stands for the memories that say only a part of it.
 */
export function* toLines(ranked: readonly Ranked[], { wholeTurns }: { wholeTurns: boolean }): Generator<Line> {
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
    // A memory stands for its place, so it is as similar as what stands there.
    const told = [text, line, ...(links.chunksOf.get(line.id) ?? [])];
    yield {
      ...{ id: line.id, kind: line.kind, score },
      similarity: Math.max(...told.map((one) => one.similarity)),
      scores: bestScores(told.map((one) => one.scores)),
    };
  }
}

function linksOf(ranked: readonly Ranked[]): Links {
  const memories = ranked.filter(({ kind }) => kind === 'memory');
  const chunks = byDocument(ranked.filter(({ kind }) => kind === 'chunk'));
  const facts = byDocument(memories.filter(({ type }) => type !== 'episode'));
  const chunksOf = new Map<string, Ranked[]>();
  const memoriesOf = new Map<string, Ranked[]>();
  for (const memory of memories) {
    const found: Ranked[] = [];
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
  text: Ranked;
  place: Place;
}

function byDocument(texts: readonly Ranked[]): Map<string, Placed[]> {
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
function placeScore({ id, kind, score, isMined, places }: Ranked, { chunksOf, memoriesOf }: Links): number {
  const linked = (kind === 'chunk' ? memoriesOf : chunksOf).get(id) ?? [];
  const isAlone = kind === 'chunk' ? !isMined : places.length === 0;
  return score + linkWeight * linked.reduce((most, one) => Math.max(most, one.score), isAlone ? score : 0);
}

/** The best of others that is shown in place of a text, unless it is worth less by more than the margin. */
function standIn(
  text: Ranked,
  others: readonly Ranked[] | undefined,
  worth: 'score' | 'similarity',
  isTold: (one: Ranked) => boolean,
): Ranked | undefined {
  const worthy = (others ?? []).filter((other) => other[worth] >= text[worth] - memoryMargin && !isTold(other));
  return worthy.toSorted(bestFirst)[0];
}

/** The turn that a memory came from and says only a part of. */
function turnAround({ id, length }: Ranked, { chunksOf }: Links, isTold: (one: Ranked) => boolean): Ranked | undefined {
  const [chunk, ...others] = chunksOf.get(id) ?? [];
  const isPart = chunk && others.length === 0 && chunk.type !== 'text' && length < wholeTurn * chunk.length;
  return isPart && !isTold(chunk) ? chunk : undefined;
}

function createShown({ chunksOf, memoriesOf }: Links) {
  const ids = new Set<string>();
  const statements = new Set<string>();
  const memories = new Map<string, { place: Place; type: Ranked['type'] }[]>();

  /** An episode says all that its stretch of text does; facts of one sentence say different things. */
  function isSaid({ places, type }: Ranked): boolean {
    return places.some((place) =>
      memories
        .get(place.document)
        ?.some((said) => [type, said.type].includes('episode') && shareText(place, said.place)),
    );
  }

  return {
    add({ id, kind, type, statement, places }: Ranked) {
      ids.add(id);
      if (statement !== null) statements.add(statement);
      if (kind === 'chunk') return;
      for (const place of places) {
        memories.set(place.document, [...(memories.get(place.document) ?? []), { place, type }]);
      }
    },
    /** Whether a line says it already. */
    isTold(one: Ranked): boolean {
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
