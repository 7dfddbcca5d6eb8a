import { compareItems, mirroredItems } from '../store/sync-items.ts';
import type { DryRunReport } from '../store/sync-runs.ts';
import type { Json, Partition } from '../connector/contract.ts';
import { passes, updateTime } from './filters.ts';
import { askedAtOnce } from './unlisted-items.ts';
import { createPageGuard } from './check-page.ts';
import type { ListedRef } from './check-item.ts';
import { partitionRun } from './partition-run.ts';
import type { Coverage, PartitionRun, Run } from './run.ts';

const shownIds = 50;
const comparedAtOnce = 1_000;
const mirroredAtOnce = 5_000;

interface ShownItem {
  id: string;
  rev: string;
  parent: string | undefined;
  /** Null: the source does not date it. */
  updatedAt: Date | null;
  /** The rules for what comes in leave it out; it stays only as it is. */
  isRuledOut: boolean;
}

/** Results of listing one partition. */
interface Shown {
  part: PartitionRun;
  items: Map<string, ShownItem>;
  /** Each folder with the one that it is in. */
  folders: Map<string, string | undefined>;
  incomplete: string | null;
  /** Paths of parts that it could not show. */
  unread: string[];
}

/**
 * Finds what a full sync would add, update and delete: lists every partition from its start and compares
 * that with the ledger, after filters, chosen folders and the document limit. Nothing is fetched, and
 * neither ledger nor documents are written. Renames count as an addition and a deletion.
 */
export async function tryOut(run: Run, partitions: readonly Partition[]): Promise<DryRunReport> {
  const report: DryRunReport = {
    added: { count: 0, ids: [] },
    updated: { count: 0, ids: [] },
    deleted: { count: 0, ids: [] },
    incomplete: null,
  };
  const listings: Shown[] = [];
  for (const partition of partitions) {
    const part = partitionRun(run, partition, { priority: 'delta', signal: run.signal });
    if (partition.unread === undefined) listings.push(await listShown(part));
    else report.incomplete ??= `${partition.title ?? partition.id}: ${partition.unread}`;
  }
  leaveOlderItems(listings, run.coverage.limit);
  for (const shown of listings) await comparePartition(shown, report);
  const { counters } = run.report;
  counters.itemsAdded += report.added.count;
  counters.itemsUpdated += report.updated.count;
  counters.itemsDeleted += report.deleted.count;
  return report;
}

async function listShown(part: PartitionRun): Promise<Shown> {
  const { source, partition, ledger } = part;
  const { coverage, report, clock } = ledger;
  const shown: Shown = { part, items: new Map(), folders: new Map(), incomplete: null, unread: [] };
  const guard = createPageGuard('list');
  let cursor: Json | undefined;
  let done = false;
  const step = async () => {
    const page = await source.list(partition, cursor);
    guard.pass(cursor, page);
    shown.unread.push(...page.unread.map(({ path }) => path));
    shown.incomplete ??= page.incomplete ?? null;
    cursor = page.next;
    done = page.done || cursor === undefined;
    report.counters.itemsSeen += page.refs.length;
    note(shown, page.refs, coverage, clock.now());
  };
  while (!done) await part.inSlot(step);
  const { roots } = coverage;
  if (roots !== null) keepInside(shown.items, shown.folders, new Set(roots));
  return shown;
}

/** The last ref of an id wins, as it does in a sync. */
function note({ items, folders }: Shown, refs: readonly ListedRef[], coverage: Coverage, now: Date): void {
  for (const ref of refs) {
    const { id, rev, parent } = ref;
    if (ref.kind === 'container') folders.set(id, parent);
    else if (passes(coverage.filters, ref, now) !== null) items.delete(id);
    else {
      const isRuledOut = coverage.rules?.admits(ref) === false;
      items.set(id, { id, rev, parent, updatedAt: updateTime(ref.updatedAt), isRuledOut });
    }
  }
}

