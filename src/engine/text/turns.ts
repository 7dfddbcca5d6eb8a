/** What waits, given out in turns: one item of each container, and round again. */
export interface Turns<Item> {
  readonly size: number;
  add(container: string, item: Item): void;
  /** The first item of the container whose turn it is, unless `fits` refuses it. */
  take(fits?: (item: Item) => boolean): Item | undefined;
  remove(container: string, item: Item): void;
  /** Everything that waits; nothing waits afterwards. */
  clear(): Item[];
}

export function createTurns<Item>(): Turns<Item> {
  // A map keeps its keys in the order in which they were added: the container whose turn it is comes first.
  const containers = new Map<string, Set<Item>>();
  let size = 0;

  function drop(container: string, items: Set<Item>, item: Item): void {
    if (!items.delete(item)) return;
    size -= 1;
    if (items.size === 0) containers.delete(container);
  }

  return {
    get size() {
      return size;
    },
    add(container, item) {
      const items = containers.get(container) ?? new Set();
      containers.set(container, items.add(item));
      size += 1;
    },
    take(fits = () => true) {
      for (const [container, items] of containers) {
        const [item] = items as Set<Item> & Iterable<Item>;
        if (item === undefined || !fits(item)) return undefined;
        drop(container, items, item);
        if (items.size > 0) {
          containers.delete(container);
          containers.set(container, items);
        }
        return item;
      }
      return undefined;
    },
    remove(container, item) {
      const items = containers.get(container);
      if (items) drop(container, items, item);
    },
    clear() {
      const waiting = [...containers.values()].flatMap((items) => [...items]);
      containers.clear();
      size = 0;
      return waiting;
    },
  };
}
