import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemorydError } from '../../src/base/errors.ts';
import { sql } from '../../src/store/sql.ts';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';

let test: TestApi;
/** Held by a test to keep a request in the middle of being answered. */
let gate: Promise<void> | null = null;
let failure: Error | null = null;
let adds = 0;

beforeAll(async () => {
  test = await startTestApi({
    services: ({ documents }) => ({
      documents: {
        ...documents,
        async add(inputs) {
          adds += 1;
          await gate;
          if (failure) throw failure;
          return documents.add(inputs);
        },
      },
    }),
  });
});
afterAll(() => test.close());

async function send(body: object, headers: Record<string, string> = {}, url = '/v3/documents', key = fullKey) {
  const response = await test.api.inject({
    method: 'POST',
    url,
    headers: { authorization: `Bearer ${key}`, ...headers },
    payload: body,
  });
  return { status: response.statusCode, body: response.json(), replayed: response.headers['idempotent-replayed'] };
}
const retry = (count = 1) => ({ 'x-stainless-retry-count': String(count) });

describe('a retry of the official client', () => {
  it('gets the first answer when that was an acceptance', async () => {
    const body = { content: 'sent twice' };
    const first = await send(body, retry(0));
    const second = await send(body, retry(1));
    expect(second).toEqual({ ...first, replayed: 'true' });
    expect(first.replayed).toBeUndefined();
  });

  it('holds for all that makes something new', async () => {
    for (const [url, body] of [
      ['/v4/memories', { containerTag: 'r', memories: [{ content: 'Written once' }] }],
      ['/v3/auth/scoped-key', { containerTag: 'r' }],
      ['/v3/auth/agent-key', { name: 'one' }],
    ] as const) {
      const first = await send(body, retry(0), url);
      expect(await send(body, retry(1), url)).toEqual({ ...first, replayed: 'true' });
    }
    expect((await test.services.keys.list()).filter(({ name }) => name === 'one')).toHaveLength(1);
  });

  it('waits for the first when that is still being answered', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const before = adds;
    const body = { content: 'slow' };
    const first = send(body);
    await expect.poll(() => adds).toBe(before + 1);
    const second = send(body, retry());
    resolve();
    gate = null;
    expect((await second).body).toEqual((await first).body);
    expect(adds).toBe(before + 1);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['is no retry but a second request', () => send({ content: 'plain' })],
    ['has another body', () => send({ content: 'plain ' }, retry())],
    ['comes after ten minutes', async () => (test.clock.advance(10 * 60_000), send({ content: 'plain' }, retry()))],
    ['goes to another route', () => send({ documents: ['plain'] }, retry(), '/v3/documents/batch')],
  ])('is done anew when it %s', async (_, again) => {
    await send({ content: 'plain' });
    const before = adds;
    await again();
    expect(adds).toBe(before + 1);
  });

  it('is done anew when another key sends it', async () => {
    await send({ content: 'plain' });
    const before = adds;
    await send({ content: 'plain' }, retry(), '/v3/documents', await test.newKey());
    expect(adds).toBe(before + 1);
  });

  it('is done anew when the first failed', async () => {
    failure = new MemorydError('database_unreachable', 'No database');
    expect((await send({ content: 'failing' })).status).toBe(503);
    failure = null;
    expect(await send({ content: 'failing' }, retry())).toMatchObject({ status: 200, replayed: undefined });
  });
});

describe('Idempotency-Key', () => {
  const key = (name: string) => ({ 'idempotency-key': name });

  it('gives the first answer again, for a day', async () => {
    const first = await send({ content: 'a' }, key('one'));
    test.clock.advance(24 * 60 * 60_000 - 1);
    expect(await send({ content: 'a' }, key('one'))).toEqual({ ...first, replayed: 'true' });
    test.clock.advance(1);
    expect((await send({ content: 'a' }, key('one'))).replayed).toBeUndefined();
  });

  it('keeps refusals, too', async () => {
    failure = new MemorydError('conflict', 'Busy');
    const first = await send({ content: 'b' }, key('refused'));
    failure = null;
    expect(await send({ content: 'b' }, key('refused'))).toEqual({ ...first, replayed: 'true' });
    expect(first.status).toBe(409);
  });

  it('with another body is a conflict that is not worth a retry', async () => {
    await send({ content: 'c' }, key('two'));
    const response = await test.api.inject({
      method: 'POST',
      url: '/v3/documents',
      headers: { authorization: `Bearer ${fullKey}`, ...key('two') },
      payload: { content: 'd' },
    });
    expect([response.statusCode, response.headers['x-should-retry']]).toEqual([409, 'false']);
  });

  it('gives a new key again without writing it down', async () => {
    const body = { containerTag: 'r', name: 'secret' };
    const first = await send(body, { 'idempotency-key': 'new key' }, '/v3/auth/scoped-key');
    const again = await send(body, { 'idempotency-key': 'new key' }, '/v3/auth/scoped-key');
    expect(again).toEqual({ ...first, replayed: 'true' });
    const rows = await test.database.query<{ body: string | null }>(sql`select body from kept_answers`);
    expect(rows.filter(({ body }) => body?.includes(first.body.key))).toEqual([]);
  });

  it('is at most 255 characters', async () => {
    expect((await send({ content: 'e' }, key('x'.repeat(256)))).status).toBe(400);
    expect((await send({ content: 'e' }, key('x'.repeat(255)))).status).toBe(200);
  });
});
