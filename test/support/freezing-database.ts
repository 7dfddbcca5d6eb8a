import type { Database, Queryable } from '../../src/store/database.ts';

/** A database as a process sees it that is stopped in the middle of its work and goes on later. */
export interface FreezingDatabase extends Database {
  /** Steps that the process has begun: statements, and transactions as a whole. */
  readonly steps: number;
  readonly isFrozen: boolean;
  thaw(): void;
}

/** From its step `freezeAt` on, every step waits until `thaw`. */
export function createFreezingDatabase(database: Database, freezeAt: number): FreezingDatabase {
  const thawed = Promise.withResolvers<void>();
  let steps = 0;

  async function step<Result>(run: () => Promise<Result>): Promise<Result> {
    steps += 1;
    if (steps >= freezeAt) await thawed.promise;
    return run();
  }

  const wrap = (inner: Queryable): Queryable => ({
    query: (statement) => step(() => inner.query(statement)),
    execute: (statement) => step(() => inner.execute(statement)),
  });

  return {
    ...wrap(database),
    engine: database.engine,
    // Inside, nothing is stopped: the database ends such a transaction, or another process waits for it.
    transaction: (work) => step(() => database.transaction(work)),
    executeWith: (settings, statement) => database.executeWith(settings, statement),
    script: (text) => database.script(text),
    close: async () => {},
    get steps() {
      return steps;
    },
    get isFrozen() {
      return steps >= freezeAt;
    },
    thaw: thawed.resolve,
  };
}
