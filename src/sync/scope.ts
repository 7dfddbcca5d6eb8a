import { hash } from 'node:crypto';
import type { ConnectionRow } from '../store/connections.ts';
import { setScopeKey } from '../store/partition-scope.ts';
import type { ScopeReason } from '../store/scope-reasons.ts';
import type { ItemWrite, PartitionKey } from '../store/sync-items.ts';
import {
  itemsToJudge,
  leaveOlder,
  moveItems,
  placeItems,
  timeItems,
  type JudgedItem,
  type Judgement,
  type Placement,
} from '../store/sync-items-scope.ts';
import type { Connector, Context, Ref } from '../connector/contract.ts';
import { oldestUpdate, parseFilters, passes, updateTime, type Filters } from './filters.ts';
import { ruledOutDetail, type ItemRules } from './item-rules.ts';
import { dropSkipped } from './item-removal.ts';
import { limitDetail, settleLimit } from './limits.ts';
import { itemKey } from './ref.ts';
import type { Run } from './run.ts';

/** The part of a source that a connection mirrors, fixed for one run. */
export interface RunScope {
  filters: Filters;
  /** The organization's rules for new and changed items; null: all are wanted. */
  rules: ItemRules | null;
  /** The newest items that are mirrored; null: all. */
  limit: number | null;
  /** Folders whose subtrees are mirrored; null: everything. */
  roots: readonly string[] | null;
  /** Names the scope; '' when it is everything. */
  key: string;
  /** Partitions in which a folder may have moved since its items were placed. */
  unplaced: Set<string>;
  /** No place under the limit is free at the moment. */
  full: boolean;
  /** Nothing has changed since the limit was enforced. */
  ranked: boolean;
}

/** The scope of a connection. Throws `validation_failed` for filters that this version does not know. */
export async function readScope(
  connection: ConnectionRow,
  connector: Connector<any, any>,
  context: Context<any>,
  rules: ItemRules | null,
): Promise<RunScope> {
  const filters = parseFilters(connection.filters);
  const roots = connector.spec.scope === 'tree' ? await rootsOf(connector, context) : null;
  const limit = connection.documentLimit;
  const isEverything = Object.keys(filters).length === 0 && roots === null && limit === null && !rules;
  const named = JSON.stringify([filters, roots && [...roots].sort(), limit !== null, ...(rules ? [rules.key] : [])]);
  const key = isEverything ? '' : hash('sha256', named, 'base64');
  return { filters, rules, limit, roots, key, unplaced: new Set(), full: false, ranked: false };
}

/** Folders whose subtrees are mirrored; null: everything. */
export async function rootsOf(
  connector: Connector<any, any>,
  context: Context<any>,
): Promise<readonly string[] | null> {
  const roots = connector.roots ? await connector.roots(context) : context.selection.map((resource) => resource.id);
  return roots.length === 0 ? null : roots.map(itemKey);
}

const filteredDetail = (filter: string) => `The filter "${filter}" leaves it out.`;
const placeDetail = 'It is in none of the selected folders.';

/** The first state of a listed item: left out by the filters, waiting for its place, or (nulls) mirrored. */
export function judgeRef(
  scope: RunScope,
  ref: Ref,
  now: Date,
): Pick<ItemWrite, 'skip' | 'skip_detail' | 'source_updated_at'> {
  const source_updated_at = updateTime(ref.updatedAt);
  if (ref.kind === 'container') return { skip: null, skip_detail: null, source_updated_at };
  const filter = passes(scope.filters, ref, now);
  if (filter !== null) return { skip: 'filtered', skip_detail: filteredDetail(filter), source_updated_at };
  if (scope.rules?.admits(ref) === false) return { skip: 'filtered', skip_detail: ruledOutDetail, source_updated_at };
  const skip = entrance(scope);
  return { skip, skip_detail: detailOf(skip), source_updated_at };
}

/** Where what passes the filters waits for the rest of the judgement, which looks at many items at once. */
function entrance({ roots, limit }: RunScope): ScopeReason | null {
  if (roots !== null) return 'out_of_scope';
  return limit === null ? null : 'over_limit';
}

function detailOf(reason: ScopeReason | null): string | null {
  if (reason === null) return null;
  return reason === 'over_limit' ? limitDetail : placeDetail;
}

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
  if (left > 0) run.scope.ranked = false;
}

/** After pages were recorded: places moved items, fills the document limit, and hides what is left out. */
export async function settleScope(run: Run, key: PartitionKey): Promise<void> {
  const { scope } = run;
  if (scope.unplaced.has(key.partitionId)) {
    if (scope.roots) await place(run, key, { roots: scope.roots, spared: 'none' });
    await run.hold.write((tx) => setScopeKey(tx, key, scope.key, run.clock.now()));
    scope.unplaced.delete(key.partitionId);
  }
  await settleLimit(run);
  await dropSkipped(run, key);
}

async function place(run: Run, key: PartitionKey, which: Pick<Placement, 'roots' | 'spared'>): Promise<void> {
  const unseated = run.scope.limit !== null;
  const options = { ...which, unseated, detail: placeDetail, limitDetail, now: run.clock.now() };
  await run.hold.write((tx) => placeItems(tx, key, options));
  run.scope.ranked = false;
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
    run.scope.ranked = false;
  }
  const times = items.flatMap(({ ext_id, ref, source_updated_at }) => {
    const time = source_updated_at === null ? updateTime(ref.updatedAt) : null;
    return time === null ? [] : [{ ext_id, source_updated_at: time }];
  });
  if (times.length > 0) await run.hold.write((tx) => timeItems(tx, key, times));
}

/** The changes for one item; none for most. Places and the limit are judged for all items together. */
function judge(scope: RunScope, { ext_id, reason, ref }: JudgedItem, now: Date): Judgement[] {
  const filter = passes(scope.filters, ref, now);
  if (filter !== null)
    return reason === 'filtered' ? [] : [{ ext_id, reason: 'filtered', detail: filteredDetail(filter) }];
  // The rules are for what comes in; what is mirrored already stays until it changes.
  if (reason === 'filtered' && scope.rules?.admits(ref) === false) return [];
  const isPlaced = reason === 'over_limit' && scope.limit !== null;
  const isKept = reason === null || isPlaced || (reason === 'out_of_scope' && scope.roots !== null);
  if (isKept) return [];
  const next = reason === 'over_limit' ? null : entrance(scope);
  return [{ ext_id, reason: next, detail: detailOf(next) }];
}