/** Keeps what is one of the roots or in the subtree of one. */
export function keepInside(
  items: Map<string, { id: string; parent: string | undefined }>,
  folders: ReadonlyMap<string, string | undefined>,
  roots: ReadonlySet<string>,
): void {
  const isInside = (start: string | undefined): boolean => {
    // A source may show folders that are in each other.
    const passed = new Set<string>();
    for (let id = start; id !== undefined && !passed.has(id); id = folders.get(id)) {
      if (roots.has(id)) return true;
      passed.add(id);
    }
    return false;
  };
  for (const [key, { id, parent }] of items) if (!roots.has(id) && !isInside(parent)) items.delete(key);
}

/** Keeps the newest items of all partitions; what has no date comes after those that have one. */
function leaveOlderItems(listings: readonly Shown[], limit: number | null): void {
  if (limit === null) return;
  const timeOf = ({ updatedAt }: ShownItem) => updatedAt?.getTime() ?? Number.NEGATIVE_INFINITY;
  const entries = listings.flatMap(({ items }) => Array.from(items.values(), (item) => ({ items, item })));
  const older = entries.toSorted((left, right) => compareNumbers(timeOf(right.item), timeOf(left.item))).slice(limit);
  for (const { items, item } of older) items.delete(item.id);
}

/** Also of two infinities, whose difference is no number. */
function compareNumbers(left: number, right: number): number {
  return left === right ? 0 : left - right;
}

async function comparePartition(shown: Shown, report: DryRunReport): Promise<void> {
  const { part, items, incomplete } = shown;
  const { key, database, signal, report: run } = part.ledger;
  const entries = Array.from(items.values(), ({ id, rev }) => ({ extId: id, rev }));
  for (let start = 0; start < entries.length; start += comparedAtOnce) {
    signal.throwIfAborted();
    const some = entries.slice(start, start + comparedAtOnce);
    for (const [id, prospect] of await compareItems(database, key, some)) {
      const isRuledOut = prospect !== 'same' && items.get(id)?.isRuledOut === true;
      // An item that a rule leaves out is not added; if it is mirrored and has changed, it is deleted.
      if (isRuledOut && prospect === 'updated') count(report.deleted, id);
      else if (isRuledOut || prospect === 'same') run.counters.itemsSkipped += 1;
      else count(report[prospect], id);
    }
  }
  if (incomplete === null) await findDeleted(shown, report);
  else report.incomplete ??= `${part.partition.title ?? part.partition.id}: ${incomplete}`;
}

/** Mirrored items that the listing did not show, or that are left out by now. */
async function findDeleted({ part, items, unread: except }: Shown, report: DryRunReport): Promise<void> {
  const { partition, ledger, settings } = part;
  let after = '';
  let asked = 0;
  for (let answered = mirroredAtOnce; answered === mirroredAtOnce;) {
    ledger.signal.throwIfAborted();
    const ids = await mirroredItems(ledger.database, ledger.key, { after, limit: mirroredAtOnce, except });
    const unseen = ids.filter((id) => !items.has(id));
    const budget = ledger.isPartial ? settings.lookUpsPerRun - asked : Infinity;
    for (const id of await goneOf(part, unseen.slice(0, budget))) count(report.deleted, id);
    asked += unseen.length;
    if (unseen.length > budget) report.incomplete ??= unaskedMessage(partition, settings.lookUpsPerRun);
    answered = ids.length;
    after = ids.at(-1) ?? after;
  }
}

/** Of items that a listing did not show, those that would be deleted. */
async function goneOf({ source, partition, ledger, inSlot }: PartitionRun, unseen: string[]): Promise<string[]> {
  if (!ledger.isPartial) return unseen;
  const gone: string[] = [];
  for (let start = 0; start < unseen.length; start += askedAtOnce) {
    const page = await inSlot(() => source.lookup(partition, unseen.slice(start, start + askedAtOnce)));
    gone.push(...page.gone, ...page.missing);
  }
  return gone;
}

function unaskedMessage({ title, id }: Partition, asked: number): string {
  return `${title ?? id}: the listing left out more than the ${asked} items that one run asks about.`;
}

function count(list: { count: number; ids: string[] }, id: string): void {
  list.count += 1;
  if (list.ids.length < shownIds) list.ids.push(id);
}
