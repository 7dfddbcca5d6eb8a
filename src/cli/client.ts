import type {
  ConnectionProgress,
  ConnectionStatus,
  PartitionIssue,
  SyncMode,
  SyncRun,
} from '../connections/connections.ts';
import type { CheckResult, JsonObject, JsonSchema } from '../connector/contract.ts';
import type { SharedHook } from '../inbound/hooks/shared-hooks.ts';
import type { SyncItem } from '../connections/items.ts';
import type { PushAnswer, PushState } from '../inbound/push/push-service.ts';
import type { DocumentStatus } from '../engine/document.ts';
import type { SearchMode } from '../search/search.ts';
import { readEvents } from './client-events.ts';
import { call, type Endpoint } from './client-request.ts';
import type { ContainerAnswer, ContainerQuota } from './container-answer.ts';
import type { KeyAnswer, KeyChange, NewKey, NewKeyAnswer, RotatedKey } from './key-answer.ts';
import type { ErasureAnswer, ErasureBody } from './erasure-answer.ts';

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
  asOf?: string;
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
  kind?: MemoryKind | 'passage';
  containerTag?: string;
  trust?: Trust;
  author?: string | null;
  saidAt?: string | null;
  sources?: Source[];
  documents?: { id: string; title?: string | null; type?: string | null }[];
}

type MemoryKind = 'fact' | 'episode';
type Trust = 'told' | 'own' | 'read';

interface Source {
  documentId: string;
  title: string | null;
  filepath: string | null;
  date: string;
}

export interface MemoryAnswer {
  id: string;
  memory: string;
  kind: MemoryKind;
  trust: Trust;
  author: string | null;
  version: number;
  isForgotten: boolean;
  saidAt: string | null;
  createdAt: string;
  sources: Source[];
}

interface MemoriesAnswer {
  memoryEntries: MemoryAnswer[];
  pagination: { currentPage: number; totalItems: number; totalPages: number };
}

interface MemoriesBody {
  containerTags: string[];
  limit: number;
  page: number;
  includeForgotten: boolean;
  asOf?: string;
}

interface Forgotten {
  id: string;
  memory: string;
  score: number;
}

interface ForgetMatchingBody {
  containerTag: string;
  ids?: string[];
  query?: string;
  dryRun?: boolean;
  reason?: string;
}

export interface ForgottenAnswer {
  dryRun: boolean;
  count: number;
  candidates?: Forgotten[];
  forgotten?: Forgotten[];
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
  allowedHours?: string | null;
  documentLimit?: number;
  filters?: Record<string, unknown>;
  selection?: Record<string, unknown>[];
  nextSyncAt?: string | null;
  documentCount: number;
  lastSyncRun?: { status: SyncRun['status']; error?: string | null; completedAt?: string | null } | null;
  /** Absent in the answers of an earlier version. */
  problems?: Wire<PartitionIssue>[];
}

export interface CheckAnswer {
  ok: boolean;
  checks: CheckResult[];
}

export type ItemAnswer = Wire<SyncItem>;

export interface ItemsAnswer {
  items: ItemAnswer[];
  /** Null on the last page. */
  next: string | null;
}

export interface ItemSelection {
  states: readonly string[];
  errorClasses: readonly string[];
}

export interface ConnectBody {
  containerTag?: string;
  /** Authorizes this connection again. */
  connectionId?: string;
  metadata: JsonObject;
}

export interface InstalledConnector {
  provider: string;
  displayName: string;
  /** The first way to authorize; `config`: there is none. */
  auth?: 'oauth2' | 'token' | 'config';
  configSchema?: JsonSchema;
}

/** One way to authorize; those without fields need the user's consent at the source. */
export interface AuthorizationWay {
  type: string;
  title?: string;
  fields?: JsonSchema;
}

export interface StartedAuthorization {
  id: string;
  authLink: string | null;
  expiresIn: string | null;
}

export interface AuthorizationAnswer {
  connectionId: string;
  status: 'pending' | 'connected' | 'access_denied' | 'exchange_failed' | 'expired';
}

/** The parameters with which the source sent the browser back. */
export type CallbackParameters = { state: string } & ({ code: string } | { error: string });

export type ProgressAnswer = Wire<ConnectionProgress>;
export type SyncRunAnswer = Wire<SyncRun>;

export interface SyncBody {
  mode: SyncMode;
  dryRun?: boolean;
}

