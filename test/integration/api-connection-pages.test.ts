import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { runDueSync } from '../support/api-sync.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

interface Listed {
  id: string;
  standing?: { waiting: number; failed: number; heldDeletes: number };
}

describe('connections, page by page', () => {
  const source = createSyntheticSource();
  const connector = source.connector();
  let test: TestApi;
  /** Newest first. */
  const ids: string[] = [];
  beforeAll(async () => {
    for (const name of ['a', 'b', 'c']) source.put(name, `text of ${name}`);
    test = await startTestApi({ connectors: { synthetic: connector } });
    for (const containerTag of ['one', 'two', 'three', 'four', 'five']) {
      test.clock.advance(1_000);
      const { body } = await test.call('POST', '/v3/connections/synthetic', { containerTag });
      ids.unshift(body.id);
    }
    for (const id of ids) await runDueSync(test, connector, id);
    await test.process();
  });
  afterAll(() => test.close());

  const list = async (body: object) => (await test.call('POST', '/v3/connections/list', body)).body as Listed[];
  const idsOf = (listed: readonly Listed[]) => listed.map(({ id }) => id);

  it('hold each of them once, the newest first', async () => {
    const first = await list({ limit: 2 });
    const second = await list({ limit: 2, cursor: ids[1] });
    const last = await list({ limit: 2, cursor: ids[3] });
    expect([first, second, last].map(idsOf)).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
    expect(await list({ limit: 2, cursor: ids[4] })).toEqual([]);
    expect(first[0]!.standing).toEqual({ waiting: 0, failed: 0, heldDeletes: 0 });
    // All of them at once are counted no more than before.
    expect((await list({}))[0]!.standing).toBeUndefined();
  });

  it('go on where a connection was, also when it is gone', async () => {
    const gone = ids.splice(1, 1)[0]!;
    expect(await test.call('DELETE', `/v3/connections/${gone}`)).toMatchObject({ status: 200 });
    expect(idsOf(await list({ limit: 10, cursor: gone }))).toEqual(ids.slice(1));
  });

  it('have those first that need a hand, then those that run', async () => {
    const [running, failed, held, refused] = ids as [string, string, string, string];
    const { database } = test;
    const sweep = JSON.stringify({ count: 7, of: 9, digest: 'x', heldAt: '2026-03-01T00:00:00Z' });
    await database.execute(sql`update partitions set held_sweep = ${sweep}::jsonb where connection_id = ${held}`);
    await database.execute(sql`update connections set status = 'needs_reauth' where id = ${refused}`);
    const some = sql`select id from documents where connection_id = ${failed} order by id`;
    await database.execute(sql`update documents set status = 'failed' where id in (${some} limit 1)`);
    await database.execute(sql`
      update sync_items set state = 'failed' where document_id in (${some} offset 1 limit 1)`);
    await database.execute(sql`
      update documents set status = 'queued' where id in (select id from documents where connection_id = ${running} limit 1)`);
    const listed = await list({ limit: 10, order: 'attention' });
    expect(listed.map(({ id, standing }) => [id, standing])).toEqual([
      [refused, { waiting: 0, failed: 0, heldDeletes: 0 }],
      [failed, { waiting: 0, failed: 2, heldDeletes: 0 }],
      [held, { waiting: 0, failed: 0, heldDeletes: 7 }],
      [running, { waiting: 1, failed: 0, heldDeletes: 0 }],
    ]);
    expect(idsOf(await list({ limit: 2, order: 'attention' }))).toEqual([refused, failed]);
    const counted = (await test.call('POST', '/v3/documents/count', {})).body;
    expect(counted).toMatchObject({ failed: 1, failedUploads: 0 });
  });

  it.each([
    [{ cursor: 'x' }, 'limit'],
    [{ order: 'attention' }, 'limit'],
    [{ limit: 2, cursor: 'x', order: 'attention' }, 'cursor'],
    [{ limit: 0 }, 'limit'],
    [{ limit: 501 }, 'limit'],
  ])('refuse %j', async (body, field) => {
    const { status, body: answer } = await test.call('POST', '/v3/connections/list', body);
    expect([status, answer.error[0].path]).toEqual([400, [field]]);
  });
});
