import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineConnector, type Connector } from '../../src/connector/contract.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { runDueSync } from '../support/api-sync.ts';
import {
  client,
  createShelf,
  startAuthorizationServer,
  type AuthorizationServer,
} from '../support/authorization-server.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

const time = expect.any(String);

describe('connectors of namespaces', () => {
  const source = createSyntheticSource();
  const synthetic: Connector<any, any> = source.connector();
  /** With a secret, and with something to choose. */
  const bucket = defineConnector<any>({
    ...synthetic,
    spec: {
      ...synthetic.spec,
      name: 'bucket',
      config: {
        type: 'object',
        required: ['region'],
        properties: { region: { type: 'string' }, secretAccessKey: { type: 'string', 'x-secret': true } },
      },
    },
    resources: async () => ({ resources: [{ id: 'docs', name: 'Docs', kind: 'folder' }] }),
  });
  let server: AuthorizationServer;
  let test: TestApi;
  beforeAll(async () => {
    server = await startAuthorizationServer();
    test = await startTestApi({
      connectors: { synthetic, bucket, shelf: createShelf(server) },
      clients: { oauthClients: { shelf: client } },
    });
  });
  afterAll(async () => {
    await test.close();
    await server.close();
  });

  const create = (body: object, namespace = 'ada', key?: string) =>
    test.call('POST', `/ns/${namespace}/connectors`, body, key);
  const get = (id: string, query = '', namespace = 'ada', key?: string) =>
    test.call('GET', `/ns/${namespace}/connectors/${id}${query}`, undefined, key);
  const listed = async (path: string, key?: string) =>
    (await test.call('GET', path, undefined, key)).body.connectors.map(({ id }: { id: string }) => id);

  it('are made, shown without secrets, and known to both dialects', async () => {
    const { status, body } = await create({
      provider: 'bucket',
      config: { region: 'eu', secretAccessKey: 'hidden' },
      documentLimit: 50,
    });
    expect([status, body]).toEqual([201, { id: time, authorization: null }]);
    const connector = {
      ...{ id: body.id, provider: 'bucket', namespace: 'ada', account: null },
      ...{ capabilities: { selectable: true, webhooks: false }, config: { region: 'eu' }, selection: null },
      ...{ documentLimit: 50, documentCount: 0 },
      latestRun: { errorCode: null, error: null, system: { status: 'running', startedAt: time, completedAt: null } },
      system: { status: 'active', createdAt: time, lastSuccessfulSyncAt: null },
    };
    expect((await get(body.id)).body).toEqual(connector);
    expect((await test.call('GET', `/v3/connections/${body.id}`)).body).toMatchObject({
      containerTag: 'ada',
      provider: 'bucket',
    });
    const older = (await test.call('POST', '/v3/connections/synthetic', { containerTag: 'ada' })).body.id;
    expect((await get(older)).body).toMatchObject({ provider: 'synthetic', config: null, documentLimit: null });
    expect(await listed('/ns/ada/connectors')).toEqual([older, body.id]);
    expect(await listed('/ns/ada/connectors?provider=bucket')).toEqual([body.id]);
    const page = (await test.call('GET', '/connectors?limit=1&page=2')).body;
    expect(page.pagination).toEqual({ currentPage: 2, limit: 1, totalItems: 2, totalPages: 2 });
    expect(page.connectors).toEqual([connector]);
    expect(await listed('/connectors', await test.newKey({ containerTags: ['other'] }))).toEqual([]);
    expect(await listed('/ns/other/connectors')).toEqual([]);
    expect((await get(older, '', 'other')).status).toBe(404);
    expect(JSON.stringify([page, (await get(body.id)).body])).not.toContain('hidden');
  });

  it.each([
    [{}],
    [{ provider: 'nobody' }],
    [{ provider: 's3', config: { bucket: 'b' } }],
    [{ provider: 'bucket', config: {} }],
    [{ provider: 'bucket', config: { region: 'eu', colour: 'red' } }],
    [{ provider: 'bucket', config: { region: 'eu' }, documentLimit: 0 }],
    [{ provider: 'shelf', redirectUrl: 'nowhere' }],
    [{ provider: 'synthetic', containerTag: 'ada' }],
  ])('are refused as %j', async (body) => {
    const { status } = await create(body);
    expect(status).toBe(400);
  });

  it('sync when they are asked to, once at a time', async () => {
    source.put('a', 'Text of a source.');
    const { id } = (await create({ provider: 'synthetic' }, 'syncing')).body;
    await runDueSync(test, synthetic, id);
    await test.process();
    const sync = (body?: object) => test.call('POST', `/ns/syncing/connectors/${id}/sync`, body);
    expect(await sync()).toMatchObject({ status: 202, body: { id, status: 'queued' } });
    expect((await sync({})).status).toBe(409);
    await runDueSync(test, synthetic, id);
    const { body } = await get(id, '?include=syncs&include=picker', 'syncing');
    const run = { errorCode: null, error: null, system: { status: 'completed', startedAt: time, completedAt: time } };
    expect(body).toMatchObject({
      documentCount: 1,
      latestRun: run,
      picker: null,
      system: { lastSuccessfulSyncAt: time },
    });
    expect(body.syncs).toHaveLength(2);
    expect(body.syncs[0]).toEqual({
      ...run,
      id: time,
      trigger: 'manual',
      itemsProcessed: expect.any(Number),
      itemsFailed: 0,
      failures: [],
    });
    expect((await get(id, '?include=syncs,picker', 'syncing')).body).toEqual(body);
    const scoped = await test.newKey({ containerTags: ['syncing'] });
    expect((await get(id, '?include=picker', 'syncing', scoped)).status).toBe(403);
    expect((await test.call('POST', '/ns/syncing/connectors/none/sync')).status).toBe(404);
    expect((await test.call('POST', `/ns/ada/connectors/${id}/sync`)).status).toBe(404);
  });

  it('mirror what is chosen', async () => {
    const { id } = (await create({ provider: 'bucket', config: { region: 'us' } }, 'chosen')).body;
    const patch = (body: object) => test.call('PATCH', `/ns/chosen/connectors/${id}`, body);
    const changed = await patch({ selection: { folders: ['docs'], files: ['a'] }, documentLimit: 7 });
    const selection = { folders: [{ id: 'docs', name: 'docs' }], files: [{ id: 'a', name: 'a' }] };
    expect(changed).toMatchObject({ status: 200, body: { id, selection, documentLimit: 7 } });
    expect((await patch({})).body).toEqual(changed.body);
    expect((await patch({ selection: {} })).body.selection).toBeNull();
    const many = Array.from({ length: 501 }, (_, place) => `f${place}`);
    for (const wrong of [
      { selection: { pages: ['a'] } },
      { selection: { files: many } },
      { documentLimit: 0 },
      { schedule: '1h' },
    ]) {
      expect((await patch(wrong)).status).toBe(400);
    }
    const plain = (await create({ provider: 'synthetic' }, 'chosen')).body.id;
    const refused = await test.call('PATCH', `/ns/chosen/connectors/${plain}`, { selection: { files: ['a'] } });
    expect(refused.status).toBe(400);
  });

  it('go with their documents, or without', async () => {
    source.put('a', 'Text of a source.');
    const kept: number[] = [];
    for (const query of ['', '?deleteDocuments=false']) {
      const namespace = `ends${kept.length}`;
      const { id } = (await create({ provider: 'synthetic' }, namespace)).body;
      await runDueSync(test, synthetic, id);
      const deleted = await test.call('DELETE', `/ns/${namespace}/connectors/${id}${query}`);
      expect(deleted).toMatchObject({ status: 200, body: { id, deleted: true } });
      expect((await get(id, '', namespace)).status).toBe(404);
      const documents = async () => (await test.call('POST', `/ns/${namespace}/list/documents`)).body.documents.length;
      if (query === '') await expect.poll(documents).toBe(0);
      kept.push(await documents());
    }
    expect(kept).toEqual([0, 1]);
    expect((await test.call('DELETE', '/ns/ada/connectors/none')).status).toBe(404);
  });

  it('wait for the consent of the user, and are listed when it was given', async () => {
    const wait = async () => (await create({ provider: 'shelf', documentLimit: 9 }, 'consent')).body;
    const { id, authorization } = await wait();
    expect(authorization).toEqual({ url: expect.stringContaining('http'), expiresAt: time });
    const pending = { id, authorization, documentLimit: 9, system: { status: 'pending_authorization' } };
    expect((await get(id, '', 'consent')).body).toMatchObject(pending);
    const reading = await test.newKey({ containerTags: ['consent'], permission: 'read' });
    expect((await get(id, '', 'consent', reading)).status).toBe(404);
    expect((await get(id, '', 'ada')).status).toBe(404);
    expect(await listed('/ns/consent/connectors')).toEqual([]);
    const { search } = await server.consent(authorization.url);
    expect((await test.call('GET', `/v3/connections/auth/callback/shelf${search}`, undefined, null)).status).toBe(200);
    expect(await listed('/ns/consent/connectors')).toEqual([id]);
    expect((await get(id, '', 'consent')).body).toMatchObject({
      account: expect.any(String),
      system: { status: 'active' },
    });
    // One that is not wanted any more cannot be consented to.
    test.clock.advance(10_000);
    const other = await wait();
    expect((await test.call('DELETE', `/ns/ada/connectors/${other.id}`)).status).toBe(404);
    expect((await test.call('DELETE', `/ns/consent/connectors/${other.id}`)).body).toEqual({
      id: other.id,
      deleted: true,
    });
    expect((await get(other.id, '', 'consent')).status).toBe(404);
    const late = await server.consent(other.authorization.url);
    expect((await test.call('GET', `/v3/connections/auth/callback/shelf${late.search}`, undefined, null)).status).toBe(
      400,
    );
    expect(await listed('/ns/consent/connectors')).toEqual([id]);
  });
});
