import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sumUpUsage } from '../../src/store/quotas.ts';
import { sql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

describe('quotas', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
  });
  afterAll(() => test.close());

  const add = (content: string, containerTag: string, customId?: string) =>
    test.call('POST', '/v3/documents', { content, containerTag, customId });
  const limit = async (tag: string, quota: object) => {
    const { status } = await test.call('PATCH', `/v3/container-tags/${tag}`, { quota });
    expect(status).toBe(200);
  };
  const usage = async (tag: string) => (await test.call('GET', `/v3/container-tags/${tag}`)).body.usage;

  it('are off, and then nothing is counted', async () => {
    await add('One.', 'free');
    expect((await test.call('GET', '/v3/container-tags/free')).body).toMatchObject({
      quota: { documents: null, bytes: null, requestsPerMinute: null },
      usage: null,
    });
    expect(await test.database.query(sql`select 1 from container_usage`)).toEqual([]);
  });

  it('hold for documents: what is there counts, what goes makes room, and what only changes is taken', async () => {
    const { body: first } = await add('One.', 'few', 'one');
    await limit('few', { documents: 2 });
    expect((await add('Two.', 'few')).status).toBe(200);
    expect(await add('Three.', 'few')).toMatchObject({
      status: 403,
      body: { error: 'Container few may hold 2 documents, and this would be more' },
    });
    expect((await add('One, changed.', 'few', 'one')).status).toBe(200);
    const batch = { containerTag: 'few', documents: [{ content: 'Four.' }, { content: 'Five.' }] };
    expect(JSON.stringify((await test.call('POST', '/v3/documents/batch', batch)).body)).toContain('may hold 2');
    expect(await usage('few')).toEqual({ documents: 2, bytes: 17 });
    await test.call('DELETE', `/v3/documents/${first.id}`);
    expect(await usage('few')).toEqual({ documents: 1, bytes: 4 });
    expect((await add('Three.', 'few')).status).toBe(200);
  });

  it('hold for bytes, of texts and their changes, moved documents and memories', async () => {
    await limit('small', { bytes: 100 });
    const { body: moved } = await add('x'.repeat(60), 'elsewhere');
    const { body: kept } = await add('y'.repeat(60), 'small');
    expect((await add('z'.repeat(60), 'small')).status).toBe(403);
    expect((await test.call('PATCH', `/v3/documents/${kept.id}`, { content: 'y'.repeat(200) })).status).toBe(403);
    expect((await test.call('PATCH', `/v3/documents/${moved.id}`, { containerTag: 'small' })).status).toBe(403);
    const memories = [{ content: 'w'.repeat(60) }];
    expect((await test.call('POST', '/v4/memories', { containerTag: 'small', memories })).status).toBe(403);
    expect((await test.call('PATCH', `/v3/documents/${kept.id}`, { content: 'y' })).status).toBe(200);
    expect((await test.call('PATCH', `/v3/documents/${moved.id}`, { containerTag: 'small' })).status).toBe(200);
    expect(await usage('small')).toEqual({ documents: 2, bytes: 61 });
    await limit('small', { bytes: 10 });
    expect((await test.call('PATCH', `/v3/documents/${moved.id}`, { content: 'x'.repeat(50) })).status).toBe(200);
    await limit('small', { bytes: null });
    expect((await add('z'.repeat(600), 'small')).status).toBe(200);
    expect(await usage('small')).toBeNull();
  });

  it('are not passed by many writers at once, and rows that are summed up say the same', async () => {
    await limit('busy', { documents: 70 });
    const answers = await Promise.all(
      Array.from({ length: 90 }, (_, nth) => add(`Number ${nth}.`.repeat(3_000), 'busy')),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(70);
    const before = await usage('busy');
    expect(before.documents).toBe(70);
    await sumUpUsage(test.database);
    expect(await test.database.query(sql`select 1 from container_usage where tag = 'busy'`)).toHaveLength(1);
    expect(await usage('busy')).toEqual(before);
  });

  it('hold for requests of a minute, however the container is named', async () => {
    await limit('asked', { requestsPerMinute: 3 });
    const key = await test.newKey({ containerTags: ['asked'] });
    const search = (by?: string) =>
      test.call('POST', '/v4/search', { q: 'a', ...(by ? {} : { containerTag: 'asked' }) }, by);
    test.clock.advance(2_001);
    expect((await search()).status).toBe(200);
    expect((await search(key)).status).toBe(200);
    expect((await test.call('GET', '/v3/container-tags/asked')).status).toBe(200);
    const refused = await search(key);
    expect(refused).toMatchObject({ status: 429, body: { error: 'Rate limit of container asked exceeded' } });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await test.call('POST', '/v4/search', { q: 'a', containerTag: 'free' })).status).toBe(200);
    test.clock.advance(60_000);
    expect((await search(key)).status).toBe(200);
  });

  it('are at least 1 and known by name', async () => {
    for (const quota of [{ documents: 0 }, { bytes: -1 }, { requestsPerMinute: 1.5 }, { document: 5 }]) {
      expect((await test.call('PATCH', '/v3/container-tags/free', { quota })).status).toBe(400);
    }
  });
});
