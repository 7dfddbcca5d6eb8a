import { afterAll, afterEach, beforeAll } from 'vitest';
import { openTestDatabase, type Engine, type TestDatabase } from './databases.ts';
import { createImpatientClock, openHttp, startSource, type Handler, type OpenOptions } from './http-source.ts';

/**
 * Sources and `ctx.http` for the tests of a suite, on one database: what a test opened is closed after it.
 * `standard` holds where a test says nothing else.
 */
export function useHttp(engine?: Engine, standard: Partial<OpenOptions> = {}) {
  let opened: TestDatabase;
  const closing: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    opened = await openTestDatabase(engine);
  });
  afterAll(() => opened.close());
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  return {
    database: () => opened.database,
    async serve(handler: Handler) {
      const source = await startSource(handler);
      closing.push(source.close);
      return source;
    },
    async open(options: Partial<OpenOptions> = {}) {
      const clock = (options.clock ?? createImpatientClock()) as ReturnType<typeof createImpatientClock>;
      const http = await openHttp({ database: opened.database, ...standard, ...options, clock });
      closing.push(http.close);
      return { ...http, clock };
    },
  };
}
