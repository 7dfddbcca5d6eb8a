import { AsyncLocalStorage } from 'node:async_hooks';
import type { QueryConfig, QueryResult } from 'pg';
import { forgetOldest } from '../base/collections.ts';
import { MemorydError } from '../base/errors.ts';
import type { Database, Queryable, Transaction } from './database.ts';
import { endsSession, isTransactionConflict, isUnreachable, translateError } from './database-errors.ts';
import type { Sql } from './sql.ts';

/** A transaction's own state: `open` until its work ends, so that late statements are refused. */
interface TransactionScope {
  open: boolean;
}

/** The session's `query`, with failures of the machine translated and remembered. */
interface Loan {
  query(statement: string | QueryConfig): Promise<QueryResult>;
}

/** Attempts at a transaction that lost against another one. */
const conflictAttempts = 5;

/** The `Database` over sessions of node-postgres, the same for both engines. */
export function createDatabase(engine: Database['engine'], sessions: SessionSource): Database {
  const scopes = new AsyncLocalStorage<TransactionScope>();
  const names = createStatementNames();
  const inFlight = createInFlight();
  let closing: Promise<void> | undefined;

  async function withSession<T>(use: SessionUse, work: (loan: Loan) => Promise<T>): Promise<T> {
    if (closing) throw new MemorydError('unavailable', 'The database is closed.');
    if (scopes.getStore()?.open) throw nestedUse();
    return inFlight.track(lend(sessions, use, work));
  }

  async function transact<T>(loan: Loan, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const scope: TransactionScope = { open: true };
    await loan.query('begin');
    try {
      const result = await scopes.run(scope, () => work(transactionOn(loan, names, scope)));
      scope.open = false;
      await commit(loan);
      return result;
    } catch (error) {
      scope.open = false;
      await rollback(loan);
      throw error;
    }
  }

  return {
    engine,
    ...queryable((statement) =>
      withSession('statement', (loan) => unlessInConflict(() => loan.query(named(names, statement)))),
    ),
    transaction: (work) => withSession('transaction', (loan) => unlessInConflict(() => transact(loan, work))),
    executeWith: (settings, statement) =>
      withSession('transaction', (loan) => executeWith(loan, Object.entries(settings), statement)),
    script: (text) => withSession('transaction', async (loan) => void (await loan.query(text))),
    close: () => (closing ??= inFlight.ended().then(() => sessions.close())),
  };
}

async function executeWith(loan: Loan, settings: readonly [string, string][], { text, values }: Sql): Promise<number> {
  for (const setting of settings) {
    await loan.query({ text: 'select set_config($1, $2, false)', values: [...setting] });
  }
  try {
    return (await loan.query({ text, values: [...values] })).rowCount ?? 0;
  } finally {
    // A session that is lost has lost them too, and the statement's error says more.
    for (const [name] of settings) await loan.query(`reset ${name}`).catch(() => undefined);
  }
}

/** Of transactions that wait for each other the database stops one, which may succeed when it is done again. */
async function unlessInConflict<T>(attempt: () => Promise<T>): Promise<T> {
  for (let made = 1; ; made++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isTransactionConflict(error) || made === conflictAttempts) throw error;
    }
  }
}

async function lend<T>(sessions: SessionSource, use: SessionUse, work: (loan: Loan) => Promise<T>): Promise<T> {
  const session = await sessions.acquire(use).catch((error: unknown) => {
    throw translateError(error);
  });
  let broken: Error | undefined;
  try {
    return await work({
      query: async (statement) => {
        try {
          return await session.query(statement);
        } catch (error) {
          if (endsSession(error)) broken = error as Error;
          throw translateError(error);
        }
      },
    });
  } finally {
    session.release(broken);
  }
}

function queryable(run: (statement: Sql) => Promise<QueryResult>): Queryable {
  return {
    query: async <Row>(statement: Sql) => (await run(statement)).rows as Row[],
    execute: async (statement) => (await run(statement)).rowCount ?? 0,
  };
}

function named(names: StatementNames, statement: Sql): QueryConfig {
  const name = names.nameOf(statement.text);
  const values = [...statement.values];
  return name === undefined ? { text: statement.text, values } : { name, text: statement.text, values };
}

/** One session runs one statement after another, so statements started together wait for each other. */
function transactionOn(loan: Loan, names: StatementNames, scope: TransactionScope): Transaction {
  let last: Promise<unknown> = Promise.resolve();
  return queryable(async (statement) => {
    if (!scope.open) throw new MemorydError('internal', 'A statement came after its transaction had ended.');
    const result = last.then(() => loan.query(named(names, statement)));
    last = result.catch(() => undefined);
    return result;
  });
}

async function commit(loan: Loan): Promise<void> {
  const { command } = await loan.query('commit');
  // A failed statement whose error was swallowed: the server answers ROLLBACK, and no error.
  if (command !== 'COMMIT') {
    throw new MemorydError('internal', 'The transaction was rolled back because one of its statements had failed.');
  }
}

/** Never throws for a lost connection: the error that led here says more, and the server rolls back by itself. */
async function rollback(loan: Loan): Promise<void> {
  try {
    await loan.query('rollback');
  } catch (error) {
    if (!isUnreachable(error)) throw error;
  }
}

function nestedUse(): MemorydError {
  return new MemorydError(
    'internal',
    'The database was used inside its own open transaction; use the transaction that the callback got.',
  );
}

/** Counts work under way, so that closing can wait for it. */
function createInFlight() {
  let count = 0;
  let wake: (() => void) | undefined;
  return {
    async track<T>(work: Promise<T>): Promise<T> {
      count++;
      try {
        return await work;
      } finally {
        if (--count === 0) wake?.();
      }
    },
    ended: () => (count === 0 ? Promise.resolve() : new Promise<void>((resolve) => (wake = resolve))),
  };
}

/** Names for prepared statements; a connection keeps what has a name parsed. */
interface StatementNames {
  /** Undefined: not worth a name (seen too seldom, or too many have one). */
  nameOf(text: string): string | undefined;
}

const maxNamed = 256;
const maxCounted = 1_024;
const usesBeforeName = 2;
/** Longer texts are put together from a request. A search keeps more than 1 MB in every connection that named it. */
const maxTextLength = 3_000;

/**
 * Names the statements that come again. Bounded, because a search with filters makes ever new
 * texts, and each named one costs memory in every connection until it closes.
 */
export function createStatementNames(): StatementNames {
  const named = new Map<string, string>();
  const uses = new Map<string, number>();
  return {
    nameOf(text) {
      if (text.length > maxTextLength) return undefined;
      const name = named.get(text);
      if (name !== undefined || named.size >= maxNamed) return name;
      const count = (uses.get(text) ?? 0) + 1;
      uses.delete(text);
      if (count > usesBeforeName) {
        named.set(text, `memoryd_${named.size}`);
        return named.get(text);
      }
      uses.set(text, count);
      forgetOldest(uses, maxCounted);
      return undefined;
    },
  };
}

/** One conversation with the database, on loan to one statement or one transaction. */
export interface Session {
  query(statement: string | QueryConfig): Promise<QueryResult>;
  /** Gives it back. With an error: it is broken and must not be used again. */
  release(broken?: Error): void;
}

type SessionUse = 'statement' | 'transaction';

/** Where sessions come from: a pool of connections, or the one session of the embedded engine. */
export interface SessionSource {
  acquire(use: SessionUse): Promise<Session>;
  /** Called once, when every session is given back. */
  close(): Promise<void>;
}
