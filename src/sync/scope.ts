import { hash } from 'node:crypto';
import type { ConnectionRow } from '../store/connections.ts';
import type { ScopeReason } from '../store/scope-reasons.ts';
import type { ItemWrite } from '../store/listed-pages.ts';
import { type JudgedItem, type Judgement, enforceLimit, fillPlaces } from '../store/sync-items-scope.ts';
import type { Connector, Context, Ref } from '../connector/contract.ts';
import { parseFilters, passes, updateTime, type Filters } from './filters.ts';
import { ruledOutDetail, type ItemRules, createItemRules } from './item-rules.ts';
import { itemKey } from './check-ref.ts';
import type { Clock } from '../base/clock.ts';
import type { RunLease } from './run-lease.ts';
import type { Reader } from '../store/database.ts';
import { contentSettingsKey, readSetting } from '../store/settings.ts';

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
  return { filters, rules, limit, roots, key };
}

/** Folders whose subtrees are mirrored; null: everything. */
export async function rootsOf(
  connector: Connector<any, any>,
  context: Context<any>,
): Promise<readonly string[] | null> {
  const roots = connector.roots ? await connector.roots(context) : context.selection.map((resource) => resource.id);
  return roots.length === 0 ? null : roots.map(itemKey);
}

export const filteredDetail = (filter: string) => `The filter "${filter}" leaves it out.`;

export const placeDetail = 'It is in none of the selected folders.';

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

/** The changes for one item; none for most. Places and the limit are judged for all items together. */
export function judge(scope: RunScope, { ext_id, reason, ref }: JudgedItem, now: Date): Judgement[] {
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

export const limitDetail = 'Newer items take all places under the document limit of the connection.';

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

interface LimitOptions {
  connectionId: string;
  /** Null: there is none. */
  limit: number | null;
  lease: RunLease;
  clock: Clock;
}

export function createDocumentLimit({ connectionId, limit, lease, clock }: LimitOptions): DocumentLimit {
  let isSettled = limit === null;
  let isFull = limit === null;
  return {
    unsettle() {
      isSettled = limit === null;
    },
    async settle() {
      if (limit === null || isSettled) return 0;
      isSettled = true;
      isFull = false;
      const options = { limit, detail: limitDetail, now: clock.now() };
      return lease.writeAlone((tx) => enforceLimit(tx, connectionId, options));
    },
    async fill() {
      if (limit === null || isFull) return;
      const options = { limit, now: clock.now() };
      const { admitted, free } = await lease.writeAlone((tx) => fillPlaces(tx, connectionId, options));
      isFull = admitted >= free;
    },
  };
}

interface StoredRules {
  shouldLLMFilter?: boolean;
  includeItems?: unknown;
  excludeItems?: unknown;
}

/** The rules as they are now; null when there are none, or filtering is switched off. */
export async function readItemRules(database: Reader): Promise<ItemRules | null> {
  const stored = await readSetting<StoredRules>(database, contentSettingsKey);
  if (!stored?.shouldLLMFilter) return null;
  return createItemRules(stored.includeItems, stored.excludeItems);
}
