import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Partition } from '../connector/contract.ts';
import type { HandOver } from '../engine/process.ts';
import type { Extractor } from '../engine/text/text-work.ts';
import { standardSchedule } from '../schedule/schedule-text.ts';
import type { ConnectionRow } from '../store/connections.ts';
import type { Reader } from '../store/database.ts';
import type { RunLease, RunReport } from './run-lease.ts';
import type { Filters, ItemRules } from './filters.ts';
import type { Source } from './source.ts';
import type { Priority, WorkSlots } from './work-slots.ts';
import type { PartitionKey } from '../store/partitions.ts';

/** A sync run of a connection. Its steps take the parts of one partition, which `partitionRun` makes of it. */
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
  coverage: Coverage;
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
  coverage: Coverage;
  documentLimit: DocumentLimit;
  /** False while a folder may have moved since the items of the partition were placed. */
  isPlaced: boolean;
  settings: BrakeSettings;
  report: RunReport;
  log: Logger;
  signal: AbortSignal;
}

/** The part of a source that a connection mirrors, fixed for one run. */
export interface Coverage {
  filters: Filters;
  /** The organization's rules for new and changed items; null: all are wanted. */
  rules: ItemRules | null;
  /** The newest items that are mirrored; null: all. */
  limit: number | null;
  /** Folders whose subtrees are mirrored; null: everything. */
  roots: readonly string[] | null;
  /** Names the coverage; '' when it is everything. */
  key: string;
}

/** Which items have the places under the document limit of a connection, as far as one run knows. */
export interface DocumentLimit {
  /** Something changed that decides which items are the newest, or are mirrored at all. */
  unsettle(): void;
  /**
   * Makes the newest items of the connection, as many as its document limit allows, those that are
   * mirrored, unless nothing has changed since the last time. Answers how many came in.
   */
  settle(): Promise<number>;
  /**
   * While a listing goes on, free places are given to the newest items seen by then, so that there is
   * something to read at once. Which are the newest of all shows when it ends.
   */
  fill(): Promise<void>;
}

export interface BrakeSettings {
  /**
   * Removals of more missing items than this, and than this share, within the window wait for a confirmation…
   * Infinity: none does, so that tests see what would be removed without the brake.
   */
  brakeItems: number;
  brakeShare: number;
  brakeWindowMs: number;
  /** …or for a second identical listing at least this much later. */
  brakeReleaseMs: number;
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
