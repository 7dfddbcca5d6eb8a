import type { Clock } from './base/clock.ts';
import type { Database } from './store/database.ts';
import { clearLeases } from './store/leases.ts';
import { deleteOldProcesses } from './store/processes.ts';
import { releaseAllConnections } from './store/connections.ts';
import { releaseAllItems } from './store/sync-items.ts';
import { releaseAllLeases } from './store/processing.ts';
import { releaseAllRenewals } from './store/credentials.ts';

/** The embedded database has one process at a time, so whatever is leased was leased by a dead one. */
export async function recoverAlone(database: Database, clock: Clock): Promise<void> {
  const now = clock.now();
  await clearLeases(database);
  await deleteOldProcesses(database, now);
  await releaseAllLeases(database, now);
  await releaseAllItems(database, now);
  await releaseAllRenewals(database);
  await releaseAllConnections(database, now);
}
