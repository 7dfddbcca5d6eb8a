import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Database } from '../store/database.ts';
import type { HeldLease } from '../store/leases.ts';
import { sumUpUsage } from '../store/quotas.ts';
import { createCleanUp } from './clean-up.ts';
import { forgetOutdated } from './forget-outdated.ts';
import type { Chore } from './scheduler.ts';

export interface ChoreOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  /** Subscribes to the hooks of sources and renews them before they end. */
  hooks: { reconcile(signal: AbortSignal, lease: HeldLease): Promise<void> };
  /** Keeps grants alive that nobody uses; see `refreshIdle`. */
  refreshIdle(signal: AbortSignal): Promise<unknown>;
  /** Goes on with removals that a stop of their process has interrupted. */
  connections: { finishRemovals(signal: AbortSignal): Promise<void> };
  /** Goes on with merges of containers in the same way. */
  merges: { runOpen(signal: AbortSignal): Promise<void> };
  /** And with erasures. */
  erasures: { runOpen(signal: AbortSignal): Promise<void> };
}

const minuteMs = 60_000;

/** What the leader does beside the sweep. */
export function createChores(options: ChoreOptions): Chore[] {
  const cleanUp = createCleanUp(options);
  return [
    { name: 'hooks', everyMs: minuteMs, run: (signal, lease) => options.hooks.reconcile(signal, lease) },
    { name: 'clean-up', everyMs: 60 * minuteMs, run: cleanUp },
    { name: 'idle grants', everyMs: 60 * minuteMs, run: (signal) => options.refreshIdle(signal) },
    { name: 'removals', everyMs: minuteMs, run: (signal) => options.connections.finishRemovals(signal) },
    { name: 'forgetting', everyMs: 10 * minuteMs, run: (signal) => forgetOutdated(options, signal) },
    { name: 'merges', everyMs: minuteMs, run: (signal) => options.merges.runOpen(signal) },
    { name: 'usage', everyMs: minuteMs, run: () => sumUpUsage(options.database) },
    { name: 'erasures', everyMs: minuteMs, run: (signal) => options.erasures.runOpen(signal) },
  ];
}
