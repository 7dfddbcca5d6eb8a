import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../src/store/sql.ts';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';

const id = expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{22}$/);

describe('documents', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
  });
  afterAll(() => test.close());

  const add = async (body: object) => (await test.call('POST', '/v3/documents', body)).body.id as string;
  const list = async (body: object) => (await test.call('POST', '/v3/documents/list', body)).body;

  it('are found by a part of their title or path, in any case', async () => {
    const containerTag = 'named';
    const named = await add({ content: 'x', containerTag, filepath: '/Plans/Boat House.md' });
    await add({ content: 'Plans for the boat house.', containerTag });
    const found = async (q: string) =>
      (await list({ containerTag, q })).memories.map((document: { id: string }) => document.id);
    expect(await found('boat house')).toEqual([named]);
    await test.database.execute(sql`update documents set title = '100% done' where id = ${named}`);
    expect([await found('0% D'), await found('%house'), await found('_')]).toEqual([[named], [], []]);
  });

  it('are added and read back with every field of the contract', async () => {
    const metadata = { channel: 'slack', turns: 6, archived: false, labels: ['planning', 'prefs'] };
    const added = await test.call('POST', '/v3/documents', {
      content: 'Mira prefers short written updates.',
      containerTag: 'user_mira',
      containerTags: ['ignored'],
      customId: 'chat_1',
      metadata,
      filepath: '/chats/1',
      documentDate: '2026-02-28',
      unknown: true,
    });
    expect(added).toMatchObject({ status: 200, body: { id, status: 'queued' } });
    expect(Object.keys(added.body)).toEqual(['id', 'status']);
    const now = test.clock.now().toISOString();
    for (const name of [added.body.id, 'chat_1']) {
      expect((await test.call('GET', `/v3/documents/${name}`)).body).toEqual({
        id: added.body.id,
        customId: 'chat_1',
        connectionId: null,
        title: null,
        content: 'Mira prefers short written updates.',
        raw: 'Mira prefers short written updates.',
        summary: null,
        type: 'text',
        status: 'queued',
        dreamingStatus: expect.stringMatching(/^(dreaming|done)$/),
        taskType: 'memory',
        source: 'api',
        metadata,
        containerTags: ['user_mira'],
        url: null,
        ogImage: null,
        filepath: '/chats/1',
        spatialPoint: null,
        documentDate: '2026-02-28T00:00:00.000Z',
        author: null,
        trust: 'told',
        createdAt: now,
        updatedAt: now,
        error: null,
      });
    }
  });

  it('go to the default container, take their title from the metadata, and URLs are told from text', async () => {
    const text = await add({ content: 'x', metadata: { title: 'Named' } });
    const url = await add({ content: ' https://example.com/a?b=c ' });
    const sentence = await add({ content: 'see https://example.com' });
    const read = async (name: string) => (await test.call('GET', `/v3/documents/${name}`)).body;
    expect(await read(text)).toMatchObject({ containerTags: ['sm_project_default'], title: 'Named', source: 'api' });
    expect(await read(url)).toMatchObject({
      source: 'url',
      url: 'https://example.com/a?b=c',
      raw: 'https://example.com/a?b=c',
    });
    expect(await read(sentence)).toMatchObject({ source: 'api', url: null, raw: 'see https://example.com' });
  });

  it('are one document per customId and container', async () => {
    const first = await add({ content: 'one', customId: 'same', containerTag: 'left' });
    expect(await add({ content: 'two', customId: 'same', containerTag: 'left' })).toBe(first);
    const other = await add({ content: 'three', customId: 'same', containerTag: 'right' });
    expect(other).not.toBe(first);
    const ambiguous = await test.call('GET', '/v3/documents/same');
    expect(ambiguous).toMatchObject({
      status: 409,
      body: { error: 'customId is ambiguous', details: expect.stringContaining('2 containers') },
    });
    expect(ambiguous.headers['x-should-retry']).toBe('false');
    expect((await test.call('GET', '/ns/left/document/same')).body).toMatchObject({ id: first, content: 'two' });
    expect((await test.call('GET', '/ns/right/document/same')).body).toMatchObject({ id: other, content: 'three' });
    // A page that becomes a text is nothing of a page any more.
    await add({ content: 'https://page.invalid/', customId: 'page', containerTag: 'left' });
    await add({ content: 'now a text', customId: 'page', containerTag: 'left' });
    const text = { type: 'text', source: 'api', url: null, raw: 'now a text' };
    expect((await test.call('GET', '/v3/documents/page')).body).toMatchObject(text);
  });

  it('are read in their namespace with exactly the fields of the specification', async () => {
    const added = await add({
      content: 'In a namespace',
      containerTag: 'space:1',
      customId: 'a/b',
      metadata: { k: 1 },
    });
    const now = test.clock.now().toISOString();
    const document = {
      id: added,
      title: null,
      type: 'text',
      summary: null,
      content: 'In a namespace',
      metadata: { k: 1 },
      system: { status: 'queued', createdAt: now, updatedAt: now },
    };
    const get = async (query: string) => (await test.call('GET', `/ns/space:1/document/a%2Fb${query}`)).body;
    for (const query of ['', '?include=', '?include=,', '?unknown=1']) expect(await get(query)).toEqual(document);
    expect(await get('?include=chunks')).toEqual({ ...document, chunks: [] });
    expect(await get('?include=memories')).toEqual({ ...document, memories: [] });
    for (const query of [
      '?include=chunks,memories',
      '?include=chunks&include=memories',
      '?include=memories,chunks,chunks',
    ]) {
      expect(await get(query)).toEqual({ ...document, chunks: [], memories: [] });
    }
  });

  it('show their chunks in order, in both shapes', async () => {
    const added = await add({ content: 'Chunked', containerTag: 'chunked' });
    const at = test.clock.now();
    for (const position of [1, 0]) {
      await test.database.execute(sql`
        insert into chunks (id, document_id, container_tag, position, content, token_count, content_hash, terms, term_counts, term_total, created_at)
        values (${`chunk${position}`.padEnd(22, 'x')}, ${added}, 'chunked', ${position}, ${`text ${position}`}, 2, 'h', '{}', '{}', 0, ${at})`);
    }
    const shape = (position: number) => ({
      id: `chunk${position}`.padEnd(22, 'x'),
      position,
      content: `text ${position}`,
      type: 'text',
      metadata: {},
    });
    const { body } = await test.call('GET', `/v3/documents/${added}/chunks`);
    expect(body).toEqual({
      documentId: added,
      chunks: [0, 1].map((position) => ({ ...shape(position), createdAt: at.toISOString() })),
      total: 2,
    });
    const inNamespace = await test.call('GET', `/ns/chunked/document/${added}?include=chunks`);
    expect(inNamespace.body.chunks).toEqual(
      [0, 1].map((position) => ({ ...shape(position), system: { createdAt: at.toISOString() } })),
    );
  });

  it('never show internal metadata', async () => {
    const added = await add({ content: 'x', containerTag: 'internal', metadata: { shown: true } });
    await test.database.execute(
      sql`update documents set metadata = '{"shown":true,"sm_internal_a":1}'::jsonb where id = ${added}`,
    );
    expect((await test.call('GET', `/v3/documents/${added}`)).body.metadata).toEqual({ shown: true });
    expect((await test.call('GET', `/ns/internal/document/${added}`)).body.metadata).toEqual({ shown: true });
    expect((await list({ containerTag: 'internal' })).memories[0].metadata).toEqual({ shown: true });
  });

  it('are missing in the same words, whatever the route', async () => {
    const missing = { status: 404, body: { error: 'Document not found' } };
    await add({ content: 'x', containerTag: 'elsewhere', customId: 'hidden' });
    for (const url of [
      '/v3/documents/none',
      '/ns/none/document/none',
      '/ns/none/document/hidden',
      '/v3/documents/none/chunks',
    ]) {
      expect(await test.call('GET', url)).toMatchObject(missing);
    }
    expect(await test.call('DELETE', '/v3/documents/none')).toMatchObject(missing);
    expect(await test.call('POST', '/v3/documents/none/retry')).toMatchObject(missing);
  });

  it('are deleted once, without an answer body', async () => {
    const added = await add({ content: 'x', customId: 'doomed' });
    const response = await test.api.inject({
      method: 'DELETE',
      url: '/v3/documents/doomed',
      headers: { authorization: `Bearer ${fullKey}` },
    });
    expect([response.statusCode, response.body]).toEqual([204, '']);
    expect((await test.call('DELETE', `/v3/documents/${added}`)).status).toBe(404);
  });

  it('are tried again only when they failed', async () => {
    const added = await add({ content: 'x' });
    const refused = await test.call('POST', `/v3/documents/${added}/retry`);
    expect([refused.status, refused.headers['x-should-retry']]).toEqual([409, 'false']);
    await test.database.execute(sql`
      update documents set status = 'failed', error_code = 'fetch_failed', error_message = 'no answer', attempts = 3,
        next_attempt_at = ${test.clock.now()} where id = ${added}`);
    expect((await test.call('GET', `/v3/documents/${added}`)).body.error).toEqual({
      code: 'fetch_failed',
      message: 'no answer',
      attempts: 3,
      nextRetryAt: test.clock.now().toISOString(),
    });
    expect(await test.call('POST', `/v3/documents/${added}/retry`)).toMatchObject({
      status: 200,
      body: { id: added, status: 'queued' },
    });
  });

  it('are indexed again when nothing is under way, but not those that hold a memory', async () => {
    const added = await add({ content: 'x' });
    const again = (name: string) => test.call('POST', `/v3/documents/${name}/reindex`);
    expect(await again(added)).toMatchObject({ status: 409, body: { error: expect.stringContaining('already') } });
    await test.database.execute(sql`update documents set status = 'done' where id = ${added}`);
    expect(await again(added)).toMatchObject({ status: 200, body: { id: added, status: 'queued' } });
    await test.database.execute(sql`
      update documents set status = 'failed', error_code = 'fetch_failed', error_message = 'no answer' where id = ${added}`);
    expect(await again(added)).toMatchObject({ status: 200, body: { id: added, status: 'queued' } });
    expect((await test.call('GET', `/v3/documents/${added}`)).body.error).toBeNull();

    const memories = [{ content: 'Mira prefers tea.' }];
    await test.call('POST', '/v4/memories', { containerTag: 'told', memories });
    const [told] = (await list({ containerTag: 'told' })).memories;
    expect(await again(told.id)).toMatchObject({ status: 409, headers: { 'x-should-retry': 'false' } });
    expect(await again('none')).toMatchObject({ status: 404, body: { error: 'Document not found' } });
  });

  it('are listed in pages, sorted, filtered, with totals', async () => {
    for (let index = 1; index <= 5; index++) {
      test.clock.advance(1_000);
      await add({
        content: `number ${index}`,
        containerTag: 'listed',
        customId: `n${index}`,
        metadata: { index, kind: index % 2 ? 'odd' : 'even' },
        filepath: `/p/${index}`,
      });
    }
    const names = (body: { memories: { customId: string }[] }) => body.memories.map((document) => document.customId);
    const first = await list({ containerTags: ['listed'], limit: '2', page: '1' });
    expect(names(first)).toEqual(['n5', 'n4']);
    expect(first.pagination).toEqual({ currentPage: 1, limit: 2, totalItems: 5, totalPages: 3 });
    expect(first.memories[0]).toEqual({
      id,
      customId: 'n5',
      size: 8,
      connectionId: null,
      title: null,
      summary: null,
      type: 'text',
      status: 'queued',
      url: null,
      filepath: '/p/5',
      metadata: { index: 5, kind: 'odd' },
      containerTags: ['listed'],
      createdAt: test.clock.now().toISOString(),
      updatedAt: test.clock.now().toISOString(),
    });
    expect(names(await list({ containerTag: 'listed', limit: 2, page: 3 }))).toEqual(['n1']);
    expect(names(await list({ containerTag: 'listed', page: 9 }))).toEqual([]);
    expect(names(await list({ containerTag: 'listed', order: 'asc', sort: 'updatedAt' }))).toEqual([
      'n1',
      'n2',
      'n3',
      'n4',
      'n5',
    ]);
    const filters = {
      AND: [
        { key: 'kind', value: 'odd' },
        { filterType: 'numeric', key: 'index', value: '3', numericOperator: '>=' },
      ],
    };
    expect(names(await list({ containerTag: 'listed', filters }))).toEqual(['n5', 'n3']);
    expect(names(await list({ containerTag: 'listed', filters: JSON.stringify(filters) }))).toEqual(['n5', 'n3']);
    expect(names(await list({ containerTag: 'listed', filepath: '/p/2' }))).toEqual(['n2']);
    expect(names(await list({ containerTag: 'listed', filepath: '/p/' }))).toHaveLength(5);
    expect(names(await list({ containerTag: 'listed', status: 'done' }))).toEqual([]);
    expect(names(await list({ containerTag: 'listed', status: ['queued', 'done'], sources: ['api'] }))).toHaveLength(5);
    expect(names(await list({ containerTag: 'listed', source: 'folder' }))).toEqual([]);
    const withContent = await list({ containerTag: 'listed', includeContent: true, limit: 1 });
    expect(withContent.memories[0].content).toBe('number 5');
    expect((await list({ containerTag: 'unknown_container' })).pagination).toEqual({
      currentPage: 1,
      limit: 10,
      totalItems: 0,
      totalPages: 0,
    });
  });

  it('in processing are listed by container', async () => {
    await add({ content: 'x', containerTag: 'busy_a', customId: 'a' });
    await add({ content: 'x', containerTag: 'busy_b', customId: 'b' });
    const names = async (query: string) => {
      const { body } = await test.call('GET', `/v3/documents/processing${query}`);
      return [body.documents.map((document: { customId: string }) => document.customId).sort(), body.totalCount];
    };
    expect(await names('?containerTags=busy_a,busy_b')).toEqual([['a', 'b'], 2]);
    expect(await names('?containerTags=busy_a&containerTags=busy_b')).toEqual([['a', 'b'], 2]);
    expect(await names('?containerTags=busy_a')).toEqual([['a'], 1]);
    expect(await names('?containerTag=busy_a')).toEqual([['a'], 1]);
    expect(await names('?containerTag=busy_a&containerTags=busy_b')).toEqual([['a', 'b'], 2]);
  });

  it('come in batches in which each item stands alone', async () => {
    const { status, body } = await test.call('POST', '/v3/documents/batch', {
      containerTag: 'batch',
      metadata: { import: '2026-03', kind: 'default' },
      documents: [
        {
          content: 'Rotate the key every 90 days.',
          customId: 'runbook',
          documentDate: '2025-11-02',
          metadata: { kind: 'own' },
        },
        { content: '', customId: 'empty' },
        'only text',
        { content: 'https://example.com/handbook', containerTag: 'not a tag' },
        { content: 'x', metadata: 7 },
        { content: 'x', userId: 'me' },
        { content: 'x', containerTag: 'other' },
        7,
      ],
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      results: [
        { id, status: 'queued' },
        { id: '', status: 'error', error: 'content must not be empty', details: 'documents[1].content' },
        { id, status: 'queued' },
        {
          id: '',
          status: 'error',
          error: 'containerTag must be 1 to 100 letters, digits, underscores, colons and hyphens',
          details: 'documents[3].containerTag',
          url: 'https://example.com/handbook',
        },
        { id: '', status: 'error', error: expect.stringContaining('metadata'), details: 'documents[4].metadata' },
        { id: '', status: 'error', error: expect.stringContaining('userId'), details: 'documents[5]' },
        { id, status: 'queued' },
        { id: '', status: 'error', error: expect.stringContaining('object'), details: 'documents[7]' },
      ],
      success: 3,
      failed: 5,
    });
    const first = await test.call('GET', '/ns/batch/document/runbook');
    expect(first.body.metadata).toEqual({ import: '2026-03', kind: 'own' });
    expect((await list({ containerTag: 'other' })).memories[0].metadata).toEqual({
      import: '2026-03',
      kind: 'default',
    });
  });

  it('of one customId in a batch become one, the later content wins', async () => {
    const { body } = await test.call('POST', '/v3/documents/batch', {
      containerTag: 'twice',
      documents: [
        { content: 'newer date, sent first', customId: 'k', documentDate: '2026-02-01' },
        { content: 'older date, sent last', customId: 'k', documentDate: '2026-01-01' },
      ],
    });
    expect(body.results[0].id).toBe(body.results[1].id);
    expect((await test.call('GET', '/ns/twice/document/k')).body.content).toBe('older date, sent last');
  });

  it('are 200 even when every one of a batch failed', async () => {
    const { status, body } = await test.call('POST', '/v3/documents/batch', { documents: ['', ' '] });
    expect({ status, failed: body.failed, success: body.success }).toEqual({ status: 200, failed: 2, success: 0 });
  });

  it('are counted by container in GET /v3/container-tags/list, newest activity first', async () => {
    test.clock.advance(60_000);
    await add({ content: 'x', containerTag: 'sm_project_recent' });
    const { status, body } = await test.call('GET', '/v3/container-tags/list');
    expect(status).toBe(200);
    expect(body[0]).toEqual({
      id,
      name: 'sm_project_recent',
      containerTag: 'sm_project_recent',
      description: null,
      createdAt: test.clock.now().toISOString(),
      updatedAt: test.clock.now().toISOString(),
      isExperimental: false,
      isNova: true,
      visibility: 'private',
      documentCount: 1,
      memoryCount: 0,
      lastActivityAt: test.clock.now().toISOString(),
    });
    expect(body.find((tag: { containerTag: string }) => tag.containerTag === 'listed')).toMatchObject({
      documentCount: 5,
      isNova: false,
    });
  });
});

