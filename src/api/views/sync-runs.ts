import type { ConnectionProgress, SyncRun } from '../../connect/connections.ts';
import type { ProgressAnswer, SyncRunAnswer } from '../schemas/sync-runs.ts';

/** Section 19.3. */
export function syncRunView(run: SyncRun): SyncRunAnswer {
  const { cancelledAt: _, report, startedAt, completedAt, ...fields } = run;
  return {
    ...fields,
    startedAt: startedAt.toISOString(),
    completedAt: completedAt?.toISOString() ?? null,
    ...(report && { report }),
  };
}

export function progressView(progress: ConnectionProgress): ProgressAnswer {
  const problems = progress.problems.map((problem) => ({ ...problem, until: problem.until?.toISOString() ?? null }));
  return { ...progress, run: progress.run && syncRunView(progress.run), problems };
}
