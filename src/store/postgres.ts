import pg from 'pg';
import { firstOf } from '../base/collections.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Database } from './database.ts';
import { isStatementError } from './database-errors.ts';
import { type SessionSource, createDatabase } from './session-database.ts';
import { valueTypes } from './value-types.ts';

export interface PostgresOptions {
  /** `postgresql://user:password@host:port/database`, with the options of node-postgres as its query. */
  url: string;
  /** Connections at the most. Default 10. */
  poolSize?: number;
  /**
   * How long a transaction may wait for its next statement before the server ends it. A process that was
   * stopped in the middle of one must not keep its locks from those who take its work over. Default 30,000.
   */
  idleTransactionMs?: number;
  log: Logger;
  /** Shown in `pg_stat_activity`. Default `memoryd`. */
  applicationName?: string;
}

const connectTimeoutMs = 10_000;
const oldestServer = { number: 150_000, name: '15' };
const oldestVector = [0, 8] as const;

/**
 * Opens a pool of connections to a PostgreSQL server and checks that it serves.
 * Throws `database_unreachable` when it does not answer or refuses the login, and
 * `database_unsupported` when it is older than 15 or has no pgvector 0.8.
 */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize ?? 10,
    application_name: options.applicationName ?? 'memoryd',
    connectionTimeoutMillis: connectTimeoutMs,
    // Searches are many and short, so compiling them costs more than it saves.
    options: `-c jit=off -c random_page_cost=1.1 -c idle_in_transaction_session_timeout=${options.idleTransactionMs ?? 30_000}`,
    keepAlive: true,
    types: valueTypes,
  });
  // An idle connection that breaks is only taken out of the pool; the next use opens another.
  pool.on('error', (error) => options.log.warn({ reason: error.message }, 'idle database connection lost'));
  // One that breaks on loan between two statements: the next statement fails. Without a listener
  // the event would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  try {
    await checkServer(pool);
  } catch (error) {
    await pool.end();
    throw MemorydError.is(error) ? error : unreachable(options.url, error);
  }
  return createDatabase('postgres', poolSessions(pool));
}

function poolSessions(pool: pg.Pool): SessionSource {
  return {
    async acquire() {
      const client = await pool.connect();
      return { query: (statement) => client.query(statement), release: (broken) => client.release(broken) };
    },
    close: () => pool.end(),
  };
}

interface ServerFacts {
  number: number;
  version: string;
  vectorAvailable: string | null;
  vectorInstalled: string | null;
}

async function checkServer(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<ServerFacts>(`
    select current_setting('server_version_num')::integer as number,
           current_setting('server_version') as version,
           (select default_version from pg_available_extensions where name = 'vector') as "vectorAvailable",
           (select extversion from pg_extension where extname = 'vector') as "vectorInstalled"`);
  const problem = unsupported(firstOf(rows));
  if (problem !== undefined) throw new MemorydError('database_unsupported', problem);
}

/** Names what the server lacks and how to mend it; undefined when it has everything. */
export function unsupported(facts: ServerFacts): string | undefined {
  if (facts.number < oldestServer.number) {
    return `The server runs PostgreSQL ${facts.version}; memoryd needs ${oldestServer.name} or newer.`;
  }
  const needed = `pgvector ${oldestVector.join('.')} or newer`;
  const { vectorInstalled: installed, vectorAvailable: available } = facts;
  if (installed === null && available === null) {
    return `The server has no pgvector; install ${needed} on it (package postgresql-NN-pgvector, or image pgvector/pgvector).`;
  }
  if (isOld(installed ?? available!)) {
    const upgrade = available !== null && !isOld(available);
    return upgrade
      ? `The database uses pgvector ${installed}; run \`alter extension vector update\` in it to get ${available}.`
      : `The server has pgvector ${installed ?? available}; install ${needed}.`;
  }
  return undefined;
}

function isOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < oldestVector[0] || (major === oldestVector[0] && minor < oldestVector[1]);
}

function unreachable(url: string, error: unknown): MemorydError {
  const reason = isStatementError(error) ? `${error.message} (${error.code})` : messageOf(error);
  return new MemorydError('database_unreachable', `PostgreSQL at ${placeOf(url)} does not serve: ${reason}.`, {
    cause: error,
  });
}

/** Node wraps the failures of both address families into one error without a message. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}

/** Host, port and database of the URL: never its user or password. */
function placeOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed ? `${parsed.host}${parsed.pathname}` : 'the configured address';
}
