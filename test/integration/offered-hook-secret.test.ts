import { afterEach, expect, it } from 'vitest';
import notion from '../../connectors/notion/index.ts';
import { deliveryOf } from '../../fixtures/servers/notion/notion-world.ts';
import { sql } from '../../src/store/sql.ts';
import { publicUrl, startTestApi, type TestApi } from '../support/api.ts';

const path = '/v3/connectors/notion/hook';
const address = `${publicUrl}/v3/hooks/notion`;
const token = 'secret_9bMkOzfxAhXT01gJ8YbGyj8';

let test: TestApi;
afterEach(() => test.close());

const open = async (sharedSecrets: Record<string, string> = {}) => {
  test = await startTestApi({ connectors: { notion }, sharedSecrets });
};

async function send(body: object | Buffer, headers: object = {}): Promise<number> {
  const answer = await test.api.inject({
    ...{ method: 'POST', url: '/v3/hooks/notion', headers: { 'content-type': 'application/json', ...headers } },
    payload: Buffer.isBuffer(body) ? body : JSON.stringify(body),
  });
  return answer.statusCode;
}
const offer = (secret: unknown) => send({ verification_token: secret });

function deliver(secret: string): Promise<number> {
  const { body, headers } = deliveryOf({ type: 'page', id: 'x' }, secret);
  return send(body, headers);
}

it('is shown to the operator, and counts when the operator has accepted it', async () => {
  await open();
  expect((await test.call('GET', path)).body).toEqual({ address, state: 'none', offered: null });
  expect(await deliver(token)).toBe(404);
  expect(await offer(token)).toBe(200);
  const at = test.clock.now().toISOString();
  expect((await test.call('GET', path)).body).toEqual({ address, state: 'offered', offered: { secret: token, at } });
  expect(await deliver(token)).toBe(404);
  expect((await test.call('POST', path, { secret: token })).body).toMatchObject({ state: 'set', offered: null });
  expect([await deliver(token), await deliver('secret_of_a_stranger')]).toEqual([202, 401]);
  // Notion may send it again.
  expect([await offer(token), await offer('secret_of_a_stranger')]).toEqual([200, 401]);
  expect((await test.call('DELETE', path)).body).toMatchObject({ state: 'none' });
  expect(await deliver(token)).toBe(404);
});

it('is not taken in place of the one that the operator saw', async () => {
  await open();
  await offer(token);
  await offer('secret_of_a_stranger');
  expect((await test.call('POST', path, { secret: token })).status).toBe(409);
  expect((await test.call('GET', path)).body).toMatchObject({ state: 'offered' });
});

it('stands in no log, and only encrypted in the database', async () => {
  await open();
  await offer(token);
  await test.call('POST', path, { secret: token });
  await deliver(token);
  const stored = await test.database.query(sql`select key, value from settings`);
  expect(JSON.stringify(stored)).toContain('hook_secrets:notion');
  expect(JSON.stringify(stored) + test.logged()).not.toContain(token);
});

it('is not asked for where the configuration has one', async () => {
  await open({ notion: token });
  expect(await offer('secret_of_a_stranger')).toBe(401);
  expect((await test.call('GET', path)).body).toMatchObject({ state: 'set', offered: null });
});

it('must be one word of a sound length, else there is no hook', async () => {
  await open();
  for (const wrong of [{}, 7, null, 'short', 'x'.repeat(300), 'with a space']) expect(await offer(wrong)).toBe(404);
  expect((await test.call('GET', path)).body).toMatchObject({ state: 'none' });
});
