import type { DocumentLimit } from './document-limit.ts';
import type { PartitionKey } from '../store/partitions.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { ConnectionRow } from '../store/connections.ts';
import type { Extractor } from '../engine/text/text-work.ts';
import type { HandOver } from '../engine/hand-over.ts';
import type { Reader } from '../store/database.ts';
import type { RunCounters } from '../store/sync-runs.ts';
import type { Connector, Context } from '../connector/contract.ts';
import { standardSchedule } from '../schedule/schedule-text.ts';
import type { Priority, Turns } from './turns.ts';
import type { RunHold } from './run-hold.ts';
import type { RunReport } from './run-report.ts';
import type { RunScope } from './scope.ts';
import type { Verbs } from './verbs.ts';
import type { PageRemark } from './page.ts';

/** Everything that the steps of one sync run share. */
export interface Run {
  id: string;
  connection: ConnectionRow;
  connector: Connector<any, any>;
  context: Context<any>;
  /** For looking; what is written goes through `hold`. */
  database: Reader;
  hold: RunHold;
  clock: Clock;
  log: Logger;
  signal: AbortSignal;
  /** Counts that are not written yet; the same object for the whole run. */
  counters: RunCounters;
  report: RunReport;
  settings: RunSettings;
  /** The priority of the partition's units, except for the first slice of a first sync. */
  priority: Priority;
  turns: Turns;
  /** Other workers that fetch for the same run. */
  company: Company;
  verbs: Verbs;
  /** The part of the source to mirror. */
  scope: RunScope;
  documentLimit: DocumentLimit;
  /** Partitions in which content showed items that no listing has shown. */
  met: Set<string>;
  /** Reads files and pages that are parts of a document. */
  extractor: Extractor;
  /** Wakes the workers that process documents. */
  wake(count: number): Promise<void>;
  /** Takes new documents straight on, where this process also processes documents. */
  handOver: HandOver | null;
}

export interface Company {
  /** The run ends with this worker. Others may have joined in, also such as were asked to for an earlier run. */
  readonly leads: boolean;
  invite(): Promise<void>;
}

export interface RunSettings {
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
  /** Bytes held in memory at once, as far as the source told the sizes. */
  groupBytes: number;
  /** Items of one page that are written in one statement. */
  pageRows: number;
  itemLeaseMs: number;
  connectionLeaseMs: number;
  /** A call of the connector that takes longer has failed. */
  verbTimeoutMs: number;
  /** Items that wait before other workers are asked to join in. */
  joinBacklog: number;
  /**
   * Removals of more missing items than this, and than this share, within the window wait for a confirmation…
   * Infinity: none does, so that tests see what would be removed without the brake.
   */
  brakeItems: number;
  brakeShare: number;
  brakeWindowMs: number;
  /** …or for a second identical listing at least this much later. */
  brakeReleaseMs: number;
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

export function keyOf(run: Run, partition: { id: string }): PartitionKey {
  return { connectionId: run.connection.id, partitionId: partition.id };
}

/** One unit of the run's work, when it is its turn. */
export function inTurn<T>(run: Run, work: () => Promise<T>, priority: Priority = run.priority): Promise<T> {
  return run.turns.use({ priority, connectionId: run.connection.id }, work, run.signal);
}

/** Reports on the run what was odd about a page. */
export function remark(run: Run, partitionId: string, remarks: readonly PageRemark[]): void {
  for (const { code, message } of remarks) run.report.warn(partitionId, code, message);
}
