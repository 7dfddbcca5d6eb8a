import type { TaskQueue } from '../queue/task-queue.ts';
import { joinRun } from './join-run.ts';
import { createTurns } from './turns.ts';
import { runSync, type RunnerOptions } from './runner.ts';

/** Runs that are open at once in one process. They are cheap: nearly always they wait for the source or for their turn. */
const openRuns = 256;

/** Whatever reports changes of sources to this process. */
interface Watching {
  /** Resolves when changes of the connection's source from now on are reported. */
  begin(connectionId: string): Promise<void>;
}

/** Lets this process run syncs, and help with the runs of others. `slots`: units of work at once. */
export async function workOnSyncs(
  queue: TaskQueue,
  options: Omit<RunnerOptions, 'turns'> & { watching?: Watching },
  slots: number,
): Promise<void> {
  const { watching, ...rest } = options;
  const runner: RunnerOptions = { ...rest, turns: createTurns({ slots, clock: options.clock }) };
  const sync = async ({ connectionId }: { connectionId: string }, signal: AbortSignal) => {
    // Before the run: what the source reports when it begins to be watched is served by this run then.
    await watching?.begin(connectionId);
    await runSync(runner, connectionId, signal);
  };
  await queue.work('sync-connection', sync, { concurrency: openRuns });
  await queue.work('fetch-items', ({ connectionId }, signal) => joinRun(runner, connectionId, signal), {
    concurrency: openRuns,
  });
}
