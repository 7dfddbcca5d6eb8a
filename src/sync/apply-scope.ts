import { setScopeKey } from '../store/partition-scope.ts';
import type { PartitionKey } from '../store/partitions.ts';
import {
  itemsToJudge,
  leaveOlder,
  moveItems,
  placeItems,
  timeItems,
  type JudgedItem,
  type Placement,
} from '../store/sync-items-scope.ts';
import { limitDetail } from './document-limit.ts';
import { oldestUpdate, updateTime } from './filters.ts';
import { dropSkipped } from './item-removal.ts';
import type { Run } from './run.ts';
import { filteredDetail, judge, placeDetail } from './scope.ts';

/**
 * Brings the items of a partition in line with the scope of the run, without asking the source: at the
 * start of each run. Costs nothing when the scope is everything, and always was. Where folders decide, what
 * memory holds stays until the source has said where it lies now: it may have moved into a folder that counts.
 */
export async function applyScope(run: Run, key: PartitionKey, scopeKey: string): Promise<void> {
  const { scope } = run;
  if (scopeKey !== scope.key) {
    await run.hold.write((tx) => setScopeKey(tx, key, 'dirty', run.clock.now()));
    await judgeAll(run, key);
    scope.unplaced.add(key.partitionId);
  } else if (scope.key === '') return;
  const now = run.clock.now();
  const before = oldestUpdate(scope.filters, now);
  if (before) await dropOlder(run, key, before, now);
  if (scope.roots === null || !scope.unplaced.has(key.partitionId)) return settleScope(run, key);
  await place(run, key, { roots: scope.roots, spared: 'documents' });
  await dropSkipped(run, key);
}

async function dropOlder(run: Run, key: PartitionKey, before: Date, now: Date): Promise<void> {
  const options = { before, detail: filteredDetail('updatedWithinDays'), now };
  const left = await run.hold.write((tx) => leaveOlder(tx, key, options));
  if (left > 0) run.documentLimit.unsettle();
}

/** After pages were recorded: places moved items, fills the document limit, and hides what is left out. */
export async function settleScope(run: Run, key: PartitionKey): Promise<void> {
  const { scope } = run;
  if (scope.unplaced.has(key.partitionId)) {
    if (scope.roots) await place(run, key, { roots: scope.roots, spared: 'none' });
    await run.hold.write((tx) => setScopeKey(tx, key, scope.key, run.clock.now()));
    scope.unplaced.delete(key.partitionId);
  }
  await run.documentLimit.settle();
  await dropSkipped(run, key);
}

async function place(run: Run, key: PartitionKey, which: Pick<Placement, 'roots' | 'spared'>): Promise<void> {
  const unseated = run.scope.limit !== null;
  const options = { ...which, unseated, detail: placeDetail, limitDetail, now: run.clock.now() };
  await run.hold.write((tx) => placeItems(tx, key, options));
  run.documentLimit.unsettle();
}

/** Where folders count: notes, before a page is recorded, that its items are to be placed. */
export async function expectMoves(run: Run, key: PartitionKey): Promise<void> {
  const { scope } = run;
  if (scope.roots === null || scope.unplaced.has(key.partitionId)) return;
  await run.hold.write((tx) => setScopeKey(tx, key, 'dirty', run.clock.now()));
  scope.unplaced.add(key.partitionId);
}

const judgedAtOnce = 1_000;

async function judgeAll(run: Run, key: PartitionKey): Promise<void> {
  let after = '';
  for (let count = judgedAtOnce; count === judgedAtOnce;) {
    run.signal.throwIfAborted();
    const items = await itemsToJudge(run.database, key, { after, limit: judgedAtOnce });
    await judgeSome(run, key, items);
    count = items.length;
    after = items.at(-1)?.ext_id ?? after;
  }
}

async function judgeSome(run: Run, key: PartitionKey, items: readonly JudgedItem[]): Promise<void> {
  const now = run.clock.now();
  const judgements = items.flatMap((item) => judge(run.scope, item, now));
  if (judgements.length > 0) {
    await run.hold.write((tx) => moveItems(tx, key, judgements, now));
    run.documentLimit.unsettle();
  }
  const times = items.flatMap(({ ext_id, ref, source_updated_at }) => {
    const time = source_updated_at === null ? updateTime(ref.updatedAt) : null;
    return time === null ? [] : [{ ext_id, source_updated_at: time }];
  });
  if (times.length > 0) await run.hold.write((tx) => timeItems(tx, key, times));
}

/** Whether the items of a partition lie where the ledger says, as far as the run knows. */
export function isPlaced(run: Run, partitionId: string): boolean {
  return !run.scope.unplaced.has(partitionId);
}
