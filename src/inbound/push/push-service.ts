import type { UnreadPart } from '../../connector/contract.ts';

/** One item as a script knows it. */
export interface PushUpsert {
  /** Its own stable identity, at most 1,000 bytes. */
  id: string;
  /** Changes with its content. Default: a hash of all that was sent of it. */
  rev?: string | undefined;
  title?: string | undefined;
  content: { kind: 'text' | 'markdown' | 'html'; text: string };
  url?: string | undefined;
  /** For `filepath` filters and globs. */
  path?: string | undefined;
  metadata?: Record<string, string | number | boolean | string[]> | undefined;
  /** ISO 8601. */
  updatedAt?: string | undefined;
}

/** An entry of a push: what it says, or why it cannot be used. */
export type PushEntry = { upsert: PushUpsert } | { refused: { id: string | null; error: string } };
export type PushDelete = { id: string } | { refused: { id: string | null; error: string } };

export interface PushRequest {
  /** Makes repeating the request safe: a second one with this id gets the first answer. */
  deliveryId?: string | undefined;
  upserts: PushEntry[];
  deletes: PushDelete[];
  /** The page of a snapshot that this is. Pages come in order, beginning with 1. */
  snapshot?: { id: string; page: number } | undefined;
  /** Parts of the source that the snapshot cannot show: what lies in them is not removed. */
  unread?: UnreadPart[] | undefined;
  /** With it everything of the connection was shown: what the snapshot did not show is removed. */
  completeSnapshot: boolean;
}

/**
 * `superseded`: a later entry of the request has the same id. `suppressed`: somebody deleted its
 * document here; it comes back with another rev. `skipped`: the filters of the connection leave it out.
 */
export type UpsertStatus = 'created' | 'updated' | 'unchanged' | 'superseded' | 'suppressed' | 'skipped' | 'failed';

export interface UpsertResult {
  id: string | null;
  status: UpsertStatus;
  documentId: string | null;
  error: string | null;
}

/** `absent`: there was no such item. */
export interface DeleteResult {
  id: string | null;
  status: 'deleted' | 'absent' | 'failed';
  error: string | null;
}

export interface PushCounts {
  created: number;
  updated: number;
  unchanged: number;
  skipped: number;
  deleted: number;
  failed: number;
}

export interface SnapshotAnswer {
  id: string;
  state: 'open' | 'completed';
  /** The page that is expected next. */
  nextPage: number;
  /** Items that were removed because the snapshot did not show them. */
  removed: number;
  /** The brake holds the removal of so many items, of so many, until it is confirmed. */
  held: { count: number; of: number } | null;
  /** Why nothing was removed. */
  incomplete: string | null;
}

export interface PushAnswer {
  deliveryId: string | null;
  /** This delivery had been taken before, and nothing was done now; only what failed then is listed. */
  replayed: boolean;
  counts: PushCounts;
  upserts: UpsertResult[];
  deletes: DeleteResult[];
  snapshot: SnapshotAnswer | null;
}

export interface PushState {
  /** The snapshot that was begun last. */
  snapshot: {
    id: string;
    state: 'open' | 'completed' | 'abandoned';
    nextPage: number;
    incomplete: string | null;
    startedAt: Date;
    updatedAt: Date;
  } | null;
}

/** Connections into which a script pushes its items. */
export interface Push {
  /**
   * Takes items into the ledger and the memory of a connection. Entries fail one by one. Pushes into
   * one connection are carried out one after the other. Throws `not_found`, `unsupported_operation`
   * for a connection of another provider, and `conflict` when it is not active, for a delivery id
   * that was used for another request, and for a page that is not the expected one.
   */
  push(connectionId: string, request: PushRequest): Promise<PushAnswer>;
  state(connectionId: string): Promise<PushState>;
  /** Removes what a confirmed brake held. Does nothing for connections of other providers. */
  settleHeld(connectionId: string): Promise<void>;
}

/** The provider of connections that take pushes. */
export const pushProvider = 'push';

/** Entries that one request may carry. */
export const maxUpserts = 1_000;
export const maxDeletes = 10_000;
/** So that it fits into an index. */
export const maxPushIdBytes = 1_000;

/** The part of a push connection's ledger that holds its items. */
export const pushedPartition = 'pushed';

/** The text to hash when no rev was given: the same for equal items, whatever the order of their fields. */
export function canonicalText(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value ?? null);
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `{${entries.map(([name, one]) => `${JSON.stringify(name)}:${canonicalText(one)}`).join(',')}}`;
}
