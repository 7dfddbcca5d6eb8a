import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { ConnectionRow } from '../store/connections.ts';
import type { Reader } from '../store/database.ts';
import type { PartitionKey } from '../store/partitions.ts';
import type { BrakeSettings } from './brake.ts';
import type { RunLease } from './run-lease.ts';
import type { RunReport } from './run-report.ts';
import type { RunScope, DocumentLimit } from './scope.ts';

/** The stored rows of one partition. */
export interface PartitionRows {
  key: PartitionKey;
  /** For looking; what is written goes through `lease`. */
  database: Reader;
  lease: RunLease;
  clock: Clock;
}

/** The rows of one partition with what decides about its items, and where it is told what became of them. */
export interface Ledger extends PartitionRows {
  runId: string;
  connection: ConnectionRow;
  /** A listing that comes to its end may have left something out. */
  isPartial: boolean;
  scope: RunScope;
  documentLimit: DocumentLimit;
  /** False while a folder may have moved since the items of the partition were placed. */
  isPlaced: boolean;
  settings: BrakeSettings;
  report: RunReport;
  log: Logger;
  signal: AbortSignal;
}
