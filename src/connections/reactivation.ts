import type { Clock } from '../base/clock.ts';
import { requestSync, setConnectionStatus, type ConnectionRow } from '../store/connections.ts';
import type { Transaction } from '../store/database.ts';

/** Lets a connection go on that waited for a new authorization. */
export type Reactivation = (tx: Transaction, connection: ConnectionRow) => Promise<void>;

/** A paused connection stays paused: that was somebody's wish. */
export function createReactivation(clock: Clock): Reactivation {
  return async (tx, { id, status }) => {
    const now = clock.now();
    if (status === 'needs_reauth' || status === 'needs_configuration') {
      await setConnectionStatus(tx, id, { status: 'active', reason: null, now });
    }
    await requestSync(tx, id, { mode: 'incremental', trigger: 'event' }, now);
  };
}
