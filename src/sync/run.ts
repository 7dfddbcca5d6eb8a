import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Partition } from '../connector/contract.ts';
import type { HandOver } from '../engine/hand-over.ts';
import type { Extractor } from '../engine/text/text-work.ts';
import { standardSchedule } from '../schedule/schedule-text.ts';
import type { ConnectionRow } from '../store/connections.ts';
import type { Reader } from '../store/database.ts';
import type { BrakeSettings } from './brake.ts';
import type { Ledger } from './ledger.ts';
import type { RunLease } from './run-lease.ts';
import type { RunReport } from './run-report.ts';
import type { RunScope, DocumentLimit } from './scope.ts';
import type { Source } from './source.ts';
import type { Priority, WorkSlots } from './work-slots.ts';

/** A sync run of a connection. Its steps take the parts of one partition, which are made of it here. */
export interface Run {
  id: string;
  connection: ConnectionRow;
  source: Source;
  /** For looking; what is written goes through `lease`. */
  database: Reader;
  lease: RunLease;
  clock: Clock;
  log: Logger;
  signal: AbortSignal;
  report: RunReport;
  settings: RunSettings;
  slots: WorkSlots;
  /** The part of the source to mirror. */
  scope: RunScope;
  documentLimit: DocumentLimit;
  fetching: FetchingParts;
}

/** What fetching needs beside a partition. */
export interface FetchingParts {
  /** Reads files and pages that are parts of a document. */
  extractor: Extractor;
  /** Wakes the workers that process documents. */
  wake(count: number): Promise<void>;
  /** Takes new documents straight on, where this process also processes documents. */
  handOver: HandOver | null;
  /** Other workers that fetch for the same run. */
  team: Team;
}

export interface Team {
  /** The run ends with this worker. Others may have joined in, also such as were asked to for an earlier run. */
  readonly leads: boolean;
  invite(): Promise<void>;
}

/** One partition as a run works on it: what the source shows of it, and what is stored of it. */
export interface PartitionRun {
  partition: Partition;
  source: Source;
  ledger: Ledger;
  settings: RunSettings;
  /** The priority of its units, except for the first slice of a first sync. */
  priority: Priority;
  /** Does one unit of its work in a slot of the process. */
  inSlot<T>(work: () => Promise<T>, priority?: Priority): Promise<T>;
}

export function partitionRun(
  run: Run,
  partition: Partition,
  { priority, signal }: { priority: Priority; signal: AbortSignal },
): PartitionRun {
  const { source, settings, slots, connection } = run;
  return {
    partition,
    source,
    ledger: ledgerOf(run, partition.id, signal),
    settings,
    priority,
    inSlot: (work, other = priority) => slots.use({ priority: other, connectionId: connection.id }, work, signal),
  };
}

export function ledgerOf(run: Run, partitionId: string, signal: AbortSignal = run.signal): Ledger {
  const { id: runId, connection, source, database, lease, clock, log, report, scope, documentLimit, settings } = run;
  return {
    key: { connectionId: connection.id, partitionId },
    runId,
    connection,
    isPartial: source.spec.listing === 'partial',
    scope,
    documentLimit,
    isPlaced: true,
    settings,
    database,
    lease,
    clock,
    log,
    report,
    signal,
  };
}

export interface RunSettings extends BrakeSettings {
  /** Partitions that are synced at once. */
  partitionConcurrency: number;
  /** Items fetched at once in one batch. */
  fetchConcurrency: number;
  /** Items claimed at once, at most. */
  claimSize: number;
  /** A batch that takes longer is followed by a smaller one, so that others do not wait long for their turn. */
  batchTargetMs: number;
  /** The newest items of a first sync that come before all others. */
  firstSlice: number;
  /** Bytes held in memory at once, where the source tells sizes. */
  groupBytes: number;
  /** Items of one page that are written in one statement. */
  pageRows: number;
  itemLeaseMs: number;
  connectionLeaseMs: number;
  /** Time between two looks at whether the run may go on, and writes of its progress. */
  tickMs: number;
  /** A call of the connector that takes longer has failed. */
  verbTimeoutMs: number;
  /** Items that wait before other workers are asked to join in. */
  joinBacklog: number;
  /** Items that a partial listing left out and that one run asks about, for each partition; later runs go on. */
  lookUpsPerRun: number;
  /** Listings of one epoch, at most, when each brings something new. */
  maxListings: number;
  /** The schedule of connections that have none of their own. */
  standardSchedule: string;
}

export const defaultRunSettings: RunSettings = {
  partitionConcurrency: 4,
  fetchConcurrency: 16,
  claimSize: 128,
  batchTargetMs: 2_000,
  firstSlice: 200,
  groupBytes: 32 * 1024 * 1024,
  pageRows: 2_000,
  itemLeaseMs: 60_000,
  // A killed worker's connection waits so long for another; one that was only slow is refused what it writes.
  connectionLeaseMs: 10_000,
  tickMs: 500,
  verbTimeoutMs: 10 * 60_000,
  joinBacklog: 1_000,
  brakeItems: 20,
  brakeShare: 0.25,
  brakeWindowMs: 24 * 60 * 60_000,
  brakeReleaseMs: 10 * 60_000,
  lookUpsPerRun: 2_000,
  maxListings: 10,
  standardSchedule,
};
