import type { ConnectionProgress, ConnectionStatus, SyncMode, SyncRun } from '../connect/connections.ts';
import type { JsonObject, JsonSchema } from '../connect/contract.ts';
import type { DocumentStatus } from '../engine/document.ts';
import type { SearchMode } from '../search/search.ts';
import { call, type Endpoint } from './client-request.ts';

/** A type as JSON carries it: dates are ISO 8601 texts. */
type Wire<Value> = Value extends Date
  ? string
  : Value extends readonly (infer Item)[]
    ? Wire<Item>[]
    : Value extends object
      ? { [Key in keyof Value]: Wire<Value[Key]> }
      : Value;

export interface SearchBody {
  q: string;
  containerTag?: string;
  searchMode?: SearchMode;
  threshold?: number;
  limit?: number;
  include?: { documents: boolean };
}

export interface SearchAnswer {
  results: SearchHit[];
  total: number;
  /** Milliseconds. */
  timing: number;
}

/** Exactly one of `memory` and `chunk` is present. */
export interface SearchHit {
  id: string;
  memory?: string;
  chunk?: string;
  similarity: number;
  metadata: Record<string, unknown> | null;
  updatedAt: string;
  filepath?: string | null;
  documents?: { id: string; title?: string | null; type?: string | null }[];
}

export interface ConnectionAnswer {
  id: string;
  provider: string;
  createdAt: string;
  status: ConnectionStatus;
  statusReason?: string | null;
  email?: string | null;
  containerTag: string;
  metadata?: Record<string, unknown> | null;
  schedule?: string | null;
  nextSyncAt?: string | null;
  documentCount: number;
  lastSyncRun?: { status: SyncRun['status']; error?: string | null; completedAt?: string | null } | null;
}

export interface ConnectBody {
  containerTag?: string;
  metadata: JsonObject;
}

export interface InstalledConnector {
  provider: string;
  displayName: string;
  configSchema?: JsonSchema;
}

export type ProgressAnswer = Wire<ConnectionProgress>;
export type SyncRunFailures = Wire<Pick<SyncRun, 'id' | 'status' | 'startedAt' | 'error' | 'errorCode' | 'failures'>>;
export type SyncRunAnswer = Wire<Pick<SyncRun, 'id' | 'connectionId' | 'status' | 'startedAt'>>;

export interface ServiceStatus {
  version: string;
  uptimeMs: number;
  role: string;
  storage: { engine: string; dataDir?: string | null };
  queue: { kind: string };
  embedder: { id: string; runtime: string; state: string };
  /** Number of documents by status. */
  documents: Partial<Record<DocumentStatus, number>>;
}

export interface AddBody {
  content: string;
  containerTag?: string;
  customId?: string;
  filepath?: string;
  metadata?: JsonObject;
}

export interface AddAnswer {
  id: string;
  status: DocumentStatus;
}

export interface FailedDocument {
  id: string;
  connectionId: string | null;
  customId: string | null;
  title: string | null;
  filepath: string | null;
  error: { code: string; message: string; attempts: number; nextRetryAt: string | null } | null;
}

interface DocumentPage {
  memories: { id: string }[];
  pagination: { totalItems: number };
}

export interface KeyAnswer {
  id: string;
  name: string;
  /** The first characters. */
  start: string;
  permission: string;
  /** None: a full key. */
  containerTags: string[];
  enabled: boolean;
  createdAt: string;
  lastUsedAt: string | null;
  expiresAt: string | null;
}

export interface NewKey {
  name?: string;
  permission?: string;
  /** None: a key for everything. */
  containerTags?: string[];
  expiresInDays?: number;
}

export interface NewKeyAnswer {
  id: string;
  name: string;
  /** Shown this once. */
  key: string;
  permission: string;
  expiresAt?: string | null;
}

export type Client = ReturnType<typeof createClient>;

/** The daemon's HTTP API, as far as commands use it. Every method throws `CommandFailure`. */
export function createClient(endpoint: Endpoint) {
  const segment = encodeURIComponent;
  return {
    url: endpoint.url,
    search: (body: SearchBody) => call<SearchAnswer>(endpoint, 'POST', '/v4/search', { body }),
    status: () => call<ServiceStatus>(endpoint, 'GET', '/v3/status'),
    connectors: () => call<InstalledConnector[]>(endpoint, 'GET', '/v3/connectors'),
    /** Newest first. */
    connections: () => call<ConnectionAnswer[]>(endpoint, 'POST', '/v3/connections/list', { body: {} }),
    connect: (provider: string, body: ConnectBody) =>
      call<{ id: string; authLink: string | null }>(endpoint, 'POST', `/v3/connections/${segment(provider)}`, { body }),
    disconnect: (id: string, deleteDocuments: boolean) =>
      call<{ id: string; provider: string }>(endpoint, 'DELETE', `/v3/connections/${segment(id)}`, {
        query: { deleteDocuments: String(deleteDocuments) },
      }),
    setPaused: (id: string, paused: boolean) =>
      call<ConnectionAnswer>(endpoint, 'PATCH', `/v3/connections/${segment(id)}`, { body: { paused } }),
    sync: (id: string, mode: SyncMode) =>
      call<SyncRunAnswer>(endpoint, 'POST', `/v3/connections/${segment(id)}/sync`, { body: { mode } }),
    progress: (id: string) => call<ProgressAnswer>(endpoint, 'GET', `/v3/connections/${segment(id)}/progress`),
    /** Newest first. */
    syncRuns: (id: string) =>
      call<SyncRunFailures[]>(endpoint, 'GET', `/v3/connections/${segment(id)}/sync-runs`, { query: { limit: '20' } }),
    decideHeldDeletes: (id: string, decision: 'confirm' | 'reject') =>
      call<ProgressAnswer>(endpoint, 'POST', `/v3/connections/${segment(id)}/pending-deletes/${decision}`),
    /** The first 100, of one connection or of everything. */
    failedDocuments: (connectionId?: string) =>
      call<DocumentPage>(endpoint, 'POST', '/v3/documents/list', {
        body: { status: 'failed', limit: 100, ...(connectionId === undefined ? {} : { connectionId }) },
      }),
    failedDocument: async (id: string): Promise<FailedDocument> => {
      const found = await call<FailedDocument>(endpoint, 'GET', `/v3/documents/${segment(id)}`);
      const { connectionId, customId, title, filepath, error } = found;
      return { id, connectionId, customId, title, filepath, error };
    },
    addText: (body: AddBody) => call<AddAnswer>(endpoint, 'POST', '/v3/documents', { body }),
    addFile: (form: FormData) => call<AddAnswer>(endpoint, 'POST', '/v3/documents/file', { form }),
    document: (id: string) =>
      call<AddAnswer & { title: string | null }>(endpoint, 'GET', `/v3/documents/${segment(id)}`),
    keys: async () => (await call<{ keys: KeyAnswer[] }>(endpoint, 'GET', '/v3/auth/keys')).keys,
    createKey: (body: NewKey) =>
      call<NewKeyAnswer>(endpoint, 'POST', body.containerTags ? '/v3/auth/scoped-key' : '/v3/auth/agent-key', { body }),
    revokeKey: (id: string) =>
      call<{ success: boolean; id: string }>(endpoint, 'DELETE', `/v3/auth/scoped-key/${segment(id)}`),
  };
}
