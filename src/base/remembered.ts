import type { Clock } from './clock.ts';

/** Keeps answers for a while, so that what is costly is not done again at each request. */
export interface Remembered<Value> {
  /** What was kept under the key, and is not too old. */
  find(key: string): Value | undefined;
  keep(key: string, value: Value): void;
}

/** More keys than a page asks for; the oldest go first. */
const mostKeys = 1_000;

export function createRemembered<Value>(clock: Clock, keptMs: number): Remembered<Value> {
  const kept = new Map<string, { value: Value; untilMs: number }>();
  return {
    find(key) {
      const found = kept.get(key);
      return found && found.untilMs > clock.now().getTime() ? found.value : undefined;
    },
    keep(key, value) {
      kept.delete(key);
      kept.set(key, { value, untilMs: clock.now().getTime() + keptMs });
      const [oldest] = kept.keys();
      if (kept.size > mostKeys && oldest !== undefined) kept.delete(oldest);
    },
  };
}
