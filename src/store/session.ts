import type { QueryConfig, QueryResult } from 'pg';

/** One conversation with the database, on loan to one statement or one transaction. */
export interface Session {
  query(statement: string | QueryConfig): Promise<QueryResult>;
  /** Gives it back. With an error: it is broken and must not be used again. */
  release(broken?: Error): void;
}

export type SessionUse = 'statement' | 'transaction';

/** Where sessions come from: a pool of connections, or the one session of the embedded engine. */
export interface SessionSource {
  acquire(use: SessionUse): Promise<Session>;
  /** Called once, when every session is given back. */
  close(): Promise<void>;
}
