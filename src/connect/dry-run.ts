import { compareItems, mirroredItems } from '../store/dry-run.ts';
import type { PartitionKey } from '../store/sync-items.ts';
import type { DryRunReport } from '../store/sync-runs.ts';
import type { Json, Partition } from './contract.ts';
import { passes } from './filters.ts';
import { checkPage, createPageGuard } from './page.ts';
import type { ListedRef } from './ref.ts';
import { remark } from './remarks.ts';
import { inTurn, keyOf, type Run } from './run.ts';

const shownIds = 50;
const mirroredAtOnce = 5_000;

/**
 * What a full sync would add, update and delete: lists every partition from its start and compares
 * that with the ledger. Nothing is fetched, and neither ledger nor documents are written. Renames
 * count as an addition and a deletion; folders chosen and the document limit are not taken into
 * account, filters are.
 */
export async function tryOut(run: Run, partitions: readonly Partition[]): Promise<DryRunReport> {
  const report: DryRunReport = {
    added: { count: 0, ids: [] },
    updated: { count: 0, ids: [] },
    deleted: { count: 0, ids: [] },
    incomplete: null,
  };
  for (const partition of partitions) await tryPartition(run, partition, report);
  const { counters } = run;
  counters.itemsAdded += report.added.count;
  counters.itemsUpdated += report.updated.count;
  counters.itemsDeleted += report.deleted.count;
  return report;
}

async function tryPartition(run: Run, partition: Partition, report: DryRunReport): Promise<void> {
  const key = keyOf(run, partition);
  const seen = new Set<string>();
  const guard = createPageGuard('list');
  let cursor: Json | undefined;
  let incomplete: string | null = null;
  let done = false;
  const step = async () => {
    const answer = await run.verbs.call('list', () => run.connector.list(run.context, partition, cursor));
    const page = checkPage(answer, 'list');
    guard.pass(cursor, page);
    remark(run, partition.id, page.remarks);
    incomplete ??= page.incomplete ?? null;
    cursor = page.next;
    done = page.done || cursor === undefined;
    await compare(run, key, page.refs, seen, report);
  };
  while (!done) await inTurn(run, step);
  if (incomplete !== null) report.incomplete ??= `${partition.title ?? partition.id}: ${String(incomplete)}`;
  else await findDeleted(run, key, seen, report);
}

async function compare(
  run: Run,
  key: PartitionKey,
  refs: readonly ListedRef[],
  seen: Set<string>,
  report: DryRunReport,
): Promise<void> {
  const now = run.clock.now();
  const wanted = new Map(
    refs
      .filter((ref) => ref.kind !== 'container' && !seen.has(ref.id) && passes(run.scope.filters, ref, now) === null)
      .map((ref) => [ref.id, ref.rev]),
  );
  for (const id of wanted.keys()) seen.add(id);
  run.counters.itemsSeen += refs.length;
  if (wanted.size === 0) return;
  const items = Array.from(wanted, ([ext_id, rev]) => ({ ext_id, rev }));
  for (const [id, prospect] of await compareItems(run.database, key, items)) {
    if (prospect === 'same') run.counters.itemsSkipped += 1;
    else note(report[prospect], id);
  }
}

/** Mirrored items that the listing did not show, or that the filters leave out by now. */
async function findDeleted(
  run: Run,
  key: PartitionKey,
  seen: ReadonlySet<string>,
  report: DryRunReport,
): Promise<void> {
  let after = '';
  for (let count = mirroredAtOnce; count === mirroredAtOnce;) {
    run.signal.throwIfAborted();
    const ids = await mirroredItems(run.database, key, { after, limit: mirroredAtOnce });
    for (const id of ids) if (!seen.has(id)) note(report.deleted, id);
    count = ids.length;
    after = ids.at(-1) ?? after;
  }
}

function note(list: { count: number; ids: string[] }, id: string): void {
  list.count += 1;
  if (list.ids.length < shownIds) list.ids.push(id);
}
