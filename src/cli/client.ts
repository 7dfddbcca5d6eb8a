import type { JsonObject } from '../connector/contract.ts';
import type { DocumentStatus } from '../engine/document.ts';
import type { SearchMode } from '../search/search.ts';
import { segment, connectionCalls, syncCalls } from './client-connections.ts';
import { call, type Endpoint } from './client-request.ts';
import type { KeyAnswer, KeyChange, NewKey, NewKeyAnswer, RotatedKey } from './key-answer.ts';

export interface SearchBody {
  q: string;
  containerTag?: string | undefined;
  searchMode?: SearchMode | undefined;
  threshold?: number | undefined;
  limit?: number | undefined;
  include?: { documents: boolean } | undefined;
  dates?: { from?: string | undefined; to?: string | undefined } | undefined;
  asOf?: string | undefined;
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
  asOf?: string | undefined;
}

interface Forgotten {
  id: string;
  memory: string;
  score: number;
}

interface ForgetMatchingBody {
  containerTag: string;
  ids?: string[] | undefined;
  query?: string | undefined;
  dryRun?: boolean | undefined;
  reason?: string | undefined;
}

export interface ForgottenAnswer {
  dryRun: boolean;
  count: number;
  candidates?: Forgotten[];
  forgotten?: Forgotten[];
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
  containerTag?: string | undefined;
  customId?: string | undefined;
  filepath?: string | undefined;
  metadata?: JsonObject | undefined;
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

export type Client = ReturnType<typeof createClient>;

/** The daemon's HTTP API, as far as commands use it. Every method throws `CommandFailure`. */
export function createClient(endpoint: Endpoint) {
  return {
    url: endpoint.url,
    /** One message of the model context protocol; null when it needs no answer. */
    mcp: (message: object) => call<object | null>(endpoint, 'POST', '/mcp', { body: message }),
    ...memoryCalls(endpoint),
    ...documentCalls(endpoint),
    ...connectionCalls(endpoint),
    ...syncCalls(endpoint),
    ...accountCalls(endpoint),
  };
}

const memoryCalls = (endpoint: Endpoint) => ({
  search: (body: SearchBody) => call<SearchAnswer>(endpoint, 'POST', '/v4/search', { body }),
  memories: (body: MemoriesBody) => call<MemoriesAnswer>(endpoint, 'POST', '/v4/memories/list', { body }),
  correctMemory: (body: { containerTag: string; id: string; newContent: string }) =>
    call<{ id: string; memory: string; version: number }>(endpoint, 'PATCH', '/v4/memories', { body }),
  forgetMemory: (body: { containerTag: string; content: string; reason?: string | undefined }) =>
    call<{ id: string }>(endpoint, 'DELETE', '/v4/memories', { body }),
  forgetMatching: (body: ForgetMatchingBody) =>
    call<ForgottenAnswer>(endpoint, 'POST', '/v4/memories/forget-matching', { body }),
  addMemories: (body: { containerTag: string; memories: readonly JsonObject[] }) =>
    call<object>(endpoint, 'POST', '/v4/memories', { body }),
});

const documentCalls = (endpoint: Endpoint) => ({
  addText: (body: AddBody) => call<AddAnswer>(endpoint, 'POST', '/v3/documents', { body }),
  addFile: (form: FormData) => call<AddAnswer>(endpoint, 'POST', '/v3/documents/file', { form }),
  addBatch: (body: { containerTag: string; documents: readonly JsonObject[] }) =>
    call<BatchAnswer>(endpoint, 'POST', '/v3/documents/batch', { body }),
  document: (id: string) => call<AddAnswer & { title: string | null }>(endpoint, 'GET', `/v3/documents/${segment(id)}`),
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
});

const accountCalls = (endpoint: Endpoint) => ({
  status: () => call<ServiceStatus>(endpoint, 'GET', '/v3/status'),
  session: () => call<{ accessType: string }>(endpoint, 'GET', '/v3/session'),
  consoleLink: () => call<{ url: string; expiresAt: string }>(endpoint, 'POST', '/console/links'),
  /** The containers that the key may read. */
  container: (tag: string) => call<ContainerAnswer>(endpoint, 'GET', `/v3/container-tags/${segment(tag)}`),
  containerTags: async () =>
    (await call<{ containerTag: string }[]>(endpoint, 'GET', '/v3/container-tags/list')).map((one) => one.containerTag),
  setContainer: (tag: string, body: JsonObject) =>
    call<object>(endpoint, 'PATCH', `/v3/container-tags/${segment(tag)}`, { body }),
  setQuota: (tag: string, quota: Partial<ContainerQuota>) =>
    call<object>(endpoint, 'PATCH', `/v3/container-tags/${segment(tag)}`, { body: { quota } }),
  setSettings: (body: JsonObject) => call<object>(endpoint, 'PATCH', '/v3/settings', { body }),
  keys: async () => (await call<{ keys: KeyAnswer[] }>(endpoint, 'GET', '/v3/auth/keys')).keys,
  createKey: (body: NewKey) =>
    call<NewKeyAnswer>(endpoint, 'POST', body.containerTags ? '/v3/auth/scoped-key' : '/v3/auth/agent-key', { body }),
  changeKey: (id: string, body: KeyChange) =>
    call<KeyAnswer>(endpoint, 'PATCH', `/v3/auth/keys/${segment(id)}`, { body }),
  rotateKey: (id: string, overlapHours: number) =>
    call<RotatedKey>(endpoint, 'POST', `/v3/auth/keys/${segment(id)}/rotate`, { body: { overlapHours } }),
  revokeKey: (id: string) =>
    call<{ success: boolean; id: string }>(endpoint, 'DELETE', `/v3/auth/scoped-key/${segment(id)}`),
  backUp: (body: { keep?: number }) => call<{ path: string }>(endpoint, 'POST', '/v3/system/backups', { body }),
  erase: (body: ErasureBody) => call<ErasureAnswer>(endpoint, 'POST', '/v3/erasures', { body }),
  erasure: (id: string) => call<ErasureAnswer>(endpoint, 'GET', `/v3/erasures/${segment(id)}`),
});

interface ContainerQuota {
  documents: number | null;
  bytes: number | null;
  requestsPerMinute: number | null;
}

export interface ContainerAnswer {
  quota: ContainerQuota;
  usage: { documents: number; bytes: number } | null;
}

export interface ErasureBody {
  documents?: string[];
  containerTag?: string;
  deleted?: true;
  rewrite?: boolean;
}

export interface ErasureAnswer {
  id: string;
  status: 'removing' | 'rewriting' | 'completed';
  documents: number;
  memories: number;
  problem: string | null;
  left: string[];
}
