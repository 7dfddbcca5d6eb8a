import { setImmediate as turn } from 'node:timers/promises';
import { createCrashingDatabase, type CrashingDatabase } from '../../src/connector-kit/crashing-database.ts';
import type { Database } from '../../src/store/database.ts';

/** One process of the daemon, which can be killed, and frozen as by SIGSTOP. */
export interface ModelProcess {
  database: CrashingDatabase;
  /** Everything of the process waits here while it is frozen. */
  pass(): Promise<void>;
  freeze(): void;
  isFrozen(): boolean;
  thaw(): void;
  /** Resolves when nothing of the process goes on any more by itself: it waits for something, or is frozen. */
  quiet(): Promise<void>;
}

/** Turns of the event loop in which nothing of the process reached the database. */
const quietTurns = 20;

/** `onStatement` is called before each statement and each transaction, which may freeze the process. */
export function createModelProcess(database: Database, onStatement: (process: ModelProcess) => void): ModelProcess {
  let frozen: Promise<void> | undefined;
  let thaw = () => {};
  let inside = 0;
  let begun = 0;

  async function counted<Result>(run: () => Promise<Result>): Promise<Result> {
    onStatement(process);
    await process.pass();
    inside += 1;
    begun += 1;
    try {
      return await run();
    } finally {
      inside -= 1;
    }
  }
  /**
   * It never stands still inside of a transaction: the embedded store has only one at a time, and a server would
   * keep the locks of it, so that others wait.
   */
  const gated: Database = {
    engine: database.engine,
    query: (statement) => counted(() => database.query(statement)),
    execute: (statement) => counted(() => database.execute(statement)),
    transaction: (work) => counted(() => database.transaction(work)),
    executeWith: (settings, statement) => counted(() => database.executeWith(settings, statement)),
    script: (text) => counted(() => database.script(text)),
    close: () => database.close(),
  };
  const process: ModelProcess = {
    database: createCrashingDatabase(gated),
    pass: async () => {
      while (frozen) await frozen;
    },
    freeze() {
      frozen ??= new Promise((resolve) => (thaw = resolve));
    },
    isFrozen: () => frozen !== undefined,
    thaw() {
      frozen = undefined;
      thaw();
    },
    async quiet() {
      for (let still = 0, last = begun; still < quietTurns; still++) {
        await turn();
        if (inside === 0 && last === begun) continue;
        still = 0;
        last = begun;
      }
    },
  };
  return process;
}