export interface ServiceStatus {
  version: string;
  uptimeMs: number;
  role: string;
  storage: { engine: string; dataDir?: string | null };
  queue: { kind: string };
  embedder: { id: string; runtime: string; state: string };
  languageModel?: { id: string; state: string; tokensToday: number } | null;
  /** Of those that the daemon makes by itself; null: it makes none. */
  backups?: {
    lastAt: string | null;
    nextAt: string;
    failure: { at: string; reason: string } | null;
    isOverdue: boolean;
  } | null;
  /** Number of documents by status. */
  documents: Partial<Record<DocumentStatus, number>>;
  /** Count among processed documents. */
  foundByWords?: number;
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

interface BatchAnswer {
  results: { id: string; status: string; error?: string }[];
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

export interface PushBody {
  deliveryId: string;
  upserts: readonly unknown[];
  deletes: readonly string[];
  snapshot?: { id: string; page: number };
  completeSnapshot?: boolean;
}

export type SharedHookAnswer = Wire<SharedHook>;

export type Client = ReturnType<typeof createClient>;

/** The daemon's HTTP API, as far as commands use it. Every method throws `CommandFailure`. */
export function createClient(endpoint: Endpoint) {
  const segment = encodeURIComponent;
  return {
    url: endpoint.url,
    search: (body: SearchBody) => call<SearchAnswer>(endpoint, 'POST', '/v4/search', { body }),
    memories: (body: MemoriesBody) => call<MemoriesAnswer>(endpoint, 'POST', '/v4/memories/list', { body }),
    correctMemory: (body: { containerTag: string; id: string; newContent: string }) =>
      call<{ id: string; memory: string; version: number }>(endpoint, 'PATCH', '/v4/memories', { body }),
    forgetMemory: (body: { containerTag: string; content: string; reason?: string }) =>
      call<{ id: string }>(endpoint, 'DELETE', '/v4/memories', { body }),
    forgetMatching: (body: ForgetMatchingBody) =>
      call<ForgottenAnswer>(endpoint, 'POST', '/v4/memories/forget-matching', { body }),
    /** The containers that the key may read. */
    container: (tag: string) => call<ContainerAnswer>(endpoint, 'GET', `/v3/container-tags/${segment(tag)}`),
    setQuota: (tag: string, quota: Partial<ContainerQuota>) =>
      call<object>(endpoint, 'PATCH', `/v3/container-tags/${segment(tag)}`, { body: { quota } }),
    containerTags: async () =>
      (await call<{ containerTag: string }[]>(endpoint, 'GET', '/v3/container-tags/list')).map(
        (one) => one.containerTag,
      ),
    status: () => call<ServiceStatus>(endpoint, 'GET', '/v3/status'),
    consoleLink: () => call<{ url: string; expiresAt: string }>(endpoint, 'POST', '/console/links'),
    session: () => call<{ accessType: string }>(endpoint, 'GET', '/v3/session'),
    /** One message of the model context protocol; null when it needs no answer. */
    mcp: (message: object) => call<object | null>(endpoint, 'POST', '/mcp', { body: message }),
    connectors: () => call<InstalledConnector[]>(endpoint, 'GET', '/v3/connectors'),
    /** Newest first. */
    connections: () => call<ConnectionAnswer[]>(endpoint, 'POST', '/v3/connections/list', { body: {} }),
    connect: (provider: string, body: ConnectBody) =>
      call<StartedAuthorization>(endpoint, 'POST', `/v3/connections/${segment(provider)}`, { body }),
    waysToAuthorize: async (provider: string) =>
      (await call<{ auth: AuthorizationWay[] }>(endpoint, 'GET', `/v3/connectors/${segment(provider)}/spec`)).auth,
    authorization: (id: string) =>
      call<AuthorizationAnswer>(endpoint, 'GET', `/v3/connections/${segment(id)}/authorization`),
    completeAuthorization: (provider: string, query: CallbackParameters) =>
      call<{ connectionId: string }>(endpoint, 'GET', `/v3/connections/auth/callback/${segment(provider)}`, { query }),
    disconnect: (id: string, deleteDocuments: boolean) =>
      call<{ id: string; provider: string }>(endpoint, 'DELETE', `/v3/connections/${segment(id)}`, {
        query: { deleteDocuments: String(deleteDocuments) },
      }),
    setPaused: (id: string, paused: boolean) =>
      call<ConnectionAnswer>(endpoint, 'PATCH', `/v3/connections/${segment(id)}`, { body: { paused } }),
    check: (id: string) => call<CheckAnswer>(endpoint, 'POST', `/v3/connections/${segment(id)}/check`),
    hook: (name: string) => call<SharedHookAnswer>(endpoint, 'GET', `/v3/connectors/${segment(name)}/hook`),
    acceptHook: (name: string, secret: string) =>
      call<SharedHookAnswer>(endpoint, 'POST', `/v3/connectors/${segment(name)}/hook`, { body: { secret } }),
    forgetHook: (name: string) => call<SharedHookAnswer>(endpoint, 'DELETE', `/v3/connectors/${segment(name)}/hook`),
    sync: (id: string, body: SyncBody) =>
      call<SyncRunAnswer>(endpoint, 'POST', `/v3/connections/${segment(id)}/sync`, { body }),
    cancel: (id: string) => call<SyncRunAnswer>(endpoint, 'POST', `/v3/connections/${segment(id)}/cancel`),
    progress: (id: string) => call<ProgressAnswer>(endpoint, 'GET', `/v3/connections/${segment(id)}/progress`),
    /** Newest first. */
    syncRuns: (id: string, limit = 20) =>
      call<SyncRunAnswer[]>(endpoint, 'GET', `/v3/connections/${segment(id)}/sync-runs`, {
        query: { limit: String(limit) },
      }),
    syncRun: (id: string, runId: string) =>
      call<SyncRunAnswer>(endpoint, 'GET', `/v3/connections/${segment(id)}/sync-runs/${segment(runId)}`),
    /** Until the documents of the run can be found. */
    runEvents: (id: string, runId: string, lastEventId: string | null) =>
      readEvents<ProgressAnswer>(
        endpoint,
        `/v3/connections/${segment(id)}/runs/${segment(runId)}/events?until=documents`,
        lastEventId,
      ),
    items: (id: string, selection: ItemSelection, page: { limit: number; cursor?: string | undefined }) =>
      call<ItemsAnswer>(endpoint, 'GET', `/v3/connections/${segment(id)}/items`, {
        query: {
          limit: String(page.limit),
          ...(page.cursor === undefined ? {} : { cursor: page.cursor }),
          ...(selection.states.length > 0 ? { state: selection.states.join(',') } : {}),
          ...(selection.errorClasses.length > 0 ? { class: selection.errorClasses.join(',') } : {}),
        },
      }),
    retryItems: (id: string, { states, errorClasses }: ItemSelection) =>
      call<{ retried: number }>(endpoint, 'POST', `/v3/connections/${segment(id)}/items/retry`, {
        body: {
          ...(states.length > 0 ? { state: states } : {}),
          ...(errorClasses.length > 0 ? { class: errorClasses } : {}),
        },
      }),
    retryItem: (id: string, itemId: string) =>
      call<ItemAnswer>(endpoint, 'POST', `/v3/connections/${segment(id)}/items/${segment(itemId)}/retry`),
    decideHeldDeletes: (id: string, decision: 'confirm' | 'reject') =>
      call<ProgressAnswer>(endpoint, 'POST', `/v3/connections/${segment(id)}/pending-deletes/${decision}`),
    push: (id: string, body: PushBody) =>
      call<PushAnswer>(endpoint, 'POST', `/v3/connections/${segment(id)}/push`, { body }),
    pushState: (id: string) => call<Wire<PushState>>(endpoint, 'GET', `/v3/connections/${segment(id)}/push`),
    /** The first 100, of one connection or of everything. */
    failedDocuments: (connectionId?: string) =>
      call<DocumentPage>(endpoint, 'POST', '/v3/documents/list', {
        body: { status: 'failed', limit: 100, connectionId },
      }),
    failedDocument: async (id: string): Promise<FailedDocument> => {
      const found = await call<FailedDocument>(endpoint, 'GET', `/v3/documents/${segment(id)}`);
      const { connectionId, customId, title, filepath, error } = found;
      return { id, connectionId, customId, title, filepath, error };
    },
    addBatch: (body: { containerTag: string; documents: readonly JsonObject[] }) =>
      call<BatchAnswer>(endpoint, 'POST', '/v3/documents/batch', { body }),
    addMemories: (body: { containerTag: string; memories: readonly JsonObject[] }) =>
      call<object>(endpoint, 'POST', '/v4/memories', { body }),
    setContainer: (tag: string, body: JsonObject) =>
      call<object>(endpoint, 'PATCH', `/v3/container-tags/${segment(tag)}`, { body }),
    setSettings: (body: JsonObject) => call<object>(endpoint, 'PATCH', '/v3/settings', { body }),
    addText: (body: AddBody) => call<AddAnswer>(endpoint, 'POST', '/v3/documents', { body }),
    addFile: (form: FormData) => call<AddAnswer>(endpoint, 'POST', '/v3/documents/file', { form }),
    document: (id: string) =>
      call<AddAnswer & { title: string | null }>(endpoint, 'GET', `/v3/documents/${segment(id)}`),
    backUp: (body: { keep?: number }) => call<{ path: string }>(endpoint, 'POST', '/v3/system/backups', { body }),
    erase: (body: ErasureBody) => call<ErasureAnswer>(endpoint, 'POST', '/v3/erasures', { body }),
    erasure: (id: string) => call<ErasureAnswer>(endpoint, 'GET', `/v3/erasures/${segment(id)}`),
    keys: async () => (await call<{ keys: KeyAnswer[] }>(endpoint, 'GET', '/v3/auth/keys')).keys,
    createKey: (body: NewKey) =>
      call<NewKeyAnswer>(endpoint, 'POST', body.containerTags ? '/v3/auth/scoped-key' : '/v3/auth/agent-key', { body }),
    changeKey: (id: string, body: KeyChange) =>
      call<KeyAnswer>(endpoint, 'PATCH', `/v3/auth/keys/${segment(id)}`, { body }),
    rotateKey: (id: string, overlapHours: number) =>
      call<RotatedKey>(endpoint, 'POST', `/v3/auth/keys/${segment(id)}/rotate`, { body: { overlapHours } }),
    revokeKey: (id: string) =>
      call<{ success: boolean; id: string }>(endpoint, 'DELETE', `/v3/auth/scoped-key/${segment(id)}`),
  };
}
