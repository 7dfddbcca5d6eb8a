import { enforceLimit, fillPlaces } from '../store/sync-items-scope.ts';
import type { Run } from './run.ts';

export const limitDetail = 'Newer items take all places under the document limit of the connection.';

/**
 * Makes the newest items of the connection, as many as its document limit allows, those that are
 * mirrored, unless nothing has changed since the last time. Answers how many came in.
 */
export async function settleLimit(run: Run): Promise<number> {
  const { connection, scope } = run;
  const { limit } = scope;
  if (limit === null || scope.ranked) return 0;
  const now = run.clock.now();
  scope.ranked = true;
  scope.full = false;
  return run.hold.writeAlone((tx) => enforceLimit(tx, connection.id, { limit, detail: limitDetail, now }));
}

/**
 * While a listing goes on, free places are given to the newest items seen by then, so that there is
 * something to read at once. Which are the newest of all shows when it ends.
 */
export async function fillLimit(run: Run): Promise<void> {
  const { connection, scope } = run;
  const { limit } = scope;
  if (limit === null || scope.roots !== null || scope.full) return;
  const now = run.clock.now();
  const { admitted, free } = await run.hold.writeAlone((tx) => fillPlaces(tx, connection.id, { limit, now }));
  scope.full = admitted >= free;
}
