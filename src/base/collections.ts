import type { Clock } from './clock.ts';

/** The first value of a list that is never empty; throws on one that is. */
export function firstOf<Value>(list: ArrayLike<Value>): Value {
  return at(list, 0);
}

/** The last value of a list that is never empty; throws on one that is. */
export function lastOf<Value>(list: ArrayLike<Value>): Value {
  return at(list, list.length - 1);
}

/** The value at a place that is known to be within the list; throws where it is not. */
export function at<Value>(list: ArrayLike<Value>, place: number): Value {
  if (place >= 0 && place < list.length) return list[place] as Value;
  throw new RangeError(`There is no place ${place} in a list of ${list.length}.`);
}

/** The value of a key that was set before; throws where it was not. A key may be a text of a user, and is not named. */
export function valueOf<Key, Value>(map: ReadonlyMap<Key, Value>, key: Key): Value {
  if (map.has(key)) return map.get(key) as Value;
  throw new RangeError(`There is no value for this key, among ${map.size}.`);
}

/** Each value with the one at its place in another list, which is as long; throws where it is not. */
export function paired<Left, Right>(left: readonly Left[], right: ArrayLike<Right>): [Left, Right][] {
  if (left.length !== right.length) throw new RangeError(`${left.length} values cannot pair with ${right.length}.`);
  return left.map((one, place) => [one, right[place] as Right]);
}

interface Aging<Key> {
  readonly size: number;
  keys(): Iterator<Key>;
  delete(key: Key): unknown;
}

/** Takes what was added first out of a map or a set, as long as it holds more than `most`. */
export function forgetOldest<Key>(aging: Aging<Key>, most: number): void {
  const keys = aging.keys();
  while (aging.size > most) {
    const { value, done } = keys.next();
    if (done) return;
    aging.delete(value);
  }
}

/** Those fields that are not `undefined`, for a type that lets a field be left out but not be `undefined`. */
export function present<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as ReturnType<
    typeof present<Fields>
  >;
}

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
