import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { openPglite } from '../../src/store/pglite/open-pglite.ts';
import { rawSql, sql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { putEmptyDatabase } from '../support/daemon.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describe('erasing', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
  });
  afterAll(() => test.close());

  const tag = 'user_mira';
  async function add(content: string, customId?: string): Promise<string> {
    const { body } = await test.call('POST', '/v3/documents', { content, customId, containerTag: tag });
    await test.process();
    await test.dream();
    return body.id as string;
  }
  const erase = (body: object, key?: string) => test.call('POST', '/v3/erasures', body, key);
  const state = async (id: string) => (await test.call('GET', `/v3/erasures/${id}`)).body;

  /** Tables with a row that holds a word. */
  async function tablesWith(word: string): Promise<string[]> {
    const tables = await test.database.query<{ name: string }>(sql`
      select relname as name from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace`);
    const found: string[] = [];
    for (const { name } of [...tables, { name: 'pg_stats' }]) {
      const rows = await test.database.query(sql`select 1 from ${rawSql(name)} x where x::text ~ ${word} limit 1`);
      if (rows.length > 0) found.push(name);
    }
    return found;
  }

  it('leaves no row of a document, what was learned from it, and answers that showed it', async () => {
    const id = await add('My name is Quexbozz. I live in Porto.', 'quexbozz-note');
    await add('Mister Hartwell keeps bees.');
    await test.api.inject({
      method: 'POST',
      url: '/v4/search',
      headers: { authorization: 'Bearer sm_test_full-access-key-0123456789', 'idempotency-key': 'a' },
      payload: { q: 'Quexbozz', containerTag: tag, searchMode: 'hybrid' },
    });
    expect(await tablesWith('[Qq]uexbozz')).toEqual(
      expect.arrayContaining(['chunks', 'document_contents', 'documents', 'kept_answers', 'memories']),
    );
    const { status, body } = await erase({ documents: ['quexbozz-note'] });
    expect({ status, body }).toMatchObject({ status: 202, body: { documents: 1, finishedAt: null } });
    expect(body.memories).toBeGreaterThan(0);
    expect((await test.call('GET', `/v3/documents/${id}`)).status).toBe(404);
    await test.runErasures();
    expect(await state(body.id)).toMatchObject({ status: 'completed', problem: null });
    expect(await tablesWith('[Qq]uexbozz')).toEqual([]);
    expect(await tablesWith('Hartwell')).toContain('chunks');
  });

  it('says what is left to the operator', async () => {
    const { body } = await erase({ deleted: true, rewrite: false });
    expect(body).toMatchObject({ status: 'completed' });
    expect(body.left[0]).toContain('every table');
    expect(body.left.join(' ')).toContain('Backups');
  });

  it('erases forgotten memories with all their versions, and of others said with them only their own words', async () => {
    const write = {
      containerTag: tag,
      memories: [{ content: 'Mira fears plomwich.' }, { content: 'Mira likes tea.' }],
    };
    await test.call('POST', '/v4/memories', write);
    const changed = await test.call('PATCH', '/v4/memories', {
      containerTag: tag,
      content: 'Mira fears plomwich.',
      newContent: 'Mira fears dragons.',
    });
    expect(changed.status).toBe(200);
    await test.call('DELETE', '/v4/memories', { containerTag: tag, content: 'Mira fears dragons.' });
    const { body } = await erase({ deleted: true });
    expect(body.memories).toBe(2);
    await test.runErasures();
    expect(await tablesWith('plomwich|dragons')).toEqual([]);
    expect(await tablesWith('likes tea')).toEqual(expect.arrayContaining(['memories', 'document_contents']));
  });

  it('erases a container with what a mirror has hidden in it', async () => {
    await add('A line about vyndrake.');
    await test.database.execute(sql`update documents set deleted_at = ${test.clock.now()} where custom_id is null`);
    const { body } = await erase({ containerTag: tag });
    await test.runErasures();
    expect(await state(body.id)).toMatchObject({ status: 'completed' });
    expect((await tablesWith('vyndrake|Hartwell')).filter((name) => name !== 'pg_stats')).toEqual([]);
    expect(await state(body.id)).toMatchObject({ left: expect.arrayContaining([expect.stringContaining('Backups')]) });
  });

  it('goes on with what a stop has interrupted', async () => {
    const id = await add('A line about wexford.');
    const now = test.clock.now();
    await test.database.execute(sql`
      insert into erasures (id, target, rewrite, status, created_at, updated_at)
      values ('stopped', ${JSON.stringify({ documentIds: [id] })}::jsonb, true, 'removing', ${now}, ${now})`);
    await test.runErasures();
    expect(await state('stopped')).toMatchObject({ status: 'removing' });
    test.clock.advance(60_001);
    await test.runErasures();
    expect(await state('stopped')).toMatchObject({ status: 'completed', documents: 1 });
    expect(await tablesWith('wexford')).toEqual([]);
  });

  it('needs a full key that may write, and something that is there', async () => {
    for (const input of [{ permission: 'read' as const }, { containerTags: [tag] }]) {
      expect((await erase({ deleted: true }, await test.newKey(input))).status).toBe(403);
    }
    expect((await erase({ documents: ['nothing'] })).body).toMatchObject({ error: 'Document not found' });
    expect((await erase({ containerTag: 'nobody' })).status).toBe(404);
    expect((await erase({})).status).toBe(400);
    expect((await erase({ deleted: true, containerTag: tag })).status).toBe(400);
  });
});

it('removes files that no table has when the embedded database opens', async () => {
  const dataDir = await temporaryFolder('memoryd-stray-');
  await putEmptyDatabase(dataDir);
  const open = () => openPglite({ dataDir, log: silentLogger });
  const first = await open();
  await first.execute(sql`insert into settings (key, value, updated_at) values ('a', '1', now())`);
  const [folder] = await first.query<{ oid: number }>(
    sql`select oid from pg_database where datname = current_database()`,
  );
  await first.close();
  const strays = ['999999', '999999.1', '999999_fsm'].map((name) =>
    join(dataDir, 'database', 'base', String(folder!.oid), name),
  );
  for (const stray of strays) await writeFile(stray, 'an unfinished copy');
  const second = await open();
  expect(strays.filter((stray) => existsSync(stray))).toEqual([]);
  expect(await second.query(sql`select value from settings where key = 'a'`)).toEqual([{ value: 1 }]);
  await second.close();
});
