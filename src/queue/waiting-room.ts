import type { Clock } from '../base/clock.ts';

/** A timer of more than 24.8 days fires at once in Node; a room that is looked at daily never comes near. */
const maxSleepMs = 24 * 60 * 60 * 1000;

export interface Waiting {
  /** Milliseconds of the clock from which on it may be taken. */
  readonly dueMs: number;
  /** Smaller is taken first. */
  readonly priority: number;
}

/** What waits in memory, by time and then by priority. */
export interface WaitingRoom<Item extends Waiting> {
  /** `wake` is called as soon as it can be taken. */
  add(item: Item): void;
  /** True when it was waiting. Must be called before its fields change. */
  remove(item: Item): boolean;
  /** The due item with the smallest priority; within one priority the one that has been due longest. */
  take(): Item | undefined;
  close(): void;
}

export function createWaitingRoom<Item extends Waiting>(options: {
  clock: Clock;
  wake: () => void;
}): WaitingRoom<Item> {
  const { clock, wake } = options;
  const due = new Map<number, Set<Item>>();
  const later = new Set<Item>();
  let timer = new AbortController();
  let timerMs = Infinity;

  function addDue(item: Item): void {
    const peers = due.get(item.priority);
    if (peers) peers.add(item);
    else due.set(item.priority, new Set([item]));
  }

  function removeDue(item: Item): boolean {
    const peers = due.get(item.priority);
    if (!peers?.delete(item)) return false;
    if (peers.size === 0) due.delete(item.priority);
    return true;
  }

  function setTimer(dueMs: number): void {
    timer.abort();
    timer = new AbortController();
    timerMs = dueMs;
    if (dueMs === Infinity) return;
    const { signal } = timer;
    const sleepMs = Math.min(Math.max(0, dueMs - clock.now().getTime()), maxSleepMs);
    void clock.sleep(sleepMs, signal).then(() => {
      if (!signal.aborted) promote();
    });
  }

  function promote(): void {
    const nowMs = clock.now().getTime();
    let nextMs = Infinity;
    for (const item of [...later].sort((a, b) => a.dueMs - b.dueMs)) {
      if (item.dueMs > nowMs) {
        nextMs = item.dueMs;
        break;
      }
      later.delete(item);
      addDue(item);
    }
    setTimer(nextMs);
    wake();
  }

  return {
    add(item) {
      if (item.dueMs > clock.now().getTime()) {
        later.add(item);
        if (item.dueMs < timerMs) setTimer(item.dueMs);
        return;
      }
      addDue(item);
      wake();
    },
    remove: (item) => later.delete(item) || removeDue(item),
    take() {
      if (due.size === 0) return undefined;
      const [item] = due.get(Math.min(...due.keys()))!;
      removeDue(item!);
      return item;
    },
    close() {
      timer.abort();
      timerMs = -Infinity;
    },
  };
}
