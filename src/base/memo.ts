import type { Clock } from './clock.ts';
import { forgetOldest } from './collections.ts';

/** Remembers what was made for a key, for a time and up to a number of keys; the oldest go first. */
interface Memo<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
}

export function createMemo<Value>(clock: Clock, options: { maxEntries: number; lifetimeMs: number }): Memo<Value> {
  const entries = new Map<string, { value: Value; until: number }>();
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      if (clock.now().getTime() < entry.until) return entry.value;
      entries.delete(key);
      return undefined;
    },
    set(key, value) {
      entries.delete(key);
      entries.set(key, { value, until: clock.now().getTime() + options.lifetimeMs });
      forgetOldest(entries, options.maxEntries);
    },
  };
}