describe('POST /v3/documents/file', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi({
      config: { limits: { maxTextBytes: 1000, maxBodyBytes: 2000, maxBatchBodyBytes: 4000, maxFileBytes: 3000 } },
    });
  });
  afterAll(() => test.close());

  async function upload(parts: [string, string | Blob, string?][], key = fullKey) {
    const form = new FormData();
    for (const [name, value, fileName] of parts) {
      if (typeof value === 'string') form.append(name, value);
      else form.append(name, value, fileName);
    }
    const request = new Request('http://x', { method: 'POST', body: form });
    const response = await test.api.inject({
      method: 'POST',
      url: '/v3/documents/file',
      headers: { authorization: `Bearer ${key}`, 'content-type': request.headers.get('content-type')! },
      payload: Buffer.from(await request.arrayBuffer()),
    });
    return { status: response.statusCode, body: response.json() };
  }
  const file = (text = 'Roadmap', type = 'text/plain') =>
    ['file', new Blob([text], { type }), 'roadmap.txt'] as [string, Blob, string];

  it('stores the file with its fields, in any order', async () => {
    const { status, body } = await upload([
      ['metadata', '{"title":"Roadmap 2026","year":2026}'],
      file(),
      ['containerTag', 'team_ops'],
      ['customId', 'roadmap'],
      ['taskType', 'superrag'],
    ]);
    expect({ status, body }).toEqual({ status: 200, body: { id, status: 'queued' } });
    expect((await test.call('GET', '/v3/documents/roadmap')).body).toMatchObject({
      containerTags: ['team_ops'],
      title: 'Roadmap 2026',
      metadata: { title: 'Roadmap 2026', year: 2026 },
      source: 'file',
      raw: null,
      taskType: 'superrag',
    });
  });

  it('knows what it is by its content, then by its MIME type, then by its name, also when it cannot be read', async () => {
    const png = '\x89PNG\r\n\x1a\n\0';
    const bytes = (text: string, type: string, name: string): [string, Blob, string] => [
      'file',
      new Blob([Buffer.from(text, 'latin1')], { type }),
      name,
    ];
    const types = async (...parts: Parameters<typeof upload>[0]) => {
      const { body } = await upload([['containerTag', 'kinds'], ...parts]);
      const before = (await test.call('GET', `/v3/documents/${body.id}`)).body.type;
      await test.process();
      const { type, status, error } = (await test.call('GET', `/v3/documents/${body.id}`)).body;
      expect(before).toBe(type);
      return [type, status, error?.code];
    };
    expect(await types(bytes(png, 'text/plain', 'a.txt'))).toEqual(['image', 'failed', 'unsupported_type']);
    expect(await types(bytes('\0\x01\x02', 'audio/mpeg', 'a.mp4'))).toEqual(['audio', 'failed', 'unsupported_type']);
    expect(await types(bytes('\0\x01\x02', '', 'a.mp4'))).toEqual(['video', 'failed', 'unsupported_type']);
    // Browsers say so of TypeScript.
    expect(await types(bytes('let a = 1;', 'video/mp2t', 'a.ts'))).toEqual(['text', 'done', undefined]);
    const forced: Parameters<typeof upload>[0] = [file(), ['fileType', 'image'], ['mimeType', 'mimeType']];
    expect(await types(...forced, ['customId', 'k'])).toEqual(['image', 'failed', 'unsupported_type']);
    expect(await types(file('Now it is text'), ['customId', 'k'])).toEqual(['text', 'done', undefined]);
  });

  it.each<[string, [string, string | Blob, string?][], number]>([
    ['no file', [['containerTag', 'a']], 400],
    ['a text part named file', [['file', 'text']], 400],
    ['two files', [file(), file()], 400],
    ['an empty file', [file('')], 400],
    ['a file over the limit', [file('x'.repeat(3001))], 413],
    ['metadata that is no JSON', [file(), ['metadata', '{']], 400],
    ['metadata that is no object', [file(), ['metadata', '[1]']], 400],
    ['a bad tag', [file(), ['containerTag', 'a b']], 400],
    ['only plural tags', [file(), ['containerTags', '["a","b"]']], 400],
    ['an unknown fileType', [file(), ['fileType', 'spreadsheet']], 400],
    ['an image without mimeType', [file(), ['fileType', 'image']], 400],
    ['userId', [file(), ['userId', 'me']], 400],
  ])('refuses %s', async (_, parts, status) => {
    const response = await upload(parts);
    expect(response.status).toBe(status);
    expect(response.body).not.toHaveProperty('data');
  });

  it('refuses what is no form', async () => {
    expect((await test.call('POST', '/v3/documents/file', { content: 'x' })).status).toBe(415);
    expect((await test.call('POST', '/v3/documents/file')).status).toBe(415);
    const broken = await test.api.inject({
      method: 'POST',
      url: '/v3/documents/file',
      headers: { authorization: `Bearer ${fullKey}`, 'content-type': 'multipart/form-data; boundary=x' },
      payload: 'not a form',
    });
    expect([broken.statusCode, broken.json()]).toEqual([400, { error: 'The form cannot be read' }]);
  });

  it('refuses a foreign container', async () => {
    const key = await test.newKey({ containerTags: ['mine'] });
    expect((await upload([file(), ['containerTag', 'other']], key)).status).toBe(403);
    expect((await upload([file()], key)).status).toBe(200);
  });
});
