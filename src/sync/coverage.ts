import { hash } from 'node:crypto';
import type { ConnectionRow } from '../store/connections.ts';
import type { LeftOutReason } from '../store/sync-items.ts';
import type { ItemWrite } from '../store/listed-pages.ts';
import {
  type JudgedItem,
  type Judgement,
  enforceLimit,
  fillPlaces,
  itemsToJudge,
  leaveOlder,
  moveItems,
  placeItems,
  timeItems,
  type Placement,
  setCoverageKey,
} from '../store/coverage.ts';
import type { Connector, Context, Ref } from '../connector/contract.ts';
import {
  parseFilters,
  passes,
  updateTime,
  ruledOutDetail,
  type ItemRules,
  createItemRules,
  oldestUpdate,
} from './filters.ts';
import { itemKey } from './check-item.ts';
import type { Clock } from '../base/clock.ts';
import type { RunLease } from './run-lease.ts';
import type { DocumentLimit, Coverage, Ledger } from './run.ts';
import type { Reader } from '../store/database.ts';
import { contentSettingsKey, readSetting } from '../store/settings.ts';
import { dropSkipped } from './removal.ts';

/** The coverage of a connection. Throws `validation_failed` for filters that this version does not know. */
export async function readCoverage(
  connection: ConnectionRow,
  connector: Connector<any, any>,
  context: Context<any>,
  rules: ItemRules | null,
): Promise<Coverage> {
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

const filteredDetail = (filter: string) => `The filter "${filter}" leaves it out.`;

const placeDetail = 'It is in none of the selected folders.';

/** The first state of a listed item: left out by the filters, waiting for its place, or (nulls) mirrored. */
export function judgeRef(
  coverage: Coverage,
  ref: Ref,
  now: Date,
): Pick<ItemWrite, 'skip' | 'skipDetail' | 'sourceUpdatedAt'> {
  const sourceUpdatedAt = updateTime(ref.updatedAt);
  if (ref.kind === 'container') return { skip: null, skipDetail: null, sourceUpdatedAt };
  const filter = passes(coverage.filters, ref, now);
  if (filter !== null) return { skip: 'filtered', skipDetail: filteredDetail(filter), sourceUpdatedAt };
  if (coverage.rules?.admits(ref) === false) return { skip: 'filtered', skipDetail: ruledOutDetail, sourceUpdatedAt };
  const skip = entrance(coverage);
  return { skip, skipDetail: detailOf(skip), sourceUpdatedAt };
}

/** Where what passes the filters waits for the rest of the judgement, which looks at many items at once. */
function entrance({ roots, limit }: Coverage): LeftOutReason | null {
  if (roots !== null) return 'out_of_scope';
  return limit === null ? null : 'over_limit';
}

function detailOf(reason: LeftOutReason | null): string | null {
  if (reason === null) return null;
  return reason === 'over_limit' ? limitDetail : placeDetail;
}

/** The changes for one item; none for most. Places and the limit are judged for all items together. */
function judge(coverage: Coverage, { extId, reason, ref }: JudgedItem, now: Date): Judgement[] {
  const filter = passes(coverage.filters, ref, now);
  if (filter !== null)
    return reason === 'filtered' ? [] : [{ extId, reason: 'filtered', detail: filteredDetail(filter) }];
  // The rules are for what comes in; what is mirrored already stays until it changes.
  if (reason === 'filtered' && coverage.rules?.admits(ref) === false) return [];
  const isPlaced = reason === 'over_limit' && coverage.limit !== null;
  const isKept = reason === null || isPlaced || (reason === 'out_of_scope' && coverage.roots !== null);
  if (isKept) return [];
  const next = reason === 'over_limit' ? null : entrance(coverage);
  return [{ extId, reason: next, detail: detailOf(next) }];
}

const limitDetail = 'Newer items take all places under the document limit of the connection.';

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

/**
 * Brings the items of a partition in line with the coverage of the run, without asking the source: at the
 * start of each ledger. Costs nothing when the coverage is everything, and always was. Where folders decide, what
 * memory holds stays until the source has said where it lies now: it may have moved into a folder that counts.
 */
export async function applyCoverage(ledger: Ledger, coverageKey: string): Promise<void> {
  const { coverage } = ledger;
  if (coverageKey !== coverage.key) {
    await ledger.lease.write((tx) => setCoverageKey(tx, ledger.key, 'dirty', ledger.clock.now()));
    await judgeAll(ledger);
    ledger.isPlaced = false;
  } else if (coverage.key === '') return;
  const now = ledger.clock.now();
  const before = oldestUpdate(coverage.filters, now);
  if (before) await dropOlder(ledger, before, now);
  if (coverage.roots === null || ledger.isPlaced) return settleCoverage(ledger);
  await place(ledger, { roots: coverage.roots, spared: 'documents' });
  await dropSkipped(ledger);
}

async function dropOlder(ledger: Ledger, before: Date, now: Date): Promise<void> {
  const options = { before, detail: filteredDetail('updatedWithinDays'), now };
  const left = await ledger.lease.write((tx) => leaveOlder(tx, ledger.key, options));
  if (left > 0) ledger.documentLimit.unsettle();
}

/** After pages were recorded: places moved items, fills the document limit, and hides what is left out. */
export async function settleCoverage(ledger: Ledger): Promise<void> {
  const { coverage } = ledger;
  if (!ledger.isPlaced) {
    if (coverage.roots) await place(ledger, { roots: coverage.roots, spared: 'none' });
    await ledger.lease.write((tx) => setCoverageKey(tx, ledger.key, coverage.key, ledger.clock.now()));
    ledger.isPlaced = true;
  }
  await ledger.documentLimit.settle();
  await dropSkipped(ledger);
}

async function place(ledger: Ledger, which: Pick<Placement, 'roots' | 'spared'>): Promise<void> {
  const unseated = ledger.coverage.limit !== null;
  const options = { ...which, unseated, detail: placeDetail, limitDetail, now: ledger.clock.now() };
  await ledger.lease.write((tx) => placeItems(tx, ledger.key, options));
  ledger.documentLimit.unsettle();
}

/** Where folders count: notes, before a page is recorded, that its items are to be placed. */
export async function expectMoves(ledger: Ledger): Promise<void> {
  const { coverage } = ledger;
  if (coverage.roots === null || !ledger.isPlaced) return;
  await ledger.lease.write((tx) => setCoverageKey(tx, ledger.key, 'dirty', ledger.clock.now()));
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
    after = items.at(-1)?.extId ?? after;
  }
}

async function judgeSome(ledger: Ledger, items: readonly JudgedItem[]): Promise<void> {
  const now = ledger.clock.now();
  const judgements = items.flatMap((item) => judge(ledger.coverage, item, now));
  if (judgements.length > 0) {
    await ledger.lease.write((tx) => moveItems(tx, ledger.key, judgements, now));
    ledger.documentLimit.unsettle();
  }
  const times = items.flatMap(({ extId, ref, sourceUpdatedAt }) => {
    const time = sourceUpdatedAt === null ? updateTime(ref.updatedAt) : null;
    return time === null ? [] : [{ extId, sourceUpdatedAt: time }];
  });
  if (times.length > 0) await ledger.lease.write((tx) => timeItems(tx, ledger.key, times));
}
