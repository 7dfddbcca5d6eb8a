import { firstOf } from '../../base/collections.ts';
import type { Clock } from '../../base/clock.ts';
import { rateLimited } from '../../connector/contract.ts';
import type { Gate } from '../../base/concurrency.ts';
import type { SharedBudget } from './shared-budget.ts';

/** A longer wait gives the worker free instead: the run ends and goes on when the wait is over. */
export const longestWaitMs = 5_000;

/** The first in the queue waits no longer than this for tokens that other processes always take before it. */
const longestInQueueMs = 30_000;

interface Entry {
  budgets: readonly SharedBudget[];
  /** Connections to the host. */
  gate: Gate;
  signal: AbortSignal;
  clock: Clock;
  /** Names the request in messages. */
  target: string;
}

/**
 * Waits until one request may be sent, and answers what ends it. Tokens are taken last, when the
 * request can leave at once, so that it counts at the time at which it is sent. Throws
 * `rateLimited` when the wait would be longer than 5 seconds.
 */
export async function admit(entry: Entry): Promise<() => void> {
  const { budgets, gate, signal } = entry;
  const first = firstOf(budgets);
  if (first.queue.empty) {
    const leave = gate.tryEnter();
    if (leave && takeAll(budgets) === null) return leave;
    leave?.();
  }
  const leaveQueue = await first.queue.enter({ signal });
  try {
    return await wait(entry);
  } finally {
    leaveQueue();
  }
}

async function wait({ budgets, gate, signal, clock, target }: Entry): Promise<() => void> {
  let waitedMs = 0;
  for (;;) {
    const leave = await gate.enter({ signal });
    const notBefore = await takeOrAsk(budgets, signal).catch((error: unknown) => {
      leave();
      throw error;
    });
    if (notBefore === null) return leave;
    leave();
    const pauseMs = notBefore - clock.now().getTime();
    waitedMs += pauseMs;
    if (pauseMs > longestWaitMs || waitedMs > longestInQueueMs) {
      throw rateLimited(`${target} has to wait for its request budget`, new Date(notBefore));
    }
    await clock.sleep(pauseMs, signal);
    signal.throwIfAborted();
  }
}

/** Takes the tokens of all budgets, or none and the time of the next try. */
async function takeOrAsk(budgets: readonly SharedBudget[], signal: AbortSignal): Promise<number | null> {
  for (;;) {
    signal.throwIfAborted();
    const empty = takeAll(budgets);
    if (empty === null) return null;
    const notBefore = await empty.refill();
    if (notBefore !== null) return notBefore;
  }
}

/** Null when all were taken, else the budget that had nothing. */
function takeAll(budgets: readonly SharedBudget[]): SharedBudget | null {
  for (const [index, budget] of budgets.entries()) {
    if (budget.take()) continue;
    for (const taken of budgets.slice(0, index)) taken.putBack();
    return budget;
  }
  return null;
}
