import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { runDueSync } from '../support/api-sync.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

const dayMs = 24 * 60 * 60_000;

describe('recent changes', () => {
  const source = createSyntheticSource();
  const connector = source.connector();
  let test: TestApi;
  let connection: string;
  beforeAll(async () => {
    test = await startTestApi({ connectors: { synthetic: connector } });
    connection = (await test.call('POST', '/v3/connections/synthetic', { containerTag: 'mirrored' })).body.id;
    source.put('a', 'text of a');
    source.put('b', 'text of b');
    await runDueSync(test, connector, connection);
  });
  afterAll(() => test.close());

  const activity = async (query = '', key?: string) =>
    (await test.call('GET', `/v3/activity${query}`, undefined, key)).body;

  it('is said by source and by day, and of uploads', async () => {
    const firstDay = test.clock.now();
    await test.call('POST', '/v3/documents', { content: 'Said by hand, é.', containerTag: 'mine' });
    const first = {
      ...{ connectionId: connection, provider: 'synthetic', containerTag: 'mirrored', runs: 1 },
      ...{ added: 2, updated: 0, deleted: 0, failed: 0, lastAt: firstDay.toISOString() },
    };
    const grown = { day: '2026-03-01', documents: 3, bytes: 9 + 9 + 17 };
    expect(await activity()).toEqual({
      since: new Date(firstDay.getTime() - dayMs).toISOString(),
      ...{ sources: [first], uploads: 1, growth: [grown] },
    });
    test.clock.advance(dayMs + 1);
    source.put('a', 'another text of a');
    source.put('c', 'x');
    await test.call('POST', `/v3/connections/${connection}/sync`, { full: true });
    await runDueSync(test, connector, connection);
    const second = { ...first, added: 1, updated: 1, lastAt: test.clock.now().toISOString() };
    const today = { day: '2026-03-02', documents: 1, bytes: 1 };
    const moreBytes = { ...grown, bytes: grown.bytes + 8 };
    expect(await activity()).toMatchObject({ sources: [second], uploads: 0, growth: [moreBytes, today] });
    expect(await activity('?hours=48&days=1')).toMatchObject({
      ...{ sources: [{ runs: 2, added: 3, updated: 1 }], uploads: 1, growth: [today] },
    });
  });

  it('is that of the containers that a key may read', async () => {
    const mine = await test.newKey({ containerTags: ['mine'], permission: 'read' });
    expect(await activity('?hours=48', mine)).toMatchObject({ sources: [], uploads: 1, growth: [{ documents: 1 }] });
    expect(await activity('?hours=48&containerTags=mirrored')).toMatchObject({ sources: [{ runs: 2 }], uploads: 0 });
    const refused = await test.call('GET', '/v3/activity?containerTags=mirrored', undefined, mine);
    expect(refused.status).toBe(403);
  });
});
