import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../src/store/sql.ts';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

const id = expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{22}$/);

describe('connections', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi({ connectors: { synthetic: createSyntheticSource().connector() } });
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
      schedule: '1m',
      allowedHours: null,
      filters: {},
      selection: [],
      nextSyncAt: test.clock.now().toISOString(),
      onSourceDelete: 'keep',
      memories: null,
      trust: 'read',
      author: null,
      inProfile: false,
      documentCount: 0,
      problems: [],
    });
  });

  it('go to the default container and take no body at all', async () => {
    const { status, body } = await test.call('POST', '/v3/connections/synthetic');
    expect(status).toBe(200);
    expect((await test.call('GET', `/v3/connections/${body.id}`)).body.containerTag).toBe('sm_project_default');
  });

  it('are at most 20 of one provider in a container', async () => {
    await test.database.execute(sql`
      insert into connections (id, provider, container_tag, status, created_at, updated_at)
      select 'many' || n, 'synthetic', 'many', 'paused', now(), now() from generate_series(1, 19) n`);
    const one = () => test.call('POST', '/v3/connections/synthetic', { containerTag: 'many' });
    expect((await one()).status).toBe(200);
    expect(await one()).toMatchObject({
      status: 400,
      body: { error: 'many has 20 connections to synthetic already', details: expect.stringContaining('at most 20') },
    });
    await test.database.execute(sql`delete from connections where container_tag = 'many'`);
  });

  it.each<['POST' | 'DELETE' | 'GET', string, object]>([
    ['POST', '/v3/connections/{name}', {}],
    ['POST', '/v3/connections/{name}/connection', { containerTag: 'x' }],
    ['POST', '/v3/connections/{name}/documents', {}],
    ['POST', '/v3/connections/{name}/import', {}],
    ['DELETE', '/v3/connections/{name}', { containerTag: 'x' }],
    ['GET', '/v3/connectors/{name}/spec', {}],
  ])('are refused for providers without connector: %s %s', async (method, url, body) => {
    const sent = (name: string) => test.call(method, url.replace('{name}', name), method === 'GET' ? undefined : body);
    const known = await sent('notion');
    expect([known.status, known.body, known.headers['x-should-retry']]).toEqual([
      501,
      { error: 'Connector not installed' },
      'false',
    ]);
    // No id looks like a name, but a name that nobody knows may be meant as an id.
    const unknown = await sent('nosuch');
    if (method === 'DELETE') expect(unknown).toMatchObject({ status: 404, body: { error: 'Connection not found' } });
    else {
      const message = 'nosuch is not the name of a connector';
      expect(unknown).toMatchObject({
        status: 400,
        body: { success: false, error: [{ message, path: ['provider'] }] },
      });
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
      ...['sync', 'pause', 'resume', 'cancel', 'check', 'items/retry', 'items/x/retry'].map(
        (verb) => ['POST', `/v3/connections/none/${verb}`] as const,
      ),
      ...['confirm', 'reject'].map((verb) => ['POST', `/v3/connections/none/pending-deletes/${verb}`] as const),
      ...['sync-runs', 'runs', 'runs/x', 'runs/x/events', 'progress', 'items', 'pending-deletes', 'resources'].map(
        (list) => ['GET', `/v3/connections/none/${list}`] as const,
      ),
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
      dryRun: false,
      startedAt: test.clock.now().toISOString(),
      completedAt: null,
      itemsSeen: 0,
      itemsTotal: null,
      itemsPerSecond: null,
      etaMs: null,
      itemsProcessed: 0,
      itemsAdded: 0,
      itemsUpdated: 0,
      itemsDeleted: 0,
      itemsSkipped: 0,
      itemsFailed: 0,
      error: null,
      errorCode: null,
      failures: [],
      warnings: [],
    });
    const older = await test.call('GET', `/v3/connections/${connection}/sync-runs?limit=1&before=${runs[0].id}`);
    expect(older.body).toEqual([runs[1]]);
    const progress = await test.call('GET', `/v3/connections/${connection}/progress`);
    expect(progress.body).toEqual({
      run: runs[0],
      items: { pending: 0, done: 0, failed: 0, skipped: 0 },
      documents: { waiting: 0, foundByWords: 0, done: 0, failed: 0 },
      heldDeletes: 0,
      problems: [],
    });
    for (const path of ['sync-runs', 'runs']) {
      const url = `/v3/connections/${connection}/${path}`;
      expect((await test.call('GET', url)).body).toEqual(runs);
      expect((await test.call('GET', `${url}/${runs[0].id}`)).body).toEqual(runs[0]);
      expect(await test.call('GET', `${url}/none`)).toMatchObject({
        status: 404,
        body: { error: 'Sync run not found' },
      });
    }
  });

  it('cancel their syncs, by run or by connection', async () => {
    const connection = await create('cancelled');
    const { body: cancelled } = await test.call('POST', `/v3/connections/${connection}/cancel`);
    expect(cancelled).toMatchObject({ status: 'failed', error: 'cancelled', errorCode: null });
    expect(cancelled.completedAt).toBe(test.clock.now().toISOString());
    const url = `/v3/connections/${connection}/sync-runs/${cancelled.id}/cancel`;
    expect(await test.call('POST', url)).toMatchObject({ status: 200, body: cancelled });
    const none = await test.call('POST', `/v3/connections/${connection}/cancel`);
    expect([none.status, none.body, none.headers['x-should-retry']]).toEqual([
      409,
      { error: 'No sync is running.' },
      'false',
    ]);
    const { body: next } = await test.call('POST', `/v3/connections/${connection}/sync`);
    await test.database.execute(sql`
      update sync_runs set status = 'completed', completed_at = ${test.clock.now()} where id = ${next.id}`);
    expect(await test.call('POST', `/v3/connections/${connection}/runs/${next.id}/cancel`)).toMatchObject({
      status: 409,
      body: { error: 'The sync is over already.' },
    });
    const other = await create('cancelled');
    expect((await test.call('POST', `/v3/connections/${other}/runs/${next.id}/cancel`)).status).toBe(404);
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

  it.each(['PATCH', 'verbs'])('are paused and resumed by %s', async (way) => {
    const connection = await create('paused');
    const set = async (paused: boolean) => {
      const url = `/v3/connections/${connection}`;
      const answer = await (way === 'PATCH'
        ? test.call('PATCH', url, { paused })
        : test.call('POST', `${url}/${paused ? 'pause' : 'resume'}`));
      return answer.body.status;
    };
    expect(await set(true)).toBe('paused');
    expect((await test.call('PATCH', `/v3/connections/${connection}`, {})).body.status).toBe('paused');
    const refused = await test.call('POST', `/v3/connections/${connection}/sync`);
    expect([refused.status, refused.body, refused.headers['x-should-retry']]).toEqual([
      409,
      { error: 'The connection is paused' },
      'false',
    ]);
    expect(await set(false)).toBe('active');
    expect(await set(false)).toBe('active');
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
        configured: true,
        capabilities: { selectable: false, push: false, offersHookSecret: false, incremental: false, deletes: true },
        configSchema: { type: 'object', properties: {}, additionalProperties: false },
      },
    ]);
    expect((await test.call('GET', '/v3/connectors/synthetic/spec')).body).toEqual({
      name: 'synthetic',
      title: 'Synthetic source',
      description: 'Items in memory.',
      kind: 'other',
      version: '1.0.0',
      configured: true,
      capabilities: { selectable: false, push: false, offersHookSecret: false, incremental: false, deletes: true },
      config: { type: 'object', properties: {}, additionalProperties: false },
      auth: [],
      callbackAddress: null,
      missingClient: null,
      limits: [],
      schedule: { everyMs: 60_000 },
      maxItemBytes: 25 * 1024 * 1024,
      documentType: null,
    });
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
      storage: { engine: 'pglite', dataDir: '/data', bytes: 1_000_000 },
      queue: { kind: 'in-process' },
      embedder: { id: 'words', runtime: 'hashing', state: 'ready' },
      languageModel: null,
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
