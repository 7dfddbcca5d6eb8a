import type { Database, Queryable } from '../store/database.ts';

/** A database as one process sees it, which can be killed. */
export interface CrashingDatabase extends Database {
  /** From here on nothing more of the process reaches the database; an open transaction is rolled back. */
  crash(): void;
  readonly crashed: boolean;
}

export const crashMessage = 'the process was killed';

/** `onStatement` is called with 1 before each statement and -1 after it. */
export function createCrashingDatabase(
  database: Database,
  onStatement: (change: 1 | -1) => void = () => {},
): CrashingDatabase {
  let crashed = false;
  const alive = () => {
    if (crashed) throw new Error(crashMessage);
  };
  async function counted<Result>(run: () => Promise<Result>): Promise<Result> {
    alive();
    onStatement(1);
    try {
      return await run();
    } finally {
      onStatement(-1);
    }
  }
  const wrap = (inner: Queryable): Queryable => ({
    query: (statement) => counted(() => inner.query(statement)),
    execute: (statement) => counted(() => inner.execute(statement)),
  });
  return {
    ...wrap(database),
    engine: database.engine,
    transaction: (work) =>
      counted(() =>
        database.transaction(async (tx) => {
          const result = await work(wrap(tx));
          alive();
          return result;
        }),
      ),
    script: (text) => database.script(text),
    close: async () => {},
    crash: () => void (crashed = true),
    get crashed() {
      return crashed;
    },
  };
}
