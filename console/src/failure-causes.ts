import { texts } from './texts.ts';
import type { Item } from './types.ts';

/** Items that failed or were left out for one reason. */
export interface Cause {
  name: string;
  title: string;
  remedy: string;
  count: number;
  /** The states that its items are in, for a list of them and for trying again. */
  states: Item['state'][];
  /** What was said of the newest of them. */
  message: string | null;
}

export function causesOf(items: readonly Item[]): Cause[] {
  const causes = new Map<string, Cause>();
  for (const { errorClass, error, state } of items) {
    const name = errorClass ?? 'other';
    const before = causes.get(name);
    const [title, remedy] = texts.causes[name] ?? texts.otherCause(name);
    causes.set(name, {
      name,
      title,
      remedy,
      count: (before?.count ?? 0) + 1,
      states: [...new Set([...(before?.states ?? []), state])],
      message: before?.message ?? error,
    });
  }
  return [...causes.values()].toSorted((one, other) => other.count - one.count);
}
