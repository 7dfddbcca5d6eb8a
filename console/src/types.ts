/** The answers of the HTTP API that the page reads, as /openapi.json describes them. */

export interface Session {
  user: { id: string };
  org: { name: string };
  containerTags: { containerTag: string; permission: string }[] | null;
  scope: { type: 'full' | 'scoped'; permission: 'read' | 'write'; tags?: string[]; expires?: string };
}

export interface ConsoleSession {
  csrf: string;
  expiresAt: string;
  session: Session;
}

export interface Capabilities {
  selectable: boolean;
  push: boolean;
  incremental: boolean;
  deletes: boolean;
}

export interface Connector {
  provider: string;
  displayName: string;
  auth: 'oauth2' | 'token' | 'config';
  description: string;
  configured: boolean;
  capabilities: Capabilities;
  configSchema: JsonSchema;
}

export interface JsonSchema {
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  required?: string[];
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  pattern?: string;
  [extension: `x-${string}`]: unknown;
}

export interface AuthKind {
  type: 'oauth2' | 'xoauth2' | 'apiKey' | 'basic' | 'serviceAccount' | 'githubApp';
  title?: string;
  fields?: JsonSchema;
}

export interface ConnectorSpec {
  name: string;
  title: string;
  description: string;
  configured: boolean;
  capabilities: Capabilities;
  config: JsonSchema;
  auth: AuthKind[];
  callbackAddress: string | null;
}

export interface Problem {
  partition: string | null;
  title: string | null;
  state: 'parked' | 'paused';
  code: string;
  reason: string;
  until: string | null;
}

/** What was chosen at the source. */
export interface SelectedResource {
  id: string | number;
  name?: string;
  kind?: string;
}

export interface Connection {
  id: string;
  provider: string;
  createdAt: string;
  email?: string;
  metadata: Record<string, unknown>;
  lastSyncRun?: { status: RunStatus; errorCode: string | null; error: string | null; startedAt: string };
  status: 'active' | 'paused' | 'needs_reauth' | 'needs_configuration' | 'deleting';
  statusReason: string | null;
  containerTag: string;
  schedule: string | null;
  filters: Record<string, unknown>;
  nextSyncAt: string | null;
  selection: SelectedResource[];
  onSourceDelete: 'delete' | 'keep';
  memories: 'off' | 'facts' | 'facts+episodes' | null;
  documentCount: number;
  problems: Problem[];
}

/** What filters would take of a source. */
export interface SourcePreview {
  listed: Amount;
  chosen: Amount;
  examples: { chosen: string[]; leftOut: string[] };
  complete: boolean;
}

interface Amount {
  items: number;
  bytes: number;
}

export interface Changes {
  added: number;
  updated: number;
  deleted: number;
  failed: number;
}

export interface Activity {
  sources: (Changes & { connectionId: string; provider: string; lastAt: string })[];
  uploads: number;
  growth: { day: string; documents: number }[];
}

export type RunStatus = 'running' | 'completed' | 'failed';

export interface Run {
  id: string;
  connectionId: string;
  status: RunStatus;
  triggerType: 'event' | 'cron' | 'manual';
  mode: 'full' | 'incremental';
  dryRun: boolean;
  startedAt: string;
  completedAt: string | null;
  itemsSeen: number;
  itemsTotal: number | null;
  itemsProcessed: number;
  itemsAdded: number;
  itemsUpdated: number;
  itemsDeleted: number;
  itemsSkipped: number;
  itemsFailed: number;
  itemsPerSecond: number | null;
  etaMs: number | null;
  error: string | null;
  errorCode: string | null;
  warnings: { partitionId: string | null; code: string; message: string }[];
  report?: { added: Report; updated: Report; deleted: Report; incomplete: string | null };
}

export interface Report {
  count: number;
  ids: string[];
}

export interface Progress {
  run: Run | null;
  items: { pending: number; done: number; failed: number; skipped: number };
  documents: { waiting: number; foundByWords: number; done: number; failed: number };
  heldDeletes: number;
  problems: Problem[];
}

export interface Item {
  id: string;
  title: string | null;
  path: string | null;
  url: string | null;
  size: number | null;
  state: 'pending' | 'held' | 'fetching' | 'done' | 'failed' | 'dead' | 'skipped' | 'suppressed' | 'gone';
  attempts: number;
  nextRetryAt: string | null;
  errorClass: string | null;
  error: string | null;
  documentId: string | null;
  updatedAt: string;
}

/** Items that failed or were left out for one reason. */
export interface Cause {
  state: 'failed' | 'dead' | 'skipped';
  class: string | null;
  count: number;
  message: string | null;
  remedy: string | null;
  retriable: boolean;
  nextRetryAt: string | null;
}

export interface ItemPage {
  items: Item[];
  next: string | null;
}

