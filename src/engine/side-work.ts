import type { Clock } from '../base/clock.ts';

export interface SideWork {
  /** Whether so much waits that no more should be taken. */
  readonly isFull: boolean;
  /** Does this for each, some at a time; ends when all of them have, with the first failure. */
  each<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void>;
  /** Lets this go on by itself, which holds so many bytes of content. What it throws, `settled` throws. */
  start(work: Promise<void>, bytes?: number): void;
  /** What is under way holds so much content that no more large documents should be taken. */
  readonly isHeavy: boolean;
  /** Waits until something has ended or a short time is over; false when nothing is under way. */
  pause(): Promise<boolean>;
  /** When nothing is under way any more. */
  settled(): Promise<void>;
}

/** Addresses that one drain fetches at a time; each may take as long as `UrlFetcher` allows. */
const atOnce = 16;
const mostUnderWay = 256;
const mostGroups = 64;
/** What is made of it takes several times as much, and each of the drains has its own. */
const heavyFrom = 8 * 1024 * 1024;
const pauseMs = 500;

/**
 * What goes on beside the batches of one drain: documents that are an address, whose servers may be slow, and
 * those that take long to read. They keep no other document waiting.
 */
export function createSideWork(clock: Clock): SideWork {
  let working = 0;
  let underWay = 0;
  let heldBytes = 0;
  let failure: { error: unknown } | null = null;
  const waiting: (() => void)[] = [];
  const groups = new Set<Promise<void>>();

  async function inTurn(work: () => Promise<void>): Promise<void> {
    underWay += 1;
    if (working >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    else working += 1;
    try {
      await work();
    } finally {
      underWay -= 1;
      // The turn goes on to who waits, or is free again.
      const next = waiting.shift();
      if (next) next();
      else working -= 1;
    }
  }

  return {
    get isFull() {
      return underWay >= mostUnderWay || groups.size >= mostGroups;
    },
    get isHeavy() {
      return heldBytes >= heavyFrom;
    },
    async each(items, work) {
      const ends = await Promise.allSettled(items.map((item) => inTurn(() => work(item))));
      const failed = ends.find((end) => end.status === 'rejected');
      if (failed) throw failed.reason;
    },
    start(work, bytes = 0) {
      heldBytes += bytes;
      const ended = () => {
        heldBytes -= bytes;
        groups.delete(group);
      };
      const group = work.catch((error: unknown) => void (failure ??= { error })).finally(ended);
      groups.add(group);
    },
    async pause() {
      if (groups.size === 0) return false;
      const over = new AbortController();
      await Promise.race([...groups, clock.sleep(pauseMs, over.signal)]);
      over.abort();
      return true;
    },
    async settled() {
      await Promise.all(groups);
      if (failure) throw failure.error;
    },
  };
}
