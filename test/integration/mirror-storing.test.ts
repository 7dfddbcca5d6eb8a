import { afterEach, expect, it } from 'vitest';
import type { Database, Queryable } from '../../src/store/database.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { describeWithService } from '../support/services.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

/** Sees each statement that stores documents, before it runs. */
function watchStoring(database: Database, before: () => Promise<void>): Database {
  const wrap = (inner: Queryable): Queryable => ({
    async query(statement) {
      if (statement.text.includes('insert into documents')) await before();
      return inner.query(statement);
    },
    execute: (statement) => inner.execute(statement),
  });
  return { ...database, transaction: (work) => database.transaction((tx) => work(wrap(tx))) };
}

// The embedded engine has one session, which a transaction has for itself.
describeWithService('DATABASE_URL', 'storing what was fetched, on a server', () => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  async function open() {
    opened = await openTestDatabase('postgres');
    const { database } = opened;
    const source = createSyntheticSource({ pageSize: 20 });
    for (let number = 10; number < 22; number++) source.put(`item-${number}`, `text ${number}`);
    const mirror = await createMirror({ database, clock: createTestClock(), connector: source.connector() });
    await mirror.request();
    const fetched = () => source.requests.filter((request) => request.startsWith('fetch')).length;
    return { source, mirror, database, fetched };
  }

  it('goes on while the next batch is fetched', async () => {
    const { source, mirror, database, fetched } = await open();
    const second = Promise.withResolvers<void>();
    source.intercept(() => {
      if (fetched() > 4) second.resolve();
    });
    const run = await mirror.run(
      undefined,
      watchStoring(database, () => second.promise),
    );
    expect(run).toMatchObject({ status: 'completed', itemsAdded: 12 });
    expect(await mirror.texts()).toEqual(source.texts());
  });

  it('fails the run when it fails, keeps what was fetched meanwhile, and is made good by the next run', async () => {
    const { source, mirror, database, fetched } = await open();
    const second = Promise.withResolvers<void>();
    source.intercept(() => {
      if (fetched() > 4) second.resolve();
    });
    let failures = 0;
    const failing = watchStoring(database, async () => {
      await second.promise;
      if (++failures === 1) throw new Error('no');
    });
    expect(await mirror.run(undefined, failing)).toMatchObject({ status: 'failed' });
    expect((await mirror.texts()).size).toBe(4);
    expect((await mirror.items()).filter((item) => item['lease_token'] !== null)).toEqual([]);
    expect(await mirror.sync()).toMatchObject({ status: 'completed' });
    expect(await mirror.texts()).toEqual(source.texts());
    expect(fetched()).toBe(16);
  });
});
