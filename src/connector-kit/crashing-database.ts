import type { Database, Queryable } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';

/** A database as one process sees it, which can be killed. */
export interface CrashingDatabase extends Database {
  /** From here on nothing more of the process reaches the database; an open transaction is rolled back. */
  crash(): void;
  readonly crashed: boolean;
}

export interface DatabaseWatcher {
  /** Called with 1 before each statement and -1 after it. */
  statement(change: 1 | -1): void;
  /** Called before anything that was written is there for good. */
  commit(): void;
}

export const crashMessage = 'the process was killed';

export function createCrashingDatabase(database: Database, watcher?: DatabaseWatcher): CrashingDatabase {
  let crashed = false;
  const alive = () => {
    if (crashed) throw new Error(crashMessage);
  };
  async function counted<Result>(run: () => Promise<Result>): Promise<Result> {
    alive();
    watcher?.statement(1);
    try {
      return await run();
    } finally {
      watcher?.statement(-1);
    }
  }
  function commit(): void {
    watcher?.commit();
    alive();
  }
  /** `onWrite` is called before each statement that may write. */
  const wrap = (inner: Queryable, onWrite: () => void): Queryable => ({
    query: (statement) =>
      counted(async () => {
        if (!isReading(statement)) onWrite();
        return inner.query(statement);
      }),
    execute: (statement) =>
      counted(async () => {
        onWrite();
        return inner.execute(statement);
      }),
  });
  return {
    ...wrap(database, commit),
    engine: database.engine,
    transaction: (work) =>
      counted(() =>
        database.transaction(async (tx) => {
          let writes = false;
          const result = await work(wrap(tx, () => void (writes = true)));
          if (writes) commit();
          alive();
          return result;
        }),
      ),
    executeWith: (settings, statement) => database.executeWith(settings, statement),
    script: (text) => database.script(text),
    close: async () => {},
    crash: () => void (crashed = true),
    get crashed() {
      return crashed;
    },
  };
}

function isReading({ text }: Sql): boolean {
  return /^\s*select\b/i.test(text);
}
