import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sumUpUsage } from '../../src/store/quotas.ts';
import { sql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

describe('quotas of keys', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
  });
  afterAll(() => test.close());

  const makeKey = async (body: object, kind = 'scoped-key') => {
    const made = await test.call('POST', `/v3/auth/${kind}`, { name: 'limited', ...body });
    expect(made.status).toBe(200);
    return made.body as { id: string; key: string };
  };
  const add = (key: string, content: string, customId?: string) =>
    test.call('POST', '/v3/documents', { content, containerTag: 'home', customId }, key);
  const change = (id: string, body: object) => test.call('PATCH', `/v3/auth/keys/${id}`, body);
  const shown = async (id: string) => {
    const { body } = await test.call('GET', '/v3/auth/keys');
    return body.keys.find((key: { id: string }) => key.id === id);
  };
  const refused = (what: string) => ({
    status: 403,
    body: { error: `This key may hold ${what}, and this would be more` },
  });

  it('are off, and then nothing is counted', async () => {
    const { id, key } = await makeKey({ containerTag: 'home' });
    await add(key, 'One.');
    expect(await shown(id)).toMatchObject({ quota: { documents: null, bytes: null }, usage: null });
    expect(await test.database.query(sql`select 1 from key_usage`)).toEqual([]);
  });

  it('hold for all that a key adds, and what is deleted makes room', async () => {
    const { id, key } = await makeKey({ containerTags: ['home', 'work'], quota: { documents: 4 } });
    const { body: first } = await add(key, 'One.');
    const memories = [{ content: 'Mira lives in Porto.' }];
    const conversation = { conversationId: 'c', containerTag: 'work', messages: [{ role: 'user', content: 'Two.' }] };
    expect((await test.call('POST', '/v4/memories', { containerTag: 'work', memories }, key)).status).toBe(201);
    expect((await test.call('POST', '/v4/conversations', conversation, key)).status).toBe(200);
    const batch = { containerTag: 'home', documents: [{ content: 'Three.' }, { content: 'Four.' }] };
    expect(await test.call('POST', '/v3/documents/batch', batch, key)).toMatchObject(refused('4 documents'));
    expect((await add(key, 'Three.')).status).toBe(200);
    expect(await add(key, 'Four.')).toMatchObject(refused('4 documents'));
    expect((await test.call('POST', '/v4/memories', { containerTag: 'home', memories }, key)).status).toBe(403);
    expect((await shown(id)).usage.documents).toBe(4);
    await test.call('DELETE', `/v3/documents/${first.id}`);
    expect((await shown(id)).usage.documents).toBe(3);
    expect((await add(key, 'Four.')).status).toBe(200);
  });

  it('hold for bytes, and what somebody else writes anew counts for them', async () => {
    const { id, key } = await makeKey({ containerTag: 'home', quota: { bytes: 100 } });
    const { body: mine } = await add(key, 'x'.repeat(60), 'mine');
    expect(await add(key, 'y'.repeat(60))).toMatchObject(refused('100 bytes'));
    const longer = { content: 'x'.repeat(160) };
    expect(await test.call('PATCH', `/v3/documents/${mine.id}`, longer, key)).toMatchObject(refused('100 bytes'));
    expect((await test.call('PATCH', `/v3/documents/${mine.id}`, longer)).status).toBe(200);
    expect((await shown(id)).usage).toEqual({ documents: 0, bytes: 0 });
    expect(await add(key, 'x'.repeat(161), 'mine')).toMatchObject(refused('100 bytes'));
    expect((await add(key, 'z'.repeat(90), 'mine')).status).toBe(200);
    expect((await shown(id)).usage).toEqual({ documents: 1, bytes: 90 });
  });

  it('are set, changed and taken away later, and count what is there', async () => {
    const { id, key } = await makeKey({}, 'agent-key');
    await add(key, 'One.');
    await add(key, 'Two.');
    expect((await change(id, { quota: { documents: 3 } })).body.usage).toEqual({ documents: 2, bytes: 8 });
    await add(key, 'Three.');
    expect((await add(key, 'Four.')).status).toBe(403);
    const renamed = await change(id, { name: 'renamed', quota: { documents: 4, bytes: 1_000 } });
    expect(renamed.body).toMatchObject({ name: 'renamed', quota: { documents: 4, bytes: 1_000 } });
    expect((await add(key, 'Four.')).status).toBe(200);
    expect((await change(id, { quota: { documents: null, bytes: null } })).body.usage).toBeNull();
    expect((await add(key, 'Five.')).status).toBe(200);
    expect((await change(id, { quota: { documents: 5 } })).body.usage).toEqual({ documents: 5, bytes: 24 });
  });

  it('go over to the key that replaces another, with what it holds', async () => {
    const { id, key } = await makeKey({ containerTag: 'home', quota: { documents: 2 } });
    await add(key, 'One.');
    const { body: next } = await test.call('POST', `/v3/auth/keys/${id}/rotate`, {});
    expect((await add(next.key, 'Two.')).status).toBe(200);
    for (const one of [key, next.key]) expect(await add(one, 'Three.')).toMatchObject(refused('2 documents'));
    await change(next.id, { quota: { documents: 3 } });
    expect((await add(key, 'Three.')).status).toBe(200);
    expect((await shown(next.id)).usage).toEqual({ documents: 3, bytes: 14 });
    await test.call('DELETE', `/v3/auth/scoped-key/${id}`);
    expect(await add(next.key, 'Four.')).toMatchObject(refused('3 documents'));
  });

  it('are not passed by many writers at once, beside those who have none', async () => {
    const { id, key } = await makeKey({ containerTag: 'home', quota: { documents: 70 } });
    const free = await makeKey({ containerTag: 'home' });
    const answers = await Promise.all(
      Array.from({ length: 90 }, async (_, nth) => {
        const [limited, other] = await Promise.all([
          add(key, `Number ${nth}.`.repeat(nth % 2 === 0 ? 1 : 3_000)),
          add(free.key, `Other ${nth}.`),
        ]);
        expect(other.status).toBe(200);
        return limited.status;
      }),
    );
    expect(answers.filter((status) => status === 200)).toHaveLength(70);
    const { usage } = await shown(id);
    expect(usage.documents).toBe(70);
    await sumUpUsage(test.database);
    expect((await shown(id)).usage).toEqual(usage);
  });

  it('are at least 1 and known by name, and only full keys set them', async () => {
    const { id, key } = await makeKey({ containerTag: 'home', quota: { documents: 1 } });
    for (const quota of [{ documents: 0 }, { bytes: 1.5 }, { document: 5 }]) {
      expect((await change(id, { quota })).status).toBe(400);
      expect((await test.call('POST', '/v3/auth/scoped-key', { containerTag: 'home', quota })).status).toBe(400);
    }
    expect((await test.call('PATCH', `/v3/auth/keys/${id}`, { quota: { documents: 9 } }, key)).status).toBe(403);
    expect((await change('none', { quota: { documents: 9 } })).status).toBe(404);
  });
});

describe('the limit of requests of a key', () => {
  it('is changed while the key is in use', async () => {
    const test = await startTestApi();
    try {
      const { body: made } = await test.call('POST', '/v3/auth/scoped-key', { containerTag: 'home', rateLimitMax: 1 });
      const search = () => test.call('POST', '/v4/search', { q: 'a' }, made.key);
      expect((await search()).status).toBe(200);
      expect((await search()).status).toBe(429);
      const path = `/v3/auth/keys/${made.id}`;
      expect((await test.call('PATCH', path, { rateLimitMax: 3 })).body).toMatchObject({
        rateLimitMax: 3,
        rateLimitTimeWindow: 60_000,
      });
      expect((await search()).status).toBe(200);
      expect((await search()).status).toBe(429);
      expect((await test.call('PATCH', path, { rateLimitMax: null })).body.rateLimitMax).toBe(500);
      expect((await search()).status).toBe(200);
      expect((await test.call('PATCH', path, { rateLimitTimeWindow: 1_000 })).status).toBe(400);
    } finally {
      await test.close();
    }
  });
});
