import type { Scope } from '../base/scope.ts';
import { type ConnectionRow, findConnection } from '../store/connections.ts';
import type { SyncRunRow } from '../store/sync-runs.ts';
import type { CheckResult, ConnectorSpec, JsonObject } from '../connector/contract.ts';
import type { SyncItems } from './item-types.ts';
import type { SourcePreview } from './previews.ts';
import type { ResourceList, ResourceQuery, SelectedResource } from './resources.ts';
import { MemorydError } from '../base/errors.ts';
import type { Queryable } from '../store/database.ts';

export type ConnectionStatus = 'active' | 'paused' | 'needs_reauth' | 'needs_configuration' | 'deleting';

export type SyncMode = 'full' | 'incremental';

type SyncTrigger = 'event' | 'cron' | 'manual';

/** How a connection's items enter memory. */
export type MemorySettings = Pick<ConnectionRow, 'memories' | 'trust' | 'author' | 'inProfile'>;

export interface ConnectionRef {
  id: string;
  provider: string;
  containerTag: string;
}

export type FollowedConnection = Pick<Connection, 'id' | 'provider' | 'email' | 'config' | 'lastRun'>;

export interface Connection extends ConnectionRef, MemorySettings {
  status: ConnectionStatus;
  /** Why it is not active, and what to do. */
  statusReason: string | null;
  email: string | null;
  config: JsonObject;
  metadata: JsonObject;
  documentLimit: number | null;
  onSourceDelete: 'delete' | 'keep';
  filters: JsonObject;
  /** Chosen resources; empty: everything. */
  selection: Record<string, unknown>[];
  /** The schedule that it follows; null: only on request. */
  schedule: string | null;
  /** Windows in which it syncs by itself; null: at any time. */
  allowedHours: string | null;
  nextSyncAt: Date | null;
  lastSyncedAt: Date | null;
  expiresAt: Date | null;
  documentCount: number;
  lastRun: SyncRun | null;
  /** Problems that keep it from mirroring all of its source. */
  problems: PartitionIssue[];
  createdAt: Date;
  updatedAt: Date;
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

interface ConnectionPageQuery {
  provider?: string | undefined;
  /** `attention`: what needs a hand first, then what runs. Newest first among equals, and by `newest`. */
  order: 'newest' | 'attention';
  /** Only those that are older than this one; with `newest` alone. */
  before?: string | undefined;
  limit: number;
}

export interface ConnectionPages {
  page(scope: Scope, query: ConnectionPageQuery): Promise<StandingConnection[]>;
}

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

/**
 * Everything the outer layers do with connections. Methods that take the id of a connection throw
 * `not_found` when there is none.
 */
export interface Connections extends SyncRuns, SyncItems, ConnectionPages {
  /** All installed connectors. */
  connectors(): Promise<InstalledConnector[]>;
  /** The installed connector of a provider; null where there is none that can be used. */
  connector(provider: string): Promise<InstalledConnector | null>;
  /**
   * Checks configuration and access, stores, and starts the first sync. `connector_invalid` says what
   * is wrong. Where the user has to consent at the source, all that waits for the consent.
   */
  create(input: NewConnection): Promise<StartedConnection>;
  /** What a request that names a connection needs to know of it. Unlike `get` it counts nothing. */
  find(id: string, scope: Scope): Promise<ConnectionRef | null>;
  get(id: string, scope: Scope): Promise<Connection | null>;
  list(scope: Scope, provider?: string): Promise<Connection[]>;
  /** All of them, for who looks again and again how far their syncs are: it counts nothing. */
  withLastRuns(): Promise<FollowedConnection[]>;
  /** Changes all or nothing. Throws as `create` does. */
  change(id: string, change: ConnectionChange): Promise<Connection>;
  /** Ends the mirror. Documents are deleted or kept with `connectionId` null. */
  remove(id: string, options: { deleteDocuments: boolean }): Promise<void>;
  /** Pause or resume. */
  setPaused(id: string, paused: boolean): Promise<Connection>;
  /** Asks the source whether the connection works. */
  check(id: string): Promise<CheckResult[]>;
  /** Counts what filters would take, those that are stored where none are given; nothing is stored. */
  preview(id: string, filters?: JsonObject): Promise<SourcePreview>;
  /** When a schedule comes next, the standard one where none is given. Throws `validation_failed` for one that is wrong. */
  upcoming(timing: { schedule?: string | null; allowedHours?: string | null }, count: number): Date[];
  /** Resources that can be chosen at the source. `unsupported_operation` for a connector without choice. */
  resources(id: string, query: ResourceQuery): Promise<ResourceList>;
  /**
   * Replaces the selection and starts a sync. `unsupported_operation` for a connector without choice.
   * Documents of what is no longer selected go unless the connection keeps what its source deletes;
   * `deleteRemoved` says otherwise for this once.
   */
  configure(
    id: string,
    selection: readonly SelectedResource[],
    options: { deleteRemoved?: boolean },
  ): Promise<Configured>;
  /** Goes on with removals that a stop of the process has interrupted. */
  finishRemovals(signal: AbortSignal): Promise<void>;
  /** Ends what goes on after an answer was given. */
  close(): Promise<void>;
}

/** The effect of a new selection. */
export interface Configured {
  /** False for a connection that is paused. */
  syncStarted: boolean;
  /** Null for a source that does not report changes by itself. */
  webhooksRegistered: number | null;
}

/** Operations on the sync runs of a connection. */
export interface SyncRuns {
  /** Asks for a sync; `conflict` while one of the same kind runs. Answers the run that will serve it. */
  requestSync(id: string, options: SyncRequest): Promise<SyncRun>;
  /** Newest first. */
  runs(id: string, options: { limit: number; before?: string | undefined }): Promise<SyncRun[]>;
  run(id: string, runId: string): Promise<SyncRun | null>;
  /** Ends a run, the running one when none is named. `conflict` when it is over already. */
  cancelRun(id: string, runId?: string): Promise<SyncRun>;
  progress(id: string): Promise<ConnectionProgress>;
}

export interface SyncRequest {
  mode: SyncMode;
  trigger: SyncTrigger;
  /** Reads again also what the user deleted here. */
  restoreDeleted?: boolean;
  /** Only says what would be added, updated and deleted. */
  dryRun?: boolean;
  /** Lists nothing: only reads the items whose time has come. */
  onlyDue?: boolean;
}

/** The connection, or `not_found` when there is none or it is being deleted. */
export async function requireConnection(database: Queryable, id: string): Promise<ConnectionRow> {
  const row = await findConnection(database, id);
  if (!row || row.status === 'deleting') throw new MemorydError('not_found', 'Connection not found');
  return row;
}
