import { type ConnectionRow, findConnection } from '../store/connections.ts';
import type { SyncRunRow } from '../store/sync-runs.ts';
import type { ConnectorSpec, JsonObject } from '../connector/contract.ts';
import { MemorydError } from '../base/errors.ts';
import type { Queryable } from '../store/database.ts';

export type ConnectionStatus = 'active' | 'paused' | 'needs_reauth' | 'needs_configuration' | 'deleting';

export type SyncMode = 'full' | 'incremental';

export type SyncTrigger = 'event' | 'cron' | 'manual';

/** How a connection's items enter memory. */
export type MemorySettings = Pick<ConnectionRow, 'memories' | 'trust' | 'author' | 'inProfile'>;

export type ConnectionRef = Pick<ConnectionRow, 'id' | 'provider' | 'containerTag'>;

export type FollowedConnection = Pick<Connection, 'id' | 'provider' | 'email' | 'config' | 'lastRun'>;

/** Fields that the runs of a connection keep in its row. */
type OfRuns = 'syncEveryMs' | 'requestedSync' | 'runningSync' | 'failures' | 'unwatched';

export interface Connection extends Omit<ConnectionRow, OfRuns> {
  status: ConnectionStatus;
  config: JsonObject;
  metadata: JsonObject;
  onSourceDelete: 'delete' | 'keep';
  filters: JsonObject;
  /** The schedule that it follows; null: only on request. */
  schedule: string | null;
  documentCount: number;
  lastRun: SyncRun | null;
  /** Problems that keep it from mirroring all of its source. */
  problems: PartitionIssue[];
}

/** What somebody who looks at a connection wants to know beside its state. */
interface Standing {
  /** Documents that are not searchable yet. */
  waiting: number;
  /** Items that could not be mirrored, and those whose document could not be read. */
  failed: number;
  /** Deletions that the brake holds back. */
  heldDeletes: number;
}

export type StandingConnection = Connection & { standing: Standing };

export interface SyncRun extends Omit<SyncRunRow, 'status' | 'mode' | 'triggerType'> {
  status: 'running' | 'completed' | 'failed';
  mode: SyncMode;
  triggerType: SyncTrigger;
  /** Milliseconds until it is over at its present speed; null while that is not known, and afterwards. */
  etaMs: number | null;
}

export interface NewConnection extends Partial<MemorySettings> {
  provider: string;
  containerTag: string;
  /** The caller's fields: those that the connector's schema names are its configuration, the rest is metadata for each document. */
  metadata: JsonObject;
  documentLimit?: number | undefined;
  /** Null: only on request. */
  schedule?: string | null | undefined;
  /** Windows in which it syncs by itself. */
  allowedHours?: string | null | undefined;
  filters?: JsonObject | undefined;
  /** It waits until somebody resumes it. */
  paused?: boolean | undefined;
  onSourceDelete?: 'delete' | 'keep' | undefined;
  /** Where the browser ends after the user's consent. */
  redirectUrl?: string | undefined;
  /** May read any path that the daemon's user can; else only those below `folderRoots`. */
  readsAnyPath?: boolean | undefined;
  /** Authorizes this connection again, instead of making one; only credentials count then. */
  connectionId?: string | undefined;
}

/** A connection, or one that waits for the user's consent. */
export interface StartedConnection {
  /** Of the connection, which is there when nothing is to be consented. */
  id: string;
  /** Where the user gives consent; null: nothing is to be consented. */
  authLink: string | null;
  /** How long the link works, in milliseconds. */
  expiresInMs: number | null;
}

/** Changes to a connection; absent fields stay as they are. */
export interface ConnectionChange extends Partial<MemorySettings> {
  paused?: boolean | undefined;
  documentLimit?: number | null | undefined;
  /** Null: only on request. */
  schedule?: string | null | undefined;
  /** Null: at any time. */
  allowedHours?: string | null | undefined;
  onSourceDelete?: 'delete' | 'keep' | undefined;
  /** See `NewConnection`. */
  readsAnyPath?: boolean | undefined;
  /** Merged into what is there; null takes a field away. */
  metadata?: JsonObject | undefined;
  /** The complete new filters. */
  filters?: JsonObject | undefined;
}

/** Progress of a connection between source and search. */
export interface ConnectionProgress {
  run: SyncRun | null;
  /** Ledger rows by state. */
  items: { pending: number; done: number; failed: number; skipped: number };
  /** Documents of the connection by state; of those that wait some are found by their words already. */
  documents: { waiting: number; foundByWords: number; done: number; failed: number };
  /** A sweep that the brake holds. */
  heldDeletes: number;
  /** Parts of the source that are left alone for now. */
  problems: PartitionIssue[];
}

export interface PartitionIssue {
  /** Null: it is about the whole connection. */
  partition: string | null;
  title: string | null;
  /** `paused`: somebody has to do something at the source. `parked`: it only takes time. */
  state: 'parked' | 'paused';
  code: string;
  reason: string;
  /** When it is tried again; of a part that is missing: when its documents go. */
  until: Date | null;
}

/** An installed connector. */
export interface InstalledConnector {
  spec: ConnectorSpec;
  /** Everything it needs to authorize is there: nothing, what a caller gives, or a registered OAuth client. */
  configured: boolean;
  /** What sets the OAuth client that its log-in lacks; null where none is lacking. */
  missingClient: string | null;
  capabilities: ConnectorCapabilities;
}

interface ConnectorCapabilities {
  /** Whether resources to mirror can be chosen. */
  selectable: boolean;
  /** The source reports changes by itself. */
  push: boolean;
  /** It makes the secret of its hooks by itself, and somebody has to look at it. */
  offersHookSecret: boolean;
  /** It reads changes since the last sync instead of listing everything. */
  incremental: boolean;
  /** Whether deletions at the source are mirrored. */
  deletes: boolean;
}

/** The connection, or `not_found` when there is none or it is being deleted. */
export async function requireConnection(database: Queryable, id: string): Promise<ConnectionRow> {
  const row = await findConnection(database, id);
  if (!row || row.status === 'deleting') throw new MemorydError('not_found', 'Connection not found');
  return row;
}

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

/** States from which many items at once can be tried again. */
export const retriedStates = ['failed', 'dead', 'skipped'] as const;
export type RetriedState = (typeof retriedStates)[number];
