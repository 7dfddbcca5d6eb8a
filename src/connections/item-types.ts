/** States of an item at the source. `dead`: failed, and not tried again by itself. */
export const itemStates = [
  'pending',
  'held',
  'fetching',
  'done',
  'failed',
  'dead',
  'skipped',
  'suppressed',
  'gone',
] as const;
export type ItemState = (typeof itemStates)[number];

/** One item of the source, as the ledger holds it. */
export interface SyncItem {
  /** Its id at the source. */
  id: string;
  partition: string;
  /** Of its document. */
  customId: string;
  title: string | null;
  path: string | null;
  url: string | null;
  mimeType: string | null;
  /** Bytes, when the source tells. */
  size: number | null;
  state: ItemState;
  attempts: number;
  /** Null: when it changes at the source, or on request. */
  nextRetryAt: Date | null;
  errorClass: string | null;
  /** Why it failed or was skipped. */
  error: string | null;
  documentId: string | null;
  updatedAt: Date;
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

export interface Paged<Entry> {
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

export interface HeldPartition {
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
export interface FailureCause {
  state: 'failed' | 'dead' | 'skipped';
  errorClass: string | null;
  count: number;
  /** Of the one that failed last. */
  error: string | null;
  lastAt: Date;
  /** The earliest; null: none is tried again by itself. */
  nextRetryAt: Date | null;
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

/** States from which many items at once can be tried again. */
export const retriedStates = ['failed', 'dead', 'skipped'] as const;
export type RetriedState = (typeof retriedStates)[number];
