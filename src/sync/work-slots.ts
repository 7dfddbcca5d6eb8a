import { valueOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';

/**
 * Kinds of waiting work, the most urgent first: a person asked for it, the source said that
 * something changed, the schedule came round, the newest items of a first sync (so that search is of
 * use within seconds), and the rest of it.
 */
export const priorities = ['manual', 'hook', 'delta', 'first', 'bulk'] as const;

export type Priority = (typeof priorities)[number];

/**
 * Share of the units that a priority gets at least while it waits, however busy those above it are. What
 * the shares leave goes to the most urgent priority that waits.
 */
export const floorShares: Record<Priority, number> = { manual: 0, hook: 0.2, delta: 0.15, first: 0.15, bulk: 0.1 };

interface Place {
  priority: Priority;
  connectionId: string;
}

/** The slots of this process, in each of which one unit of work (one page, one batch of items) runs at a time. */
export interface WorkSlots {
  /**
   * Runs a unit when its turn for a slot comes. Urgent units come first, the others within their floor shares;
   * within a priority the connection that has used the least time. Rejects with the signal's reason when
   * it aborts while the unit waits. A unit must not wait for another unit.
   */
  use<T>(place: Place, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

interface Waiter {
  begin(): void;
}

/** The waiting units of a priority. */
interface Queue {
  /** By connection, in order of arrival. */
  waiting: Map<string, Waiter[]>;
  /** Time that each connection has used, in milliseconds; only those that used more than `floor` are kept. */
  used: Map<string, number>;
  /** The usage of the connection served last: a new one starts from here, with nothing saved up. */
  floor: number;
  /** Units that the priority is owed. */
  credit: number;
}

export function createWorkSlots({ count, clock }: { count: number; clock: Clock }): WorkSlots {
  const queues = new Map<Priority, Queue>(
    priorities.map((priority) => [priority, { waiting: new Map(), used: new Map(), floor: 0, credit: 0 }]),
  );
  let running = 0;

  function dispatch(): void {
    while (running < count) {
      const queue = nextQueue(queues);
      if (!queue) return;
      running += 1;
      nextWaiter(queue).begin();
    }
  }

  function slotFor({ priority, connectionId }: Place, signal: AbortSignal | undefined): Promise<void> {
    const queue = valueOf(queues, priority);
    return new Promise((resolve, reject) => {
      const leave = () => {
        removeWaiter(queue, connectionId, waiter);
        reject(signal?.reason as Error);
      };
      const waiter: Waiter = {
        begin() {
          signal?.removeEventListener('abort', leave);
          resolve();
        },
      };
      signal?.addEventListener('abort', leave, { once: true });
      const others = queue.waiting.get(connectionId);
      if (others) others.push(waiter);
      else queue.waiting.set(connectionId, [waiter]);
      dispatch();
    });
  }

  return {
    async use(place, work, signal) {
      signal?.throwIfAborted();
      await slotFor(place, signal);
      const start = clock.now().getTime();
      try {
        return await work();
      } finally {
        // A unit costs at least a millisecond, so that connections alternate even when all are fast.
        charge(valueOf(queues, place.priority), place.connectionId, Math.max(1, clock.now().getTime() - start));
        running -= 1;
        dispatch();
      }
    },
  };
}

/** The priority that is next: one that is owed a unit, else the most urgent. */
function nextQueue(queues: ReadonlyMap<Priority, Queue>): Queue | undefined {
  let first: Queue | undefined;
  let owed: Queue | undefined;
  for (const [priority, queue] of queues) {
    if (queue.waiting.size === 0) {
      queue.credit = 0;
      continue;
    }
    first ??= queue;
    queue.credit += floorShares[priority];
    if (queue.credit >= 1 && queue.credit > (owed?.credit ?? 0)) owed = queue;
  }
  const chosen = owed ?? first;
  if (chosen) chosen.credit = Math.max(0, chosen.credit - 1);
  return chosen;
}

function usedBy(queue: Queue, connectionId: string): number {
  return Math.max(queue.used.get(connectionId) ?? 0, queue.floor);
}

/** The oldest unit of the connection that has used the least. It pays a millisecond at once, the rest when it ends. */
function nextWaiter(queue: Queue): Waiter {
  let [chosen] = queue.waiting.keys();
  let least = Infinity;
  for (const connectionId of queue.waiting.keys()) {
    const used = usedBy(queue, connectionId);
    if (used >= least) continue;
    least = used;
    chosen = connectionId;
  }
  const waiter = chosen === undefined ? undefined : queue.waiting.get(chosen)?.shift();
  if (chosen === undefined || !waiter) throw new RangeError('Nobody waits in this queue.');
  if (queue.waiting.get(chosen)?.length === 0) queue.waiting.delete(chosen);
  queue.floor = least;
  queue.used.set(chosen, least + 1);
  for (const [connectionId, used] of queue.used) if (used <= queue.floor) queue.used.delete(connectionId);
  return waiter;
}

function charge(queue: Queue, connectionId: string, costMs: number): void {
  queue.used.set(connectionId, usedBy(queue, connectionId) + costMs - 1);
}

function removeWaiter(queue: Queue, connectionId: string, waiter: Waiter): void {
  const left = (queue.waiting.get(connectionId) ?? []).filter((one) => one !== waiter);
  if (left.length > 0) queue.waiting.set(connectionId, left);
  else queue.waiting.delete(connectionId);
}
