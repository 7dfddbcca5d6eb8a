import type { Activity } from '../account/activity.ts';
import type { Audit } from '../account/audit.ts';
import type { ConsoleSessions } from '../account/console-sessions.ts';
import type { ContainerTags } from '../account/container-tags.ts';
import type { RateLimit } from '../account/access.ts';
import type { Erasures } from '../account/erasures.ts';
import type { Idempotency } from '../account/idempotency.ts';
import type { InferredMemories } from '../account/inferred-memories.ts';
import type { Keys } from '../account/keys.ts';
import type { Merges } from '../account/merges.ts';
import type { Organization } from '../account/organization.ts';
import type { ResetReport } from '../account/reset.ts';
import type { Settings } from '../account/settings.ts';
import type { LanguageModelUsage } from '../memory/llm/metered-model.ts';
import type { Finding } from '../base/checks.ts';
import type { ConfigRow } from '../base/config.ts';
import type { Warning } from '../base/log-tail.ts';
import type { Metrics } from '../base/metrics.ts';
import type { RateCounter } from '../base/rate-counter.ts';
import type { Connections } from '../connections/connection-service.ts';
import type { Consents } from '../connections/consents.ts';
import type { HookReceiver } from '../inbound/hooks/receiver.ts';
import type { Push } from '../inbound/push/push-service.ts';
import type { Conversations } from '../engine/conversations.ts';
import type { DocumentFiles } from '../engine/document-files.ts';
import type { Documents } from '../engine/document.ts';
import type { Memories } from '../memory/memories.ts';
import type { Profiles } from '../memory/profiles.ts';
import type { ExplainedSearch, Search } from '../search/search.ts';

/** The services that routes call. */
export interface ApiServices {
  documents: Documents;
  conversations: Conversations;
  files: DocumentFiles;
  search: Search;
  explainSearch: ExplainedSearch['explain'];
  memories: Memories;
  profiles: Profiles;
  connections: Connections;
  consents: Consents;
  push: Push;
  hooks: Pick<HookReceiver, 'open' | 'shared' | 'accept' | 'forget'>;
  keys: Keys;
  consoleSessions: ConsoleSessions;
  activity: Activity;
  audit: Audit;
  idempotency: Idempotency;
  rates: Pick<RateCounter, 'count'>;
  containerTags: ContainerTags;
  merges: Pick<Merges, 'start' | 'find'>;
  erasures: Pick<Erasures, 'start' | 'find'>;
  inferredMemories: InferredMemories;
  settings: Settings;
  /** Deletes all content; see `createReset`. */
  reset(confirmation: string): Promise<ResetReport>;
  /** Absent: `GET /metrics` is not offered. */
  metrics?: Metrics | undefined;
  status: Status;
  /** Null: the database has means of its own. */
  backups: Backups | null;
}

/** Copies of the data directory. */
export interface Backups {
  /** Newest first. */
  list(): Promise<Backup[]>;
  /** With `keep`, only so many stay. Throws `conflict` while one is made, and `disk_full`. */
  make(keep: number | null): Promise<Backup>;
  /** When the newest was made; null: there is none. */
  lastAt(): Promise<Date | null>;
  /** Null: none is made by itself. */
  schedule(): Promise<BackupSchedule | null>;
}

export interface BackupSchedule {
  /** As it was configured. */
  schedule: string;
  keep: number;
  lastAt: Date | null;
  nextAt: Date;
  /** Of the last one that was due; null: it did not fail. */
  failure: { at: Date; reason: string } | null;
  isOverdue: boolean;
}

export interface Backup {
  name: string;
  at: Date;
  path: string;
  bytes: number;
}

/** State of the process. */
export interface Status {
  describe(): Promise<ProcessStatus>;
  readiness(): Promise<Readiness>;
  configuration(): ShownConfiguration;
  /** Looks at the machine and at what runs on it; takes some seconds. */
  checks(): Promise<Finding[]>;
  /** The last warnings and errors of the log, newest first. */
  warnings(): Warning[];
  /** Of the same database, also those that ended lately without saying so; the oldest first. */
  processes(): Promise<ProcessPresence[]>;
}

export interface ProcessPresence {
  role: ProcessStatus['role'];
  version: string;
  host: string;
  pid: number;
  startedAt: Date;
  /** When it last said that it runs. */
  seenAt: Date;
  /** That was lately. */
  isAlive: boolean;
  /** The one that answers. */
  isThis: boolean;
}

export interface ShownConfiguration {
  settings: ConfigRow[];
  /** Settings that make the daemon easier to break into than it need be. */
  risks: string[];
}

export interface ProcessStatus {
  startedAt: Date;
  /** Program and first argument of a command of this installation, in full. */
  command: string[];
  role: 'all' | 'api' | 'worker' | 'scheduler';
  /** `bytes`: of the database; null where it does not tell. */
  storage: { engine: 'postgres' | 'pglite'; dataDir: string | null; bytes: number | null };
  queue: { kind: 'in-process' | 'bullmq' };
  /** How long a turn of the event loop takes at the moment: what everything that comes waits for. */
  eventLoopMs: number;
  /** `state`: `ready`, `loading`, `failed`, …; `slowness`: why it is slower than it has to be, and what to do. */
  embedder: { id: string; runtime: string; state: string; slowness: string | null };
  /** Null: none is configured. */
  languageModel: LanguageModelUsage | null;
}

/** Each part is `ok` or says in a few words what is wrong with it. */
export interface Readiness {
  database: string;
  queue: string;
  embeddings: string;
  scheduler: string;
}

export interface ApiConfig {
  limits: {
    /** Text of one document, in bytes of UTF-8. */
    maxTextBytes: number;
    maxBodyBytes: number;
    maxBatchBodyBytes: number;
    maxFileBytes: number;
  };
  /** How long a request may take to arrive with its body. Default 120,000. */
  requestTimeoutMs?: number | undefined;
  /** After how long a connection ends on which nothing moves in either direction. Default 300,000. */
  stalledTimeoutMs?: number | undefined;
  /** How long reading and deleting may take until they are answered 503. Default 60,000. */
  answerTimeoutMs?: number | undefined;
  /** Where the built page of the console is, if it was built. Absent: none is served. */
  consoleFolder?: string | undefined;
  /** Where uploads are received. Default: the system's folder for temporary files. */
  uploadFolder?: string | undefined;
  /** Where callers reach the API; absent: as the request says. */
  publicUrl?: string | undefined;
  /** Container of a write that names none. */
  defaultContainerTag: string;
  organization: Organization;
  /** Origins of web pages that may call; `*` is every one. Empty: none. */
  /** PEM; absent: plain http. */
  tls?: { cert: string; key: string } | undefined;
  /** Where browsers are sent after an authorization without being asked; see the setting. */
  redirectAllowlist?: readonly string[] | undefined;
  /** Names by which it may be reached beside addresses and `publicUrl`. */
  allowedHosts?: readonly string[] | undefined;
  corsOrigins?: readonly string[] | undefined;
  /** For full keys. Default: no limit. */
  rateLimit?: RateLimit | undefined;
  /** Switches for older clients (section 24 of the API): `plural-tags`, `api-key-header`, `search-v3`, `memories-v3`. */
  compat?: readonly string[] | undefined;
}
