import type { Database, Queryable } from '../../src/store/database.ts';
import { createCrashingDatabase } from './crashing-database.ts';

/** A database whose process is killed after its statement number `count`. */
export function crashingAt(database: Database, count: number): Database {
  let left = count;
  const counted = (inner: Queryable): Queryable => {
    const pass = () => {
      left -= 1;
      if (left === 0) crashing.crash();
    };
    return {
      query: (statement) => inner.query<any>(statement).finally(pass),
      execute: (statement) => inner.execute(statement).finally(pass),
    };
  };
  const crashing = createCrashingDatabase({
    ...counted(database),
    engine: database.engine,
    transaction: (work) => database.transaction((tx) => work(counted(tx))),
    executeWith: (settings, statement) => database.executeWith(settings, statement),
    script: (text) => database.script(text),
    close: async () => {},
  });
  return crashing;
}
