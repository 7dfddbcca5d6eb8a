import type { Database, Transaction } from '../store/database.ts';
import { assertConnectionHeld, isLeaseLost, type ConnectionLease } from '../store/leases.ts';

/**
 * A worker's access to the database while it holds a connection. A run reads freely, and writes only
 * here, so that one that was stopped and then went on changes nothing once another has its connection.
 */
export interface RunHold {
  readonly lease: ConnectionLease;
  /** Aborts when a write was refused because another run has the connection. */
  readonly lost: AbortSignal;
  /** Runs a transaction of the run. Throws `lease_lost` instead when another run has the connection. */
  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** The same for work that must not go on twice at a time. */
  writeAlone<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}

export function holdRun(database: Database, lease: ConnectionLease): RunHold {
  const lost = new AbortController();

  async function transact<T>(strength: 'beside others' | 'alone', work: (tx: Transaction) => Promise<T>): Promise<T> {
    try {
      return await database.transaction(async (tx) => {
        await assertConnectionHeld(tx, lease, strength);
        return work(tx);
      });
    } catch (error) {
      if (isLeaseLost(error)) lost.abort(error);
      throw error;
    }
  }

  return {
    lease,
    lost: lost.signal,
    write: (work) => transact('beside others', work),
    writeAlone: (work) => transact('alone', work),
  };
}
