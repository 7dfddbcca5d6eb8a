import type { Clock } from '../base/clock.ts';

/** How long vectors take, as it shows: whether documents are kept waiting for theirs depends on it. */
export interface Pace {
  /** Milliseconds until the vectors of so many more texts would be there; 0 while nothing is known. */
  expectedMs(texts: number): number;
  /** Texts whose vectors take so long when no others wait; Infinity while nothing is known. */
  textsIn(ms: number): number;
  /** Makes a call for the vectors of so many texts, and learns from it. */
  measure<Result>(texts: number, call: () => Promise<Result>): Promise<Result>;
}

interface Call {
  startedMs: number;
  /** Its own and those that were asked for before it: a model works on one after the other. */
  texts: number;
}

export function createPace(clock: Clock): Pace {
  const underWay = new Set<Call>();
  let waiting = 0;
  /** Sums over all calls, each with half the weight of the next one. */
  let known = { ms: 0, texts: 0 };

  const msSince = ({ startedMs }: Call) => clock.now().getTime() - startedMs;

  /** A call that has not ended takes at least as long as it has taken so far. */
  function msPerText(): number {
    const seen = known.texts === 0 ? 0 : known.ms / known.texts;
    return Math.max(seen, ...[...underWay].map((call) => msSince(call) / call.texts));
  }

  return {
    expectedMs: (texts) => (waiting + texts) * msPerText(),
    textsIn: (ms) => ms / msPerText(),
    async measure(texts, make) {
      if (texts === 0) return make();
      waiting += texts;
      const call = { startedMs: clock.now().getTime(), texts: waiting };
      underWay.add(call);
      try {
        const result = await make();
        known = { ms: known.ms / 2 + msSince(call), texts: known.texts / 2 + call.texts };
        return result;
      } finally {
        waiting -= texts;
        underWay.delete(call);
      }
    },
  };
}
