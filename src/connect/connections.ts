import type { Scope } from '../base/scope.ts';
import type { SyncRunRow } from '../store/sync-runs.ts';
import type { ConnectorSpec, JsonObject } from './contract.ts';

export type ConnectionStatus = 'active' | 'paused' | 'needs_reauth' | 'needs_configuration' | 'deleting';
export type SyncMode = 'full' | 'incremental';
export type SyncTrigger = 'event' | 'cron' | 'manual';

export interface Connection {
  id: string;
  provider: string;
  containerTag: string;
  status: ConnectionStatus;
  /** Why it is not active, and what to do. */
  statusReason: string | null;
  email: string | null;
  config: JsonObject;
  metadata: JsonObject;
  documentLimit: number | null;
  onSourceDelete: 'delete' | 'keep';
  schedule: string | null;
  nextSyncAt: Date | null;
  lastSyncedAt: Date | null;
  expiresAt: Date | null;
  documentCount: number;
  lastRun: SyncRun | null;
  createdAt: Date;
  updatedAt: Date;
}

export interface SyncRun extends Omit<SyncRunRow, 'status' | 'mode' | 'triggerType'> {
  status: 'running' | 'completed' | 'failed';
  mode: SyncMode;
  triggerType: SyncTrigger;
}

export interface NewConnection {
  provider: string;
  containerTag: string;
  /** The caller's fields: those that the connector's schema names are its configuration, the rest is metadata for each document. */
  metadata: JsonObject;
  documentLimit?: number;
  schedule?: string;
  onSourceDelete?: 'delete' | 'keep';
}

/** Progress of a connection between source and search. */
export interface ConnectionProgress {
  run: SyncRun | null;
  /** Ledger rows by state. */
  items: { pending: number; done: number; failed: number; skipped: number };
  /** Documents of the connection by state. */
  documents: { waiting: number; done: number; failed: number };
  /** A sweep that the brake holds. */
  heldDeletes: number;
}

/** Everything the outer layers do with connections. */
export interface Connections {
  /** What is installed. */
  connectors(): Promise<ConnectorSpec[]>;
  /** Checks configuration and access, stores, and starts the first sync. `connector_invalid` says what is wrong. */
  create(input: NewConnection): Promise<Connection>;
  get(id: string, scope: Scope): Promise<Connection | null>;
  list(scope: Scope, provider?: string): Promise<Connection[]>;
  /** Ends the mirror. Documents are deleted or kept with `connectionId` null. */
  remove(id: string, options: { deleteDocuments: boolean }): Promise<void>;
  /** Pause or resume. */
  setPaused(id: string, paused: boolean): Promise<Connection>;
  /** Asks for a sync; `conflict` while one of the same kind runs. Answers the run that will serve it. */
  requestSync(id: string, options: { mode: SyncMode; trigger: SyncTrigger }): Promise<SyncRun>;
  runs(id: string, options: { limit: number; before?: string }): Promise<SyncRun[]>;
  progress(id: string): Promise<ConnectionProgress>;
  /** Lets a held sweep delete (`confirm`) or forgets it (`reject`). */
  resolveHeldSweep(id: string, decision: 'confirm' | 'reject'): Promise<void>;
}
