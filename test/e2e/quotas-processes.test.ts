import { expect, it } from 'vitest';
import { newEncryptionKey } from '../../src/base/encryption.ts';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { describeWhen } from '../support/services.ts';
import { stores } from '../support/stores.ts';

const shared = stores.find((store) => store.name === 'PostgreSQL and Redis');

describeWhen(shared, 'DATABASE_URL or REDIS_URL is missing', 'two processes', (store) => {
  const call = async ({ url }: Daemon, key: string, method: string, path: string, body: object) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as { key: string } };
  };
  const range = <Item>(count: number, make: (index: number) => Item) =>
    Array.from({ length: count }, (_, index) => make(index));

  it('hold the quota of a container, and the rate of a key, together', { timeout: 120_000 }, async () => {
    const opened = await store.open();
    const key = 'sm_two_processes_0123456789abcdefghij';
    const env = {
      ...opened.env,
      MEMORYD_EMBEDDER_KIND: 'hashing',
      MEMORYD_API_KEY: key,
      MEMORYD_ENCRYPTION_KEY: newEncryptionKey(),
    };
    const daemons = [
      await startDaemon({ args: ['--role', 'api'], env }),
      await startDaemon({ args: ['--role', 'api'], env }),
    ];
    const [first] = daemons as [Daemon];
    const of = (index: number) => daemons[index % 2]!;

    await call(first, key, 'PATCH', '/v3/container-tags/few', { quota: { documents: 15 } });
    const added = await Promise.all(
      range(40, (index) =>
        call(of(index), key, 'POST', '/v3/documents', { content: `Note ${index}`, containerTag: 'few' }),
      ),
    );
    expect(added.filter(({ status }) => status === 200)).toHaveLength(15);

    const limitedKey = async (rateLimitMax: number) => {
      const limits = { containerTag: 'asked', rateLimitMax, rateLimitTimeWindow: 600_000 };
      return (await call(first, key, 'POST', '/v3/auth/scoped-key', limits)).body.key;
    };
    const ask = async (index: number, by: string) =>
      (await call(of(index), by, 'POST', '/v4/search', { q: 'a', containerTag: 'asked' })).status;
    // A process counts for itself until it has reached Redis.
    for (const index of [0, 1]) {
      await expect
        .poll(async () => {
          const once = await limitedKey(1);
          return [await ask(index, once), await ask(index + 1, once)];
        })
        .toEqual([200, 429]);
    }
    const limited = await limitedKey(20);
    const asked = await Promise.all(range(50, (index) => ask(index, limited)));
    expect(asked.filter((status) => status === 200)).toHaveLength(20);
    expect(asked.filter((status) => status === 429)).toHaveLength(30);

    for (const daemon of daemons) await daemon.stop();
    await opened.close();
  });
});
