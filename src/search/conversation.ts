import { firstOf, paired } from '../base/collections.ts';
import type { Database } from '../store/database.ts';
import { readNeighbours, type Neighbours } from '../store/search/related-memories.ts';
import type { Scored } from './score-candidates.ts';
import { conversational } from './ranking-constants.ts';

/** What stands around turns that are documents of their own, by document. */
export type LoneTurns = ReadonlyMap<string, Neighbours>;

/** Of the best of a ranking. */
export function readLoneTurns(ranked: readonly Scored[], database: Database): Promise<LoneTurns> {
  const lone = ranked.filter(({ isLone }) => isLone).map((one) => ({ ...one }));
  shareMemories(lone, ranked);
  return neighboursOf(lone, database);
}

/**
 * A note that begins with its topic (`Rent: due on Friday`) looks like a turn; where nobody speaks around it, it is a
 * text.
 */
export function asNotes(ranked: readonly Scored[], lone: LoneTurns): Scored[] {
  return ranked.map((one) => {
    const isNote = one.isLone && lone.get(firstOf(one.places).document)?.isAmongTurns === false;
    return isNote ? { ...one, type: 'text', score: one.scoreAsText ?? one.score } : one;
  });
}

/**
 * Scores a turn of a conversation by what is known of it and by its surroundings: the best memory that came from it
 * shares in its score, then the turns before and after it do, what answers a question more than others, and a session
 * that has much of what is asked raises all of its turns. Turns that ask and those of a machine are worth less than
 * what people tell, and so are short ones by themselves. Memories rank with their turn.
 */
export function scoreTurns(ranked: readonly Scored[], lone: LoneTurns): Scored[] {
  if (!ranked.some(isSaid)) return [...ranked];
  const scored = ranked.map((one) => ({ ...one }));
  const said = scored.filter(isSaid);
  const shares = shareMemories(said, scored);
  const turns = said.filter((one) => !shares.has(one));
  const questions = bestOfPlaces(turns.filter(({ type }) => type === 'question'));
  for (const one of turns) one.score *= worthOf(one);
  if (turns.length > 1) raise(turns, { questions, lone });
  for (const [memory, { turn, lack }] of shares) Object.assign(memory, { score: turn.score - lack, turn: turn.id });
  return scored;
}

/** A memory's part in the score of its turn. */
interface Share {
  turn: Scored;
  /** How much less than its turn it scores by itself. */
  lack: number;
}

/** Adds to the scores of turns what the best memory of each scores, and tells which memories came from a turn. */
function shareMemories(said: readonly Scored[], ranked: readonly Scored[]): Map<Scored, Share> {
  const shares = new Map<Scored, Share>();
  const memories = ranked.filter(({ kind }) => kind === 'memory');
  const turns = said.filter(({ kind }) => kind === 'chunk');
  if (memories.length === 0 || turns.length === 0) return shares;
  const byDocument = Map.groupBy(turns, ({ places }) => firstOf(places).document);
  const best = new Map<Scored, number>();
  for (const memory of memories) {
    for (const { document, first, last } of memory.places) {
      for (const turn of byDocument.get(document) ?? []) {
        const place = firstOf(turn.places).first;
        if (place < first || place > last) continue;
        best.set(turn, Math.max(best.get(turn) ?? 0, memory.score));
        const lack = Math.max(0, turn.score - memory.score);
        if (lack < (shares.get(memory)?.lack ?? Infinity)) shares.set(memory, { turn, lack });
      }
    }
  }
  const { memory: weight } = conversational;
  for (const turn of turns) {
    // What no memories came from loses nothing by that.
    const memory = best.get(turn) ?? (turn.isMined ? 0 : turn.score);
    Object.assign(turn, { score: (turn.score + weight * memory) / (1 + weight), isMined: false });
  }
  return shares;
}

/**
 * The vector of a few words says little but who says them (`Maya: Always.`), and is near whatever asks about that
 * person. Within a session it is made with the end of the turn before.
 */
