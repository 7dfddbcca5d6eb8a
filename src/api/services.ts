import type { ContainerTags } from '../account/container-tags.ts';
import type { RateLimit } from '../account/caller.ts';
import type { Keys } from '../account/keys.ts';
import type { Organization } from '../account/organization.ts';
import type { Connections } from '../connect/connections.ts';
import type { Documents } from '../engine/documents.ts';
import type { Search } from '../search/search.ts';

/** What the routes call. */
export interface ApiServices {
  documents: Documents;
  search: Search;
  connections: Connections;
  keys: Keys;
  containerTags: ContainerTags;
  status: Status;
}

/** What the process knows about itself. */
export interface Status {
  describe(): Promise<ProcessStatus>;
  readiness(): Promise<Readiness>;
}

export interface ProcessStatus {
  startedAt: Date;
  role: 'all' | 'api' | 'worker' | 'scheduler';
  storage: { engine: 'postgres' | 'pglite'; dataDir: string | null };
  queue: { kind: 'in-process' | 'bullmq' };
  /** `state`: `ready`, `loading`, `failed`, … */
  embedder: { id: string; runtime: string; state: string };
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
  /** Container of a write that names none. */
  defaultContainerTag: string;
  organization: Organization;
  /** Origins of web pages that may call; `*` is every one. Empty: none. */
  corsOrigins?: readonly string[];
  /** For full keys. Default: no limit. */
  rateLimit?: RateLimit;
  /** Switches for older clients (section 24). `plural-tags` and `api-key-header` are known here. */
  compat?: readonly string[];
}
