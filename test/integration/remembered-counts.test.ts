import { afterEach, describe, expect, it } from 'vitest';
import { createActivity } from '../../src/account/activity.ts';
import { createCounts } from '../../src/connections/counts.ts';
import { createDocumentCounts } from '../../src/engine/document-service.ts';
import { rawSql, sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

const scope = { containerTags: null };
const run = { id: 'one', status: 'completed' };

describe.each(engines)('what a large store is asked for again and again, on %s', (engine) => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  /** A connection with three documents, where two are many. */
  async function open() {
    opened = await openTestDatabase(engine);
    const { database } = opened;
    const clock = createTestClock();
    const source = createSyntheticSource();
    for (const name of ['a', 'b', 'c']) source.put(name, `text of ${name}`);
    const mirror = await createMirror({ database, clock, connector: source.connector() });
    await mirror.sync();
    const setStatus = (status: string, count: number) =>
      database.execute(sql`update documents set status = ${status}, words_revision = revision
        where id in (select id from documents order by id limit ${count})`);
    await setStatus('done', 3);
    const counts = createCounts({ database, clock, manyRows: 2, keptMs: 5_000 });
    const activity = createActivity({ database, clock, manyDocuments: 2, keptMs: 60_000 });
    const documentCounts = createDocumentCounts({ database, clock, manyRows: 2, keptMs: 5_000 });
    return { database, clock, mirror, setStatus, counts, activity, documentCounts };
  }

  it('counts what is done once in a while, and what waits each time', async () => {
    const { clock, mirror, setStatus, counts } = await open();
    const documents = async () => (await counts.documentsOf([mirror.id, 'another'])).get(mirror.id);
    expect(await documents()).toMatchObject({ waiting: 0, foundByWords: 0, done: 3, failed: 0 });
    await setStatus('embedding', 1);
    expect(await documents()).toMatchObject({ waiting: 1, foundByWords: 1, done: 3 });
    await setStatus('failed', 1);
    expect(await documents()).toMatchObject({ waiting: 0, foundByWords: 0, failed: 0 });
    clock.advance(5_001);
    expect(await documents()).toMatchObject({ waiting: 0, done: 2, failed: 1 });
  });

  it('counts documents of a selection and by state once in a while, and those that wait each time', async () => {
    const { clock, setStatus, documentCounts } = await open();
    const all = async () => documentCounts.count(sql`d.container_tag <> ${'another'}`);
    const byStatus = async () => documentCounts.countByStatus(scope);
    expect(await all()).toEqual({ total: 3, waiting: 0, failed: 0, failedUploads: 0 });
    expect(await byStatus()).toMatchObject({ queued: 0, embedding: 0, done: 3, failed: 0 });
    await setStatus('embedding', 2);
    expect(await all()).toEqual({ total: 3, waiting: 2, failed: 0, failedUploads: 0 });
    expect(await byStatus()).toMatchObject({ queued: 0, embedding: 2, done: 3 });
    await setStatus('failed', 2);
    expect(await all()).toEqual({ total: 3, waiting: 0, failed: 0, failedUploads: 0 });
    expect(await byStatus()).toMatchObject({ embedding: 0, failed: 0 });
    expect(await documentCounts.count(sql`d.status = ${'failed'}`)).toMatchObject({ total: 2, waiting: 0, failed: 2 });
    clock.advance(5_001);
    expect(await all()).toEqual({ total: 3, waiting: 0, failed: 2, failedUploads: 0 });
    expect(await byStatus()).toMatchObject({ done: 1, failed: 2 });
  });

  it('counts items anew when a run begins or ends, or after a while', async () => {
    const { database, clock, mirror, counts } = await open();
    const done = async (status: string) => (await counts.itemsOf(mirror.id, { ...run, status })).done;
    expect(await done('completed')).toBe(3);
    await database.execute(rawSql(`update sync_items set state = 'failed' where ext_id = 'a'`));
    expect(await done('completed')).toBe(3);
    expect(await done('running')).toBe(2);
    // What is gone was read as well.
    await database.execute(rawSql(`update sync_items set state = 'gone' where ext_id = 'b'`));
    expect(await done('running')).toBe(2);
    clock.advance(5_001);
    expect(await done('completed')).toBe(1);
    await database.execute(rawSql(`update sync_items set state = 'gone'`));
    expect(await done('completed')).toBe(1);
  });

  it('reads what the days brought once a minute', async () => {
    const { database, clock, activity } = await open();
    const grown = async () => {
      const { growth } = await activity.describe(scope, { hours: 24, days: 30 });
      return growth.reduce((sum, { documents }) => sum + documents, 0);
    };
    expect(await grown()).toBe(3);
    await database.execute(
      rawSql(`update documents set deleted_at = now() where id = (select min(id) from documents)`),
    );
    expect(await grown()).toBe(3);
    clock.advance(60_001);
    expect(await grown()).toBe(2);
  });
});
