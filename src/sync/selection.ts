import { hash } from 'node:crypto';
import { deletePartition, missPartitions, returnPartitions, startRemoval } from '../store/partition-scope.ts';
import { listPartitions, type PartitionRow } from '../store/partitions.ts';
import { lockSomeItems } from '../store/sync-items-scope.ts';
import type { Partition } from '../connector/contract.ts';
import { batchSize, inBatches, removeItems } from './item-removal.ts';
import type { Ledger } from './partition-ledger.ts';
import { ledgerOf, type PartitionRun, type Run } from './run.ts';

/** How long a partition that the source no longer shows keeps its documents. */
export const missingGraceMs = 7 * 86_400_000;

/**
 * Compares the partitions that the connector shows with those that are known. One that the user does
 * not select any more is removed with its documents; one that vanished by itself keeps them for a
 * while, because that may be a loss of access, and for good while something that was chosen cannot be
 * reached, which may be this one; one that is back goes on where it was. Answers the rows as they are then.
 */
export async function reconcilePartitions(
  run: Run,
  shown: readonly Partition[],
  rows: readonly PartitionRow[],
): Promise<PartitionRow[]> {
  const { database, connection, clock } = run;
  const ids = new Set(shown.map((partition) => partition.id));
  const now = clock.now();
  const returned = rows.filter((row) => ids.has(row.id) && row.missingSince !== null).map((row) => row.id);
  if (returned.length > 0) {
    const options = { selection: connection.selection, now };
    await run.hold.write((tx) => returnPartitions(tx, connection.id, returned, options));
  }
  const isWhole = shown.every(({ unread }) => unread === undefined);
  const missing = rows.filter((row) => !ids.has(row.id) && (isWhole || isUnselected(connection.selection, row)));
  for (const row of missing) await missPartition(run, row);
  return returned.length + missing.length > 0 ? listPartitions(database, connection.id) : [...rows];
}

async function missPartition(run: Run, row: PartitionRow): Promise<void> {
  const now = run.clock.now();
  const unselected = isUnselected(run.connection.selection, row);
  const isKept = row.missingSince !== null && row.removeAt === null;
  const isEmpty = row.lastListedAt === null && row.listingStartedAt === null;
  if (row.state === 'removing' || isEmpty || (unselected && !isKept)) return removePartition(ledgerOf(run, row.id));
  if (row.removeAt !== null && row.removeAt <= now) return removePartition(ledgerOf(run, row.id));
  if (row.missingSince !== null) return;
  const removeAt = new Date(now.getTime() + missingGraceMs);
  const reason = `The source no longer shows it. Its documents are removed on ${removeAt.toISOString().slice(0, 10)} unless it is back by then.`;
  await run.hold.write((tx) => missPartitions(tx, run.connection.id, [row.id], { reason, removeAt, now }));
  run.log.warn({ connectionId: run.connection.id, partitionId: row.id }, 'the source no longer shows a partition');
}

/** Whether the selection leaves a partition out. An empty selection is everything. */
export function isUnselected(selection: readonly Record<string, unknown>[], { resource }: PartitionRow): boolean {
  return selection.length > 0 && resource !== null && !selection.some((one) => String(one.id) === resource);
}

/**
 * Names the selection that a listing of a partition depends on: that of a connector which itself tells what of the
 * partition is selected. '' where it makes no difference: for one that mirrors everything, for a partition that is a
 * resource, and where places in a tree decide.
 */
export function selectionKey({ source, ledger }: PartitionRun, { resource }: PartitionRow): string {
  const { selection } = ledger.connection;
  if (selection.length === 0 || resource !== null || source.spec.scope === 'tree') return '';
  return hash('sha256', JSON.stringify(selection.map(({ id }) => String(id)).toSorted()), 'base64url');
}

/** Removes a partition with its items and documents, batch by batch; interrupted, the next run goes on. */
async function removePartition(ledger: Ledger): Promise<void> {
  const { key, hold, clock, report } = ledger;
  await hold.write((tx) => startRemoval(tx, key, clock.now()));
  await inBatches(ledger, async (tx) => {
    const ids = await lockSomeItems(tx, key, batchSize);
    const removed = await removeItems(tx, ledger, ids);
    report.counters.itemsDeleted += removed;
    return ids.length;
  });
  await hold.write((tx) => deletePartition(tx, key));
}
