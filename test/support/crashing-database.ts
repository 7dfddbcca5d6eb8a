import type { Database, Queryable } from '../../src/store/database.ts';

/**
 * A database as a process sees it that is killed: from `crash()` on nothing more of it reaches the
 * database, and an open transaction is rolled back.
 */
export function createCrashingDatabase(database: Database): Database & { crash(): void } {
  let crashed = false;
  const alive = () => {
    if (crashed) throw new Error('the process was killed');
  };
  const wrap = (inner: Queryable): Queryable => ({
    async query(statement) {
      alive();
      return inner.query(statement);
    },
    async execute(statement) {
      alive();
      return inner.execute(statement);
    },
  });
  return {
    ...wrap(database),
    engine: database.engine,
    async transaction(work) {
      alive();
      return database.transaction(async (tx) => {
        const result = await work(wrap(tx));
        alive();
        return result;
      });
    },
    script: (text) => database.script(text),
    close: async () => {},
    crash() {
      crashed = true;
    },
  };
}
