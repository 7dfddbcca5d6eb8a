import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { ConnectionRow } from '../store/connections.ts';
import type { HandOver } from '../engine/hand-over.ts';
import type { Database } from '../store/database.ts';
import type { RunCounters, SyncRunRow } from '../store/sync-runs.ts';
import type { PartitionKey } from '../store/sync-items.ts';
import type { Connector, Context, Partition } from './contract.ts';

/** What every step of one sync run works with. */
export interface Run {
  id: string;
  connection: ConnectionRow;
  connector: Connector<any, any>;
  context: Context<any>;
  database: Database;
  clock: Clock;
  log: Logger;
  signal: AbortSignal;
  counters: RunCounters;
  failures: SyncRunRow['failures'];
  settings: RunSettings;
  /** Wakes the workers that process documents. */
  wake(count: number): Promise<void>;
  /** Takes new documents straight on, where this process also processes documents. */
  handOver: HandOver | null;
}

export interface RunSettings {
  /** Items fetched at once. */
  fetchConcurrency: number;
  /** Items claimed at once. */
  claimSize: number;
  /** Bytes held in memory at once, as far as the source told the sizes. */
  groupBytes: number;
  itemLeaseMs: number;
  connectionLeaseMs: number;
  /** A sweep of more items than this, and than this share, waits for a confirmation… */
  brakeItems: number;
  brakeShare: number;
  /** …or for a second identical listing at least this much later. */
  brakeReleaseMs: number;
}

export const defaultRunSettings: RunSettings = {
  fetchConcurrency: 16,
  claimSize: 128,
  groupBytes: 32 * 1024 * 1024,
  itemLeaseMs: 60_000,
  connectionLeaseMs: 30_000,
  brakeItems: 20,
  brakeShare: 0.25,
  brakeReleaseMs: 10 * 60_000,
};

export function keyOf(run: Run, partition: Partition): PartitionKey {
  return { connectionId: run.connection.id, partitionId: partition.id };
}
