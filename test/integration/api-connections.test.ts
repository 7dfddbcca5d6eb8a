import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../src/store/sql.ts';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';
import { engines } from '../support/databases.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

const id = expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{22}$/);

describe.each(engines)('connections on %s', (engine) => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi({ engine, connectors: { synthetic: createSyntheticSource().connector() } });
  });
  afterAll(() => test.close());

  async function create(containerTag: string, body: object = {}): Promise<string> {
    test.clock.advance(1_000);
    return (await test.call('POST', '/v3/connections/synthetic', { containerTag, ...body })).body.id;
  }

  it('are created and shown with the fields of the contract', async () => {
    const created = await test.call('POST', '/v3/connections/synthetic', {
      containerTags: ['made'],
      documentLimit: 2000,
      metadata: { department: 'product' },
      redirectUrl: 'https://app.example.com/connected',
      onSourceDelete: 'keep',
    });
    expect(created).toMatchObject({ status: 200 });
    expect(created.body).toEqual({
      id,
      authLink: null,
      expiresIn: null,
      redirectsTo: 'https://app.example.com/connected',
    });
    const { body } = await test.call('GET', `/v3/connections/${created.body.id}`);
    expect(body).toEqual({
      id: created.body.id,
      provider: 'synthetic',
      createdAt: test.clock.now().toISOString(),
      documentLimit: 2000,
      metadata: { department: 'product' },
      containerTags: ['made'],
      containerTag: 'made',
      lastSyncRun: {
        status: 'running',
        errorCode: null,
        error: null,
        startedAt: test.clock.now().toISOString(),
        completedAt: null,
      },
      status: 'active',
      statusReason: null,
      schedule: null,
      nextSyncAt: expect.toSatisfy((value) => value === null || typeof value === 'string'),
      onSourceDelete: 'keep',
      documentCount: 0,
    });
  });

  it('go to the default container and take no body at all', async () => {
    const { status, body } = await test.call('POST', '/v3/connections/synthetic');
    expect(status).toBe(200);
    expect((await test.call('GET', `/v3/connections/${body.id}`)).body.containerTag).toBe('sm_project_default');
  });

  it('are refused for known providers without connector, and for what is not possible yet', async () => {
    for (const [url, body] of [
      ['/v3/connections/notion', {}],
      ['/v3/connections/synthetic', { connectionId: 'x' }],
    ] as const) {
      const { status, headers } = await test.call('POST', url, body);
      expect([status, headers['x-should-retry']]).toEqual([501, 'false']);
    }
  });

  it('are listed newest first, by container and provider', async () => {
    const ids = [await create('listed_a'), await create('listed_b')];
    const list = async (body?: object) =>
      (await test.call('POST', '/v3/connections/list', body)).body.map((connection: { id: string }) => connection.id);
    expect(await list({ containerTags: ['listed_a', 'listed_b'] })).toEqual(ids.toReversed());
    expect(await list({ containerTag: 'listed_a', provider: 'synthetic' })).toEqual([ids[0]]);
    expect(await list({ provider: 'gmail' })).toEqual([]);
    expect(await list()).toEqual(expect.arrayContaining(ids));
  });

  it('are found by provider and container, the newest one', async () => {
    await create('by_tag');
    const newest = await create('by_tag');
    const found = await test.call('POST', '/v3/connections/synthetic/connection', { containerTags: ['by_tag'] });
    expect(found).toMatchObject({ status: 200, body: { id: newest } });
    const none = await test.call('POST', '/v3/connections/synthetic/connection', { containerTag: 'nothing_here' });
    expect(none).toMatchObject({ status: 404, body: { error: 'No connection found for synthetic' } });
  });

  it('are missing in the same words', async () => {
    const missing = { status: 404, body: { error: 'Connection not found' } };
    for (const [method, url] of [
      ['GET', '/v3/connections/none'],
      ['DELETE', '/v3/connections/none'],
      ['PATCH', '/v3/connections/none'],
      ['POST', '/v3/connections/none/sync'],
      ['GET', '/v3/connections/none/sync-runs'],
      ['GET', '/v3/connections/none/progress'],
    ] as const) {
      expect(await test.call(method, url)).toMatchObject(missing);
    }
  });

  it('sync when asked, once at a time', async () => {
    const connection = await create('synced');
    await test.database.execute(sql`
      update sync_runs set status = 'completed', completed_at = ${test.clock.now()} where connection_id = ${connection}`);
    test.clock.advance(1_000);
    const started = await test.call('POST', `/v3/connections/${connection}/sync`, { mode: 'full' });
    expect(started).toMatchObject({
      status: 202,
      body: { id, connectionId: connection, status: 'running', mode: 'full', triggerType: 'manual' },
    });
    const again = await test.call('POST', `/v3/connections/${connection}/sync`);
    expect([again.status, again.headers['x-should-retry']]).toEqual([409, 'false']);
    const { body: runs } = await test.call('GET', `/v3/connections/${connection}/sync-runs`);
    expect(runs.map((run: { status: string }) => run.status)).toEqual(['running', 'completed']);
    expect(runs[0]).toEqual({
      id: started.body.id,
      connectionId: connection,
      status: 'running',
      triggerType: 'manual',
      mode: 'full',
      startedAt: test.clock.now().toISOString(),
      completedAt: null,
      itemsSeen: 0,
      itemsTotal: null,
      itemsProcessed: 0,
      itemsAdded: 0,
      itemsUpdated: 0,
      itemsDeleted: 0,
      itemsSkipped: 0,
      itemsFailed: 0,
      error: null,
      errorCode: null,
      failures: [],
    });
    const older = await test.call('GET', `/v3/connections/${connection}/sync-runs?limit=1&before=${runs[0].id}`);
    expect(older.body).toEqual([runs[1]]);
    const progress = await test.call('GET', `/v3/connections/${connection}/progress`);
    expect(progress.body).toEqual({
      run: runs[0],
      items: { pending: 0, done: 0, failed: 0, skipped: 0 },
      documents: { waiting: 0, done: 0, failed: 0 },
      heldDeletes: 0,
    });
  });

  it.each(['needs_reauth', 'needs_configuration'])('do not sync while they are %s', async (status) => {
    const connection = await create('blocked');
    await test.database.execute(sql`
      update connections set status = ${status}, status_reason = 'the grant is gone' where id = ${connection}`);
    const refused = await test.call('POST', `/v3/connections/${connection}/sync`);
    expect(refused).toMatchObject({
      status: 409,
      body: { error: `The connection is ${status}`, details: 'the grant is gone' },
    });
  });

  it('bring deleted documents back only once that is possible', async () => {
    const connection = await create('restored');
    expect((await test.call('POST', `/v3/connections/${connection}/sync`, { restoreDeleted: true })).status).toBe(501);
  });

  it('are paused and resumed', async () => {
    const connection = await create('paused');
    const set = async (body: object) => (await test.call('PATCH', `/v3/connections/${connection}`, body)).body.status;
    expect(await set({ paused: true })).toBe('paused');
    expect(await set({})).toBe('paused');
    expect(await set({ paused: false })).toBe('active');
    const refused = await test.call('PATCH', `/v3/connections/${connection}`, { paused: true, documentLimit: 5 });
    expect(refused).toMatchObject({
      status: 501,
      body: { error: 'documentLimit of a connection cannot be changed yet' },
    });
    expect((await test.call('GET', `/v3/connections/${connection}`)).body.status).toBe('active');
  });

  it('are all synced by an import, whose answer is text unless JSON is asked for', async () => {
    const connection = await create('imported');
    await test.database.execute(sql`update sync_runs set status = 'completed' where connection_id = ${connection}`);
    const send = (accept: string, payload?: object) =>
      test.api.inject({
        method: 'POST',
        url: '/v3/connections/synthetic/import',
        headers: { authorization: `Bearer ${fullKey}`, accept, 'content-type': 'application/json' },
        ...(payload && { payload }),
      });
    const asJson = await send('application/json', { containerTags: ['imported'] });
    expect([asJson.statusCode, asJson.json()]).toEqual([
      202,
      { message: 'Importing connections...', provider: 'synthetic', runs: [{ connectionId: connection, runId: id }] },
    ]);
    for (const accept of ['text/plain', '*/*', 'application/json, text/plain']) {
      const asText = await send(accept, { containerTags: ['imported'] });
      expect([asText.statusCode, asText.headers['content-type'], asText.body]).toEqual([
        202,
        'text/plain; charset=utf-8',
        'Importing connections...',
      ]);
    }
    expect((await send('text/plain')).statusCode).toBe(202);
    expect(await test.call('POST', '/v3/connections/synthetic/import', { containerTags: ['nowhere'] })).toMatchObject({
      status: 404,
    });
  });

  it('are deleted by id with their documents, or without', async () => {
    for (const [query, status] of [
      ['', 404],
      ['?deleteDocuments=false', 200],
    ] as const) {
      const connection = await create('deleted');
      const { body } = await test.call('POST', '/v3/documents', {
        content: 'x',
        containerTag: 'deleted',
        customId: `of ${connection}`,
      });
      await test.database.execute(sql`update documents set connection_id = ${connection} where id = ${body.id}`);
      const deleted = await test.call('DELETE', `/v3/connections/${connection}${query}`);
      expect(deleted).toMatchObject({ status: 200, body: { id: connection, provider: 'synthetic' } });
      expect(Object.keys(deleted.body)).toEqual(['id', 'provider']);
      expect((await test.call('GET', `/v3/connections/${connection}`)).status).toBe(404);
      const document = await test.call('GET', `/v3/documents/${body.id}`);
      expect(document.status).toBe(status);
      if (status === 200) expect(document.body.connectionId).toBeNull();
    }
  });

  it('are deleted by provider and container', async () => {
    const older = await create('deleted_all');
    const newer = await create('deleted_all');
    const { status, body } = await test.call('DELETE', '/v3/connections/synthetic', { containerTags: ['deleted_all'] });
    const each = (connection: string) => ({ id: connection, provider: 'synthetic' });
    expect({ status, body }).toEqual({ status: 200, body: { ...each(newer), deleted: [each(newer), each(older)] } });
    expect((await test.call('DELETE', '/v3/connections/synthetic', { containerTags: ['deleted_all'] })).status).toBe(
      404,
    );
  });

  it('have connectors that are listed', async () => {
    const { body } = await test.call('GET', '/v3/connectors');
    expect(body).toEqual([
      {
        provider: 'synthetic',
        displayName: 'Synthetic source',
        description: 'Items in memory.',
        kind: 'other',
        version: '1.0.0',
        auth: 'config',
        configSchema: { type: 'object', properties: {}, additionalProperties: false },
      },
    ]);
  });

  it('are part of the status', async () => {
    const connection = await create('status');
    const { status, body } = await test.call('GET', '/v3/status');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      version: '9.9.9',
      startedAt: '2026-03-01T09:00:00.000Z',
      uptimeMs: test.clock.now().getTime() - Date.parse('2026-03-01T09:00:00.000Z'),
      role: 'all',
      storage: { engine: 'pglite', dataDir: '/data' },
      queue: { kind: 'in-process' },
      embedder: { id: 'words', runtime: 'hashing', state: 'ready' },
    });
    expect(Object.keys(body.documents)).toEqual([
      'unknown',
      'queued',
      'extracting',
      'chunking',
      'embedding',
      'indexing',
      'done',
      'failed',
    ]);
    expect(body.connections.find((line: { id: string }) => line.id === connection)).toMatchObject({
      provider: 'synthetic',
      containerTag: 'status',
      status: 'active',
      documentCount: 0,
    });
  });
});
