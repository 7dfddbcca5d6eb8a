import { firstOf, paired } from '../base/collections.ts';
import type { Database } from '../store/database.ts';
import { readNeighbours, type Neighbours } from '../store/search/neighbours.ts';
import type { Scored } from './ranking.ts';
import { conversational } from './scoring.ts';

/**
 * Scores a turn of a conversation by its surroundings: the turns before and after a turn share in its
 * score, and a session that has much of what is asked raises all of its turns. Turns that ask and those of a machine
 * are worth less than what people tell. Changes the scores of what it is given.
 */
export async function scoreTurns(ranked: Scored[], database: Database): Promise<Scored[]> {
  for (const one of ranked) one.score *= conversational.worth[one.type];
  const turns = ranked.filter(isSaid);
  if (turns.length > 1) raise(turns, await neighboursOf(turns, database));
  return ranked;
}

function isSaid({ type, places }: Scored): boolean {
  return type !== 'text' && type !== 'fact' && places.length === 1;
}

/** Of documents that are one turn each. */
async function neighboursOf(turns: readonly Scored[], database: Database): Promise<Map<string, Neighbours>> {
  const best = turns.toSorted((a, b) => b.score - a.score).filter(({ isLone }) => isLone);
  const documents = [...new Set(best.map(({ places }) => firstOf(places).document))].slice(0, conversational.lookedUp);
  if (documents.length === 0) return new Map();
  const rows = await readNeighbours(database, documents);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Adds to the scores what stands around, with the best as high as before: others are not compared anew. */
function raise(turns: readonly Scored[], lone: ReadonlyMap<string, Neighbours>): void {
  const { before, after, session } = conversational;
  const said = new Map<string, number>();
  for (const one of turns) said.set(placeOf(one), Math.max(said.get(placeOf(one)) ?? 0, one.score));
  const at = (place: string | null) => (place === null ? 0 : (said.get(place) ?? 0));
  const priors = sessionPriors(said, lone);
  const scores = turns.map((one) => {
    const [previous, next] = around(one, lone);
    return (
      one.score + before * at(previous) + after * at(next) + session * (priors.get(sessionOf(placeOf(one), lone)) ?? 0)
    );
  });
  const most = (values: readonly number[]) => values.reduce((high, value) => Math.max(high, value), 0);
  const factor = most(turns.map(({ score }) => score)) / (most(scores) || 1);
  for (const [one, score] of paired(turns, scores)) one.score = score * factor;
}

const separator = ' ';

function placeOf({ places: [place] }: Scored): string {
  return `${place!.document}${separator}${place!.first}`;
}

function around(one: Scored, lone: ReadonlyMap<string, Neighbours>): [string | null, string | null] {
  const { document, first, last } = firstOf(one.places);
  const found = lone.get(document);
  if (!found) return [`${document}${separator}${first - 1}`, `${document}${separator}${last + 1}`];
  const alone = (id: string | null) => (id === null ? null : `${id}${separator}0`);
  return [alone(found.previous), alone(found.next)];
}

function sessionOf(place: string, lone: ReadonlyMap<string, Neighbours>): string {
  const [document] = place.split(separator) as [string];
  return lone.get(document)?.session ?? document;
}

/** Of each session the mean of its best turns. */
function sessionPriors(said: ReadonlyMap<string, number>, lone: ReadonlyMap<string, Neighbours>): Map<string, number> {
  const best = conversational.sessionTurns;
  const sessions = Map.groupBy([...said], ([place]) => sessionOf(place, lone));
  return new Map(
    [...sessions].map(([session, turns]) => {
      const scores = turns.map(([, score]) => score).sort((a, b) => b - a);
      return [session, scores.slice(0, best).reduce((sum, score) => sum + score, 0) / best];
    }),
  );
}
