/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** From 0 up to, and without, `limit`. */
  below(limit: number): number;
  pick<Value>(values: readonly Value[]): Value;
  chance(share: number): boolean;
}

/** Mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  return {
    below: (limit) => Math.floor(next() * limit),
    pick: (values) => values[Math.floor(next() * values.length)]!,
    chance: (share) => next() < share,
  };
}
