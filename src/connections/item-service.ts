import type { Clock } from '../base/clock.ts';
import { MemorydError, errorTable } from '../base/errors.ts';
import type { Database } from '../store/database.ts';
import { forgetJudgements } from '../store/coverage.ts';
import { isPending, listPartitions, setHeldSweep, type PartitionRow } from '../store/partitions.ts';
import {
  countFailures,
  findItems,
  listHeldItems,
  listItems,
  retryItem,
  retrySelected,
  type ItemPlace,
  type ListedItemRow,
  type FailureCauseRow,
} from '../store/sync-items-list.ts';
import { requireConnection, type ItemState, type RetriedState } from './connection-types.ts';
import type { SyncRequest, SyncRuns } from './run-service.ts';
import { pushProvider, type Push } from '../inbound/push/push-service.ts';

export interface ItemServiceOptions {
  database: Database;
  clock: Clock;
  requestSync: SyncRuns['requestSync'];
  /** Carries out confirmed removals that no listing would repeat. Absent: every source is listed. */
  push?: Pick<Push, 'settleHeld'> | undefined;
}

export function createSyncItems({ database, clock, requestSync, push }: ItemServiceOptions): SyncItems {
  /** A run that goes on already serves as well; a paused connection works it off when it is resumed. */
  async function syncIfActive(id: string, status: string, request: Omit<SyncRequest, 'trigger' | 'mode'>) {
    if (status !== 'active') return;
    await requestSync(id, { mode: 'incremental', trigger: 'manual', ...request }).catch((error: unknown) => {
      if (!MemorydError.is(error) || error.code !== 'conflict') throw error;
    });
  }

  return {
    async items(id, { limit, cursor, ...selection }) {
      await requireConnection(database, id);
      const page = { limit: limit + 1, after: placeOf(cursor) };
      return paged(await listItems(database, id, selection, page), limit);
    },
    async failures(id) {
      await requireConnection(database, id);
      return (await countFailures(database, id)).map(toFailureCause);
    },
    async retryItems(id, selection) {
      const { status } = await requireConnection(database, id);
      const count = await database.transaction((tx) => retrySelected(tx, id, selection, clock.now()));
      if (count > 0) await syncIfActive(id, status, { onlyDue: true });
      return count;
    },
    async retryItem(id, itemId) {
      const { status } = await requireConnection(database, id);
      const [item] = await findItems(database, id, itemId);
      if (!item) return null;
      if (!(await database.transaction((tx) => retryItem(tx, id, item, clock.now())))) {
        throw notNow(item);
      }
      if (item.state === 'suppressed') await forgetJudgements(database, id);
      await syncIfActive(id, status, { onlyDue: true });
      const again = await findItems(database, id, item.id);
      return toItem(again.find(({ partition }) => partition === item.partition) ?? item);
    },
    async pendingDeletes(id, { limit, cursor }) {
      await requireConnection(database, id);
      const held = (await listPartitions(database, id)).flatMap(heldPartition);
      const after = placeOf(cursor);
      const rows = held.length === 0 ? [] : await listHeldItems(database, id, { limit: limit + 1, after });
      return { partitions: held, items: paged(rows, limit) };
    },
    async resolveHeldSweep(id, decision) {
      const { status, provider } = await requireConnection(database, id);
      const now = clock.now();
      for (const { id: partitionId, heldSweep } of await listPartitions(database, id)) {
        if (!isPending(heldSweep)) continue;
        const answer = decision === 'confirm' ? { confirmed: true } : { rejected: true };
        await setHeldSweep(database, { connectionId: id, partitionId }, { ...heldSweep, ...answer }, now);
      }
      if (decision !== 'confirm') return;
      if (provider === pushProvider) await push?.settleHeld(id);
      else await syncIfActive(id, status, {});
    },
  };
}

function notNow({ state, error }: ListedItemRow): MemorydError {
  if (state !== 'skipped') return new MemorydError('conflict', `The item is ${state}; a sync is at work on it`);
  return new MemorydError('conflict', 'The connection does not mirror the item', {
    shouldRetry: false,
    details: error ?? undefined,
  });
}

function heldPartition({ id, title, heldSweep }: PartitionRow): HeldPartition[] {
  if (!heldSweep || heldSweep.rejected) return [];
  const { count, of, heldAt, confirmed = false } = heldSweep;
  return [{ id, title, count, of, heldAt: new Date(heldAt), confirmed }];
}

/** One row more than asked for tells that there is a next page. */
function paged(rows: readonly ListedItemRow[], limit: number): Paged<SyncItem> {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { entries: rows.slice(0, limit).map(toItem), next: last ? cursorOf(last) : null };
}

function cursorOf({ partition, id }: ItemPlace): string {
  return Buffer.from(JSON.stringify([partition, id])).toString('base64url');
}

function placeOf(cursor: string | undefined): ItemPlace | null {
  if (cursor === undefined) return null;
  const parts = parseCursor(cursor);
  const [partition, id] = parts ?? [];
  if (parts?.length === 2 && typeof partition === 'string' && typeof id === 'string') return { partition, id };
  throw new MemorydError('invalid_request', 'cursor is not one that a page before has given');
}

