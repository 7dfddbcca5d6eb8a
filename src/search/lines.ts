import { firstOf, valueOf } from '../base/collections.ts';
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
  factsOf: ReadonlyMap<string, readonly Ranked[]>;
}

/**
 * One line for each thing that is said, best first. A chunk and its memories raise each other; then the
 * memory stands for the chunk that it came from, or the chunk for its memories where these score less,
 * likewise the fact for the episode, and of memories that say the same, or the same stretch of text, the
 * first one stays. With `wholeTurns` a turn stands for the memories that say only a part of it.
 */
export function toLines(ranked: readonly Ranked[], { wholeTurns }: { wholeTurns: boolean }): Line[] {
  const links = linksOf(ranked);
  const raised = ranked.map((one) => ({ ...one, score: placeScore(one, links) }));
  const own = new Map(ranked.map((one) => [one.id, one]));
  const shown = createShown(links);
  const lines: Line[] = [];
  for (const candidate of raised.sort(bestFirst)) {
    const { id, kind, score } = candidate;
    if (shown.isTold(candidate)) continue;
    const text = valueOf(own, id);
    const memory = kind === 'chunk' ? standIn(text, links.memoriesOf.get(id), 'score', shown.isTold) : text;
    // It says in fewer words what the episode says.
    const fact = memory && standIn(memory, links.factsOf.get(memory.id), 'similarity', shown.isTold);
    const brief = fact ?? memory ?? text;
    const line = (wholeTurns ? turnAround(brief, links, shown.isTold) : undefined) ?? brief;
    shown.add(line);
    // A memory stands for its place, so it is as similar as what stands there.
    const told = [candidate, line, ...(links.chunksOf.get(line.id) ?? [])];
    lines.push({
      ...{ id: line.id, kind: line.kind, score },
      similarity: Math.max(...told.map((one) => one.similarity)),
      scores: bestScores(told.map((one) => one.scores)),
    });
  }
  return lines;
}

function linksOf(ranked: readonly Ranked[]): Links {
  const chunks = ranked.filter(({ kind }) => kind === 'chunk');
  const byDocument = Map.groupBy(chunks, ({ places }) => firstOf(places).document);
  const chunksOf = new Map<string, Ranked[]>();
  const memoriesOf = new Map<string, Ranked[]>();
  for (const memory of ranked.filter(({ kind }) => kind === 'memory')) {
    const found = memory.places.flatMap((place) =>
      (byDocument.get(place.document) ?? []).filter(({ places }) => overlap(place, firstOf(places))),
    );
    chunksOf.set(memory.id, found);
    for (const { id } of found) memoriesOf.set(id, [...(memoriesOf.get(id) ?? []), memory]);
  }
  return { chunksOf, memoriesOf, factsOf: factsOfEpisodes(ranked) };
}

function factsOfEpisodes(ranked: readonly Ranked[]): Map<string, Ranked[]> {
  const memories = ranked.filter(({ kind }) => kind === 'memory');
  const facts = memories.filter(({ type }) => type !== 'episode');
  const byDocument = Map.groupBy(
    facts.flatMap((fact) => fact.places.map((place) => ({ fact, place }))),
    ({ place }) => place.document,
  );
  const stated = ({ places }: Ranked) =>
    places.flatMap((place) => (byDocument.get(place.document) ?? []).filter((one) => shareText(place, one.place)));
  const episodes = memories.filter(({ type }) => type === 'episode');
  return new Map(episodes.map((episode) => [episode.id, stated(episode).map(({ fact }) => fact)]));
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