export interface HeldDeletes extends ItemPage {
  count: number;
  partitions: { id: string; title: string | null; count: number; of: number; heldAt: string; confirmed: boolean }[];
}

export type DocumentStatus =
  'unknown' | 'queued' | 'extracting' | 'chunking' | 'embedding' | 'indexing' | 'done' | 'failed';

export interface DocumentRow {
  id: string;
  customId: string | null;
  connectionId: string | null;
  title: string | null;
  type: string;
  status: DocumentStatus;
  url: string | null;
  filepath: string | null;
  containerTags: string[];
  createdAt: string;
  updatedAt: string;
}

export interface Pagination {
  currentPage: number;
  limit: number;
  totalItems: number;
  totalPages: number;
}

export interface DocumentPage {
  memories: DocumentRow[];
  pagination: Pagination;
}

export interface DocumentAnswer extends DocumentRow {
  content: string | null;
  raw: string | null;
  summary: string | null;
  source: string | null;
  author: string | null;
  metadata: Record<string, unknown>;
  documentDate: string | null;
  memories?: { id: string; memory: string; kind: string; version: number; isLatest: boolean; isForgotten: boolean }[];
  error?: { code: string; message: string; attempts: number; nextRetryAt: string | null } | null;
}

export interface Chunk {
  id: string;
  position: number;
  content: string;
}

export interface Source {
  documentId: string;
  title: string | null;
  type: string;
  url: string | null;
  filepath: string | null;
  date: string;
}

export type Trust = 'told' | 'own' | 'read';

/** What words and vectors say of a text, apart. */
export interface Scores {
  words: number;
  vectors: number | null;
}

export interface SearchHit {
  id: string;
  memory?: string;
  chunk?: string;
  similarity: number;
  scores?: Scores;
  containerTag: string;
  kind: 'fact' | 'episode' | 'passage';
  author: string | null;
  trust: Trust;
  saidAt: string | null;
  sources: Source[];
  updatedAt: string;
  filepath: string | null;
}

export interface SearchAnswer {
  results: SearchHit[];
  total: number;
  timing: number;
  explanation?: Explanation;
}

/** Where a document stands for a search. */
export interface Explanation {
  documentId: string | null;
  title: string | null;
  status: DocumentStatus | null;
  outcome: 'shown' | 'below_limit' | 'below_threshold' | 'said_by_another' | 'left_out' | 'not_indexed' | 'not_found';
  rank: number | null;
  ranked: number;
  similarity: number | null;
  scores: Scores | null;
  leftOutBy: ('containerTag' | 'filters' | 'filepath' | 'docId' | 'asOf')[];
}

export interface MemoryVersion {
  id: string;
  memory: string;
  version: number;
  isForgotten: boolean;
  createdAt: string;
}

export interface Memory extends MemoryVersion {
  kind: 'fact' | 'episode';
  author: string | null;
  trust: Trust;
  saidAt: string | null;
  sources: Source[];
  isStatic: boolean;
  history: MemoryVersion[];
}

export interface MemoryPage {
  memoryEntries: Memory[];
  pagination: Pagination;
}

export interface Profile {
  profile: { static?: string[]; dynamic?: string[]; buckets?: Record<string, string[]> };
}

export interface ForgetAnswer {
  count: number;
  summary: string;
  candidates?: { id: string; memory: string; score: number }[];
}

export interface Namespace {
  name: string;
  containerTag: string;
  documentCount: number;
  memoryCount: number;
  lastActivityAt: string | null;
}

export interface Key {
  id: string;
  name: string;
  start: string;
  kind: 'full' | 'scoped';
  permission: 'read' | 'write';
  containerTags: string[];
  enabled: boolean;
  createdAt: string;
  lastUsedAt: string | null;
  expiresAt: string | null;
}

export interface Status {
  version: string;
  startedAt: string;
  uptimeMs: number;
  role: string;
  storage: { engine: string; dataDir: string | null; bytes: number | null };
  queue: { kind: string };
  embedder: { id: string; runtime: string; state: string } | null;
  languageModel: { id: string; state: string; tokensToday: number } | null;
  documents: Record<DocumentStatus, number>;
  foundByWords: number;
}

export interface Checks {
  ok: boolean;
  checks: { name: string; ok: boolean; detail: string; remedy: string | null }[];
}

export interface Warnings {
  warnings: {
    level: 'warn' | 'error';
    message: string;
    count: number;
    firstAt: string;
    lastAt: string;
    fields: Record<string, string | number | boolean>;
  }[];
}

export interface AuditPage {
  events: {
    id: string;
    at: string;
    action: string;
    outcome: 'done' | 'denied' | 'failed';
    keyName: string | null;
    address: string | null;
    target: string | null;
  }[];
  next: string | null;
}
