import { setScopeKey } from '../store/partition-scope.ts';
import {
  itemsToJudge,
  leaveOlder,
  moveItems,
  placeItems,
  timeItems,
  type JudgedItem,
  type Placement,
} from '../store/sync-items-scope.ts';
import { oldestUpdate, updateTime } from './filters.ts';
import { dropSkipped } from './removal.ts';
import type { Ledger } from './ledger.ts';
import { filteredDetail, judge, placeDetail, limitDetail } from './scope.ts';

/**
 * Brings the items of a partition in line with the scope of the run, without asking the source: at the
 * start of each ledger. Costs nothing when the scope is everything, and always was. Where folders decide, what
 * memory holds stays until the source has said where it lies now: it may have moved into a folder that counts.
 */
export async function applyScope(ledger: Ledger, scopeKey: string): Promise<void> {
  const { scope } = ledger;
  if (scopeKey !== scope.key) {
    await ledger.lease.write((tx) => setScopeKey(tx, ledger.key, 'dirty', ledger.clock.now()));
    await judgeAll(ledger);
    ledger.isPlaced = false;
  } else if (scope.key === '') return;
  const now = ledger.clock.now();
  const before = oldestUpdate(scope.filters, now);
  if (before) await dropOlder(ledger, before, now);
  if (scope.roots === null || ledger.isPlaced) return settleScope(ledger);
  await place(ledger, { roots: scope.roots, spared: 'documents' });
  await dropSkipped(ledger);
}

async function dropOlder(ledger: Ledger, before: Date, now: Date): Promise<void> {
  const options = { before, detail: filteredDetail('updatedWithinDays'), now };
  const left = await ledger.lease.write((tx) => leaveOlder(tx, ledger.key, options));
  if (left > 0) ledger.documentLimit.unsettle();
}

/** After pages were recorded: places moved items, fills the document limit, and hides what is left out. */
export async function settleScope(ledger: Ledger): Promise<void> {
  const { scope } = ledger;
  if (!ledger.isPlaced) {
    if (scope.roots) await place(ledger, { roots: scope.roots, spared: 'none' });
    await ledger.lease.write((tx) => setScopeKey(tx, ledger.key, scope.key, ledger.clock.now()));
    ledger.isPlaced = true;
  }
  await ledger.documentLimit.settle();
  await dropSkipped(ledger);
}

async function place(ledger: Ledger, which: Pick<Placement, 'roots' | 'spared'>): Promise<void> {
  const unseated = ledger.scope.limit !== null;
  const options = { ...which, unseated, detail: placeDetail, limitDetail, now: ledger.clock.now() };
  await ledger.lease.write((tx) => placeItems(tx, ledger.key, options));
  ledger.documentLimit.unsettle();
}

/** Where folders count: notes, before a page is recorded, that its items are to be placed. */
export async function expectMoves(ledger: Ledger): Promise<void> {
  const { scope } = ledger;
  if (scope.roots === null || !ledger.isPlaced) return;
  await ledger.lease.write((tx) => setScopeKey(tx, ledger.key, 'dirty', ledger.clock.now()));
  ledger.isPlaced = false;
}

const judgedAtOnce = 1_000;

async function judgeAll(ledger: Ledger): Promise<void> {
  let after = '';
  for (let count = judgedAtOnce; count === judgedAtOnce;) {
    ledger.signal.throwIfAborted();
    const items = await itemsToJudge(ledger.database, ledger.key, { after, limit: judgedAtOnce });
    await judgeSome(ledger, items);
    count = items.length;
    after = items.at(-1)?.ext_id ?? after;
  }
}

async function judgeSome(ledger: Ledger, items: readonly JudgedItem[]): Promise<void> {
  const now = ledger.clock.now();
  const judgements = items.flatMap((item) => judge(ledger.scope, item, now));
  if (judgements.length > 0) {
    await ledger.lease.write((tx) => moveItems(tx, ledger.key, judgements, now));
    ledger.documentLimit.unsettle();
  }
  const times = items.flatMap(({ ext_id, ref, source_updated_at }) => {
    const time = source_updated_at === null ? updateTime(ref.updatedAt) : null;
    return time === null ? [] : [{ ext_id, source_updated_at: time }];
  });
  if (times.length > 0) await ledger.lease.write((tx) => timeItems(tx, ledger.key, times));
}
