import type { FollowedConnection } from '../connections/connection-types.ts';
import type { Connections } from '../connections/connection-service.ts';
import { nameOf } from './connection-choice.ts';
import type { CommandContext } from './context.ts';
import { followProgress, isFinished, progressSummary } from './progress.ts';
import { polledViews } from './progress-views.ts';
import type { StatusLine } from './status-line.ts';

const lookEveryMs = 2_000;

/**
 * Shows in a terminal how far the syncs are that go on, one at a time, whoever began them, until the signal aborts.
 * What full syncs came to stays there to be read.
 */
export async function followSyncs(
  connections: Pick<Connections, 'withLastRuns' | 'progress'>,
  line: StatusLine,
  { clock, signal }: Pick<CommandContext, 'clock' | 'signal'>,
): Promise<void> {
  /** Runs that were over, with all their documents, when they were looked at. */
  const settled = new Set<string>();
  while (!signal.aborted) {
    // A database that does not answer is for the log to tell.
    await lookAtAll().catch(() => undefined);
    await clock.sleep(lookEveryMs, signal);
  }

  async function lookAtAll(): Promise<void> {
    for (const connection of await connections.withLastRuns()) {
      const { id, lastRun } = connection;
      if (signal.aborted || lastRun === null || settled.has(lastRun.id)) continue;
      if (isFinished(await connections.progress(id))) settled.add(lastRun.id);
      else await follow(connection);
    }
  }

  async function follow({ id, provider, email, config, lastRun }: FollowedConnection): Promise<void> {
    const label = nameOf({ id, provider, email, metadata: config });
    const views = polledViews(() => connections.progress(id), clock, signal);
    const outcome = await followProgress({ views, line, label, clock, signal });
    if (!outcome || lastRun?.mode !== 'full') return;
    const [first, ...rest] = progressSummary(outcome.view, outcome.elapsedMs, id);
    for (const text of [`${label}: ${first}`, ...rest]) line.above(`${text}\n`);
  }
}
