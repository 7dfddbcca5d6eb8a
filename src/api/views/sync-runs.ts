import type { ConnectionProgress, SyncRun } from '../../connections/connection-types.ts';
import { issueView } from './connections.ts';
import type { ProgressAnswer, SyncRunAnswer } from '../schemas/sync-runs.ts';

/** Section 19.3 of the API. */
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
  return { ...progress, run: progress.run && syncRunView(progress.run), problems: progress.problems.map(issueView) };
}