function parseCursor(cursor: string): unknown[] | null {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function toItem({ ref, state, ...row }: ListedItemRow): SyncItem {
  const text = (name: string) => (typeof ref[name] === 'string' ? ref[name] : null);
  return {
    ...row,
    state: state as ItemState,
    path: text('path'),
    url: text('url'),
    mimeType: text('mimeType'),
    size: typeof ref.size === 'number' ? ref.size : null,
  };
}

/** Remedies by error class; the codes of documents have theirs in the table of errors. */
const remedies: Readonly<Record<string, string>> = {
  auth_expired: 'Authorize the connection again.',
  forbidden: 'Give the account of the connection access to it at the source.',
  no_access: 'Give the account of the connection access to it at the source.',
  rate_limited: 'Nothing needs to be done: the source allows few requests, and it is tried again by itself.',
  transient: 'Nothing needs to be done: it is tried again by itself.',
  bad_config: 'Correct the configuration of the connection.',
  source_missing: 'Correct the configuration of the connection, if what it mirrors has moved.',
  too_large: 'Split it, or raise the limit in the configuration.',
  unsupported_type: 'Convert it to a type that is read.',
  binary: 'Nothing can be done: it holds no text.',
  encrypted: 'Take its protection off at the source.',
  empty: 'Nothing needs to be done: it is read once there is something in it.',
  filtered: 'Change the filters of the connection, if it belongs in memory.',
  out_of_scope: 'Select the folder that it lies in.',
  over_limit: 'Raise the number of documents that the connection may mirror.',
};

/** The coverage of the connection decides about these, not another attempt. */
const leftOut = ['filtered', 'out_of_scope', 'over_limit'];
/** Their next attempt comes by itself. */
const byItself = ['transient', 'rate_limited'];

function toFailureCause({ state, errorClass, ...row }: FailureCauseRow): FailureCause {
  return {
    ...row,
    state: state as FailureCause['state'],
    errorClass,
    remedy: errorClass === null ? null : remedyOf(errorClass, state),
    retriable: errorClass === null || !leftOut.includes(errorClass),
  };
}

function remedyOf(errorClass: string, state: string): string | null {
  if (state === 'dead' && byItself.includes(errorClass)) return 'Try it again: it is not tried by itself any more.';
  const known = remedies[errorClass];
  if (known !== undefined) return known;
  return Object.hasOwn(errorTable, errorClass) ? errorTable[errorClass as keyof typeof errorTable].remedy : null;
}

/** One item of the source, as the ledger holds it. */
export interface SyncItem extends Omit<ListedItemRow, 'ref'> {
  path: string | null;
  url: string | null;
  mimeType: string | null;
  /** Bytes, when the source tells. */
  size: number | null;
  state: ItemState;
}

export interface ItemQuery {
  /** Empty: all. */
  states: readonly ItemState[];
  /** Empty: all. */
  errorClasses: readonly string[];
  /** In title, path or id, in any case. */
  text?: string | undefined;
  limit: number;
  /** `next` of the page before. Throws `invalid_request` for any other text. */
  cursor?: string | undefined;
}

interface Paged<Entry> {
  entries: Entry[];
  /** Null on the last page. */
  next: string | null;
}

/** Deletions that wait for an answer. */
export interface PendingDeletes {
  partitions: HeldPartition[];
  /** Items that would be deleted. */
  items: Paged<SyncItem>;
}

interface HeldPartition {
  id: string;
  title: string | null;
  /** Items that the listing no longer shows, of so many. */
  count: number;
  of: number;
  heldAt: Date;
  /** They are deleted by the next sync. */
  confirmed: boolean;
}

/** Items that failed or were skipped for one reason. */
export interface FailureCause extends FailureCauseRow {
  state: 'failed' | 'dead' | 'skipped';
  /** The remedy; null when none is known. */
  remedy: string | null;
  /** Whether another attempt can bring anything, which `retryItems` makes. */
  retriable: boolean;
}

/** Operations on the items of a connection. Throws `not_found` for a connection that is not there. */
export interface SyncItems {
  /** Ordered by partition and id. */
  items(id: string, query: ItemQuery): Promise<Paged<SyncItem>>;
  /** Most frequent first. */
  failures(id: string): Promise<FailureCause[]>;
  /** Tries items again now, with fresh attempts. Answers how many there are. */
  retryItems(
    id: string,
    selection: { states: readonly RetriedState[]; errorClasses: readonly string[] },
  ): Promise<number>;
  /** The same for one, by its id at the source or its customId. Null when there is none; `conflict` while it is read. */
  retryItem(id: string, itemId: string): Promise<SyncItem | null>;
  pendingDeletes(id: string, page: { limit: number; cursor?: string | undefined }): Promise<PendingDeletes>;
  /** Lets a held sweep delete (`confirm`) or forgets it (`reject`). */
  resolveHeldSweep(id: string, decision: 'confirm' | 'reject'): Promise<void>;
}
