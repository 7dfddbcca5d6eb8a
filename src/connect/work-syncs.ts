import type { TaskQueue } from '../queue/task-queue.ts';
import { joinRun } from './join-run.ts';
import { createLanes } from './lanes.ts';
import { runSync, type RunnerOptions } from './runner.ts';

/** Runs that are open at once in one process. They are cheap: nearly always they wait for the source or for their turn. */
const openRuns = 256;

/** Lets this process run syncs, and help with the runs of others. `slots`: units of work at once. */
export async function workOnSyncs(
  queue: TaskQueue,
  options: Omit<RunnerOptions, 'lanes'>,
  slots: number,
): Promise<void> {
  const runner: RunnerOptions = { ...options, lanes: createLanes({ slots, clock: options.clock }) };
  await queue.work('sync-connection', ({ connectionId }, signal) => runSync(runner, connectionId, signal), {
    concurrency: openRuns,
  });
  await queue.work('fetch-items', ({ connectionId }, signal) => joinRun(runner, connectionId, signal), {
    concurrency: openRuns,
  });
}
