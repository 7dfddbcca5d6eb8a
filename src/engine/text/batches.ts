/** The fields of a piece of work that `Batches` read. */
export interface Sized {
  readonly container: string;
  /** Characters or bytes of content. */
  readonly size: number;
  /** It showed itself to be large, whatever its size. */
  readonly isSlow: boolean;
  /** Not to be put together with others, which would suffer with it. */
  readonly isAlone: boolean;
}

/**
 * Gives waiting work out so that none waits for something larger: small before large, one container after the other,
 * and never large work on all threads. Small work goes out in batches, since a message between threads
 * costs as much as the work on a short text.
 */
export interface Batches<Job extends Sized> {
  /** Something small waits. */
  readonly smallWaits: boolean;
  isLarge(job: Job): boolean;
  add(job: Job): void;
  remove(job: Job): void;
  /** The next jobs; undefined when none may start now. Call `ended` afterwards. */
  next(): Job[] | undefined;
  ended(batch: readonly Job[]): void;
  /** Everything that waits; nothing waits afterwards. */
  clear(): Job[];
}

/** Content from which on work on it counts as large, in bytes or characters. */
export const largeFrom = 256 * 1024;
const batchSize = 64 * 1024;
const batchJobs = 16;

export function createBatches<Job extends Sized>({ maxLarge }: { maxLarge: number }): Batches<Job> {
  const small = createRoundRobin<Job>();
  const large = createRoundRobin<Job>();
  const underWay = new Set<Job>();
  let smallWasLast = false;

  const isLarge = (job: Job) => job.isSlow || job.size >= largeFrom;
  const turnsOf = (job: Job) => (isLarge(job) ? large : small);

  function nextLarge(): Job[] | undefined {
    if (underWay.size >= maxLarge) return undefined;
    const job = large.take();
    if (!job) return undefined;
    smallWasLast = false;
    underWay.add(job);
    return [job];
  }

  function nextSmall(): Job[] | undefined {
    const first = small.take();
    if (!first) return undefined;
    smallWasLast = true;
    const batch = [first];
    let room = batchSize - first.size;
    while (!first.isAlone && batch.length < batchJobs) {
      const job = small.take((one) => one.size <= room && !one.isAlone);
      if (!job) break;
      room -= job.size;
      batch.push(job);
    }
    return batch;
  }

  return {
    get smallWaits() {
      return small.size > 0;
    },
    isLarge,
    add: (job) => turnsOf(job).add(job.container, job),
    remove: (job) => turnsOf(job).remove(job.container, job),
    // Alternately when both wait, so that a stream of small ones does not keep the large waiting for ever.
    next: () => (smallWasLast ? (nextLarge() ?? nextSmall()) : (nextSmall() ?? nextLarge())),
    ended(batch) {
      for (const job of batch) underWay.delete(job);
    },
    clear: () => [...small.clear(), ...large.clear()],
  };
}

/** Waiting items, given out one of each container, and round again. */
interface RoundRobin<Item> {
  readonly size: number;
  add(container: string, item: Item): void;
  /** The first item of the container that is next, unless `fits` refuses it. */
  take(fits?: (item: Item) => boolean): Item | undefined;
  remove(container: string, item: Item): void;
  /** Everything that waits; nothing waits afterwards. */
  clear(): Item[];
}

function createRoundRobin<Item>(): RoundRobin<Item> {
  // A map keeps its keys in the order in which they were added: the container that is next comes first.
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