function worthOf({ type, isLone, length }: Scored): number {
  return conversational.worth[type] * (isLone ? length / (length + conversational.lonePenalty) : 1);
}

function isSaid({ type, places }: Scored): boolean {
  return type !== 'text' && type !== 'fact' && places.length === 1;
}

/** Of documents that are one turn each. */
async function neighboursOf(turns: readonly Scored[], database: Database): Promise<LoneTurns> {
  const worth = (one: Scored) => one.score * worthOf(one);
  const best = turns.toSorted((a, b) => worth(b) - worth(a));
  const documents = [...new Set(best.map(({ places }) => firstOf(places).document))].slice(0, conversational.lookedUp);
  if (documents.length === 0) return new Map();
  const rows = await readNeighbours(database, documents);
  const found = new Map(rows.map((row) => [row.id, row]));
  // Their neighbours may not be among the best: a short answer is found by its question.
  for (const { id, previous, next, session } of rows) {
    if (previous !== null && !found.has(previous))
      found.set(previous, { id: previous, previous: null, next: id, session, isAmongTurns: true });
    if (next !== null && !found.has(next))
      found.set(next, { id: next, previous: id, next: null, session, isAmongTurns: true });
  }
  return found;
}

interface Surroundings {
  /** Scores of turns that ask, by their places, before they are worth less. */
  questions: ReadonlyMap<string, number>;
  lone: LoneTurns;
}

/** Adds to the scores what stands around, with the best as high as before: others are not compared anew. */
function raise(turns: readonly Scored[], { questions, lone }: Surroundings): void {
  const { answer, before, after, session } = conversational;
  const said = bestOfPlaces(turns);
  const priors = sessionPriors(said, lone);
  const scores = turns.map((one) => {
    const [previous, next] = around(one, lone);
    const question = answers(one) ? questions.get(previous) : undefined;
    return (
      one.score +
      (question === undefined ? before * (said.get(previous) ?? 0) : answer * question) +
      after * (said.get(next) ?? 0) +
      session * (priors.get(sessionOf(placeOf(one), lone)) ?? 0)
    );
  });
  const most = (values: readonly number[]) => values.reduce((high, value) => Math.max(high, value), 0);
  const factor = most(turns.map(({ score }) => score)) / (most(scores) || 1);
  for (const [one, score] of paired(turns, scores)) one.score = score * factor;
}

const separator = ' ';

/** What people say after a question; who asks a machine wants to find what he told it. */
function answers({ type }: Scored): boolean {
  return type === 'turn' || type === 'episode';
}

/** The best score of each place. */
function bestOfPlaces(turns: readonly Scored[]): Map<string, number> {
  const best = new Map<string, number>();
  for (const one of turns) best.set(placeOf(one), Math.max(best.get(placeOf(one)) ?? 0, one.score));
  return best;
}

function placeOf({ places: [place] }: Scored): string {
  return `${place!.document}${separator}${place!.first}`;
}

/** The places before and after; no place where there is none. */
function around(one: Scored, lone: LoneTurns): [string, string] {
  const { document, first, last } = firstOf(one.places);
  const found = lone.get(document);
  if (!found) return [`${document}${separator}${first - 1}`, `${document}${separator}${last + 1}`];
  const alone = (id: string | null) => (id === null ? '' : `${id}${separator}0`);
  return [alone(found.previous), alone(found.next)];
}

function sessionOf(place: string, lone: LoneTurns): string {
  const [document] = place.split(separator) as [string];
  return lone.get(document)?.session ?? document;
}

/** Of each session the mean of its best turns. */
function sessionPriors(said: ReadonlyMap<string, number>, lone: LoneTurns): Map<string, number> {
  const best = conversational.sessionTurns;
  const sessions = Map.groupBy([...said], ([place]) => sessionOf(place, lone));
  return new Map(
    [...sessions].map(([session, turns]) => {
      const scores = turns.map(([, score]) => score).sort((a, b) => b - a);
      return [session, scores.slice(0, best).reduce((sum, score) => sum + score, 0) / best];
    }),
  );
}
