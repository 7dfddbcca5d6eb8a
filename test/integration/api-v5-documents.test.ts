import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';

const serviceId = expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{22}$/);

describe('documents of namespaces', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
  });
  afterAll(() => test.close());

  const add = (body: object, namespace = 'ada') => test.call('POST', `/ns/${namespace}/document`, body);
  const get = async (id: string, namespace = 'ada') =>
    (await test.call('GET', `/ns/${namespace}/document/${id}?include=chunks&include=memories`)).body;
  const patch = (id: string, body: object) => test.call('PATCH', `/ns/ada/document/${id}`, body);

  it('are added, and read by both of their ids', async () => {
    const { status, body } = await add({ content: 'I moved to Lisbon in May.', id: 'chat/41', metadata: { turn: 1 } });
    expect([status, body]).toEqual([200, { id: serviceId, status: 'queued' }]);
    const document = await get(body.id);
    expect(document).toMatchObject({ id: body.id, content: 'I moved to Lisbon in May.', metadata: { turn: 1 } });
    expect(await get('chat%2F41')).toEqual(document);
    expect([document.chunks, document.memories]).toEqual([[], []]);
    expect((await get((await add({ content: 'plain' })).body.id)).metadata).toEqual({});
  });

  it('of one id are one document in each namespace, and not seen from another', async () => {
    const [left, right] = [
      await add({ content: 'left', id: 'same' }, 'left'),
      await add({ content: 'right', id: 'same' }, 'right'),
    ];
    expect(left.body.id).not.toBe(right.body.id);
    expect((await get('same', 'right')).content).toBe('right');
    expect((await test.call('GET', `/ns/left/document/${right.body.id}`)).status).toBe(404);
  });

  it('grow when more of them is sent, and only by what is new', async () => {
    const { id } = (await add({ content: 'one\ntwo', id: 'log', metadata: { a: 1, b: 1 } })).body;
    await test.process();
    const before = await get('log');
    test.clock.advance(1000);
    expect((await add({ content: 'one\ntwo', id: 'log' })).body).toEqual({ id, status: 'done' });
    expect(await get('log')).toEqual(before);
    expect((await add({ content: 'one\ntwo\nthree', id: 'log', metadata: { b: 2 } })).body.status).toBe('queued');
    await test.process();
    expect(await get('log')).toMatchObject({ content: 'one\ntwo\nthree', metadata: { a: 1, b: 2 } });
    // While it waits nothing is lost.
    await add({ content: 'four', id: 'log' });
    await add({ content: 'four\nfive', id: 'log' });
    await add({ content: 'four\nfive', id: 'log' });
    await test.process();
    expect((await get('log')).content).toBe('one\ntwo\nthree\n\nfour\nfive');
  });

  it('lose nothing of what several send at once, in either dialect', async () => {
    const lines = ['one', 'two', 'three', 'four'].map((word) => `user: ${word}`);
    const conversation = {
      containerTag: 'ada',
      conversationId: 'crowd',
      messages: [{ role: 'user', content: 'five' }],
    };
    const answers = await Promise.all([
      ...lines.map((content) => add({ content, id: 'crowd' })),
      test.call('POST', '/v4/conversations', conversation),
    ]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    const said = (await get('crowd')).content.split(/\n+/).sort();
    expect(said).toEqual([...lines, 'user: five'].sort());
  });

  it('are replaced by the older dialect, and read, changed and deleted by the other one', async () => {
    const older = { containerTag: 'both', customId: 'doc' };
    const { id } = (await test.call('POST', '/v3/documents', { ...older, content: 'first' })).body;
    expect((await add({ content: 'second', id: 'doc' }, 'both')).body.id).toBe(id);
    expect((await test.call('GET', '/v3/documents/doc')).body.raw).toBe('first\n\nsecond');
    await test.call('POST', '/v3/documents', { ...older, content: 'third' });
    expect((await get('doc', 'both')).content).toBe('third');
    await test.call('PATCH', '/ns/both/document/doc', { content: 'fourth', group: { team: 'x' }, date: '2026-02-01' });
    expect((await test.call('GET', '/v3/documents/doc')).body).toMatchObject({
      raw: 'fourth',
      documentDate: '2026-02-01T00:00:00.000Z',
    });
    const deleted = await test.call('DELETE', '/ns/both/document', { ids: ['doc'] });
    expect([deleted.status, deleted.body]).toEqual([200, { count: 1, errors: [] }]);
    expect((await test.call('GET', '/v3/documents/doc')).status).toBe(404);
  });

  it('are changed in part', async () => {
    const { id } = (await add({ content: 'I live in Porto.', id: 'home', metadata: { a: 1 }, dreaming: 'instant' }))
      .body;
    await test.process();
    const before = await get('home');
    expect(before.memories).toContainEqual(expect.objectContaining({ memory: 'The user lives in Porto.' }));
    expect((await patch('home', { metadata: { b: [`x`] } })).body).toEqual({ id, status: 'done' });
    expect(await get('home')).toMatchObject({ ...before, metadata: { a: 1, b: ['x'] }, system: expect.any(Object) });
    expect((await patch('home', { content: 'I live in Lisbon.' })).body).toEqual({ id, status: 'queued' });
    await test.process();
    const after = await get('home');
    expect(after.content).toBe('I live in Lisbon.');
    const known = after.memories.filter(
      (one: { isLatest: boolean; isForgotten: boolean }) => one.isLatest && !one.isForgotten,
    );
    expect(known.length).toBeGreaterThan(0);
    for (const { memory } of known) expect(memory).toContain('Lisbon');
    for (const body of [
      {},
      { dreaming: 'instant' },
      { taskType: 'memory' },
      { title: 'x' },
      { metadata: { a: null } },
    ]) {
      expect([body, (await patch('home', body)).status]).toEqual([body, 400]);
    }
    expect((await patch('absent', { content: 'x' })).status).toBe(404);
  });

  it('of the task superrag have passages and no memories', async () => {
    await add({ content: 'I live in Faro.', id: 'rag', taskType: 'superrag', dreaming: 'instant' });
    await test.process();
    const { chunks, memories } = await get('rag');
    expect([chunks.length, memories.length]).toEqual([1, 0]);
    expect(chunks[0]).toMatchObject({
      position: 0,
      content: 'I live in Faro.',
      system: { createdAt: expect.any(String) },
    });
  });

  it('are understood by what is said of them, else by what is said of their namespace', async () => {
    await test.call('PATCH', '/v3/container-tags/said', { entityContext: 'The user is Ada.' });
    const told = { content: 'I live in Porto.', dreaming: 'instant' };
    await add({ ...told, id: 'own', supportingContext: 'The user is Mira.' }, 'said');
    await add({ ...told, id: 'shared', date: '2026-02-01' }, 'said');
    await test.process();
    const said = async (id: string) => (await get(id, 'said')).memories.map(({ memory }: { memory: string }) => memory);
    expect(await said('own')).toContain('Mira lives in Porto.');
    expect(await said('shared')).toContain('Ada lives in Porto.');
  });

  it('take what older clients put into the query, and nothing else', async () => {
    const { id } = (await test.call('POST', '/ns/ada/document?taskType=superrag', { content: 'queried' })).body;
    expect((await test.call('GET', `/v3/documents/${id}`)).body.taskType).toBe('superrag');
    const both = await test.call('POST', '/ns/ada/document?taskType=superrag', { content: 'body', taskType: 'memory' });
    expect((await test.call('GET', `/v3/documents/${both.body.id}`)).body.taskType).toBe('memory');
    expect((await test.call('POST', '/ns/ada/document?metadata=1', { content: 'x' })).status).toBe(400);
  });

  it.each([
    [{}],
    [{ content: ' ' }],
    [{ content: 7 }],
    [{ content: 'x', id: '' }],
    [{ content: 'x', id: 'i'.repeat(256) }],
    [{ content: 'x', id: '..' }],
    [{ content: 'x', containerTag: 'ada' }],
    [{ content: 'x', customId: 'c' }],
    [{ content: 'x', metadata: { a: { b: 1 } } }],
    [{ content: 'x', metadata: null }],
    [{ content: 'x', group: { a: null } }],
    [{ content: 'x', supportingContext: 'c'.repeat(1501) }],
    [{ content: 'x', date: '2026-02-30' }],
    [{ content: 'x', date: 'soon' }],
    [{ content: 'x', dreaming: 'never' }],
    [{ content: 'ftp://old.example/a' }],
  ])('are refused as %j', async (body) => {
    const { status, body: answer } = await add(body);
    expect([status, typeof answer.error]).toEqual([400, expect.toBeOneOf(['string', 'object'])]);
  });

  it('are only in namespaces that can be', async () => {
    for (const name of ['n'.repeat(101), 'a.b', 'a%20b', '%C3%A4']) {
      const { status, body } = await add({ content: 'x' }, name);
      expect([name, status, body.success]).toEqual([name, 400, false]);
    }
  });

  it('are added by the batch, the failed ones last', async () => {
    const batch = (documents: unknown[], more: object = {}) =>
      test.call('POST', '/ns/ada/document/batch', { documents, ...more });
    const documents = [
      { content: 'first', id: 'b1' },
      { content: 'ftp://old.example/a' },
      { content: 'more of it', id: 'b1' },
    ];
    const { status, body } = await batch(documents, { taskType: 'superrag' });
    expect([status, body]).toEqual([
      200,
      {
        results: [
          { id: serviceId, status: 'queued' },
          { id: body.results[0].id, status: 'queued' },
          {
            id: '',
            status: 'error',
            error: 'Unsupported URL scheme',
            details: expect.any(String),
            url: 'ftp://old.example/a',
          },
        ],
        count: 2,
        failed: 1,
      },
    ]);
    expect((await test.call('GET', '/v3/documents/b1')).body).toMatchObject({
      raw: 'first\n\nmore of it',
      taskType: 'superrag',
    });
    const many = Array.from({ length: 601 }, () => ({ content: 'x' }));
    for (const wrong of [[], many, ['bare'], [{ content: 'x' }, { content: 'x', extra: 1 }]]) {
      expect((await batch(wrong)).status).toBe(400);
    }
  });

  it('are deleted each on its own', async () => {
    const { id } = (await add({ content: 'gone soon', id: 'gone' })).body;
    const remove = (ids: unknown) => test.call('DELETE', '/ns/ada/document', { ids });
    expect((await test.call('DELETE', '/ns/other/document', { ids: [id] })).body.count).toBe(0);
    const { status, body } = await remove(['gone', 'none', id, 'none']);
    expect([status, body]).toEqual([200, { count: 1, errors: [{ id: 'none', error: 'Document not found' }] }]);
    expect((await remove(['none'])).status).toBe(200);
    for (const wrong of [undefined, [], [''], Array.from({ length: 101 }, (_, place) => `d${place}`)]) {
      expect((await remove(wrong)).status).toBe(400);
    }
  });

  it('are made once by a client that asks again without saying so', async () => {
    const first = (await add({ content: 'dropped' })).body;
    expect((await add({ content: 'dropped' })).body).toEqual(first);
    expect((await add({ content: 'dropped' }, 'other')).body.id).not.toBe(first.id);
    test.clock.advance(10_000);
    expect((await add({ content: 'dropped' })).body.id).not.toBe(first.id);
  });

  describe('with files', () => {
    async function send(method: 'POST' | 'PATCH' | 'PUT', url: string, fields: Record<string, string | File>) {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      const request = new Request('http://x', { method: 'POST', body: form });
      const response = await test.api.inject({
        method,
        url: `/ns/ada/document/file${url}`,
        headers: { authorization: `Bearer ${fullKey}`, 'content-type': request.headers.get('content-type')! },
        payload: Buffer.from(await request.arrayBuffer()),
      });
      return { status: response.statusCode, body: response.json() };
    }
    const markdown = (text: string) => new File([text], 'map.md', { type: 'text/markdown' });

    it('are uploaded', async () => {
      const uploaded = await send('POST', '', {
        file: markdown('# Map\n\nJune.'),
        metadata: '{"a":1}',
        group: '{"team":"x"}',
        date: '2026-01-02',
      });
      expect(uploaded).toMatchObject({ status: 200, body: { id: serviceId, status: 'queued' } });
      await test.process();
      const document = await get(uploaded.body.id);
      expect(document).toMatchObject({ metadata: { a: 1 }, system: { status: 'done' } });
      expect(document.content).toContain('June.');
      const wrong = [
        { file: markdown('x'), metadata: '{a' },
        { metadata: '{"a":1}' },
        { file: markdown('x'), id: 'x' },
      ];
      for (const fields of wrong) expect((await send('POST', '', fields as never)).status).toBe(400);
      const inQuery = await send('POST', '?taskType=superrag&fileType=text', { file: markdown('y') });
      expect((await test.call('GET', `/v3/documents/${inQuery.body.id}`)).body.taskType).toBe('superrag');
    });

    it('take the place of a document, or change it', async () => {
      const { id } = (await add({ content: 'a text', id: 'filed', metadata: { a: 1 } })).body;
      expect((await send('POST', '/filed', { file: markdown('# New') })).body).toEqual({ id, status: 'queued' });
      await test.process();
      expect(await get('filed')).toMatchObject({ content: expect.stringContaining('New'), metadata: {} });
      expect((await send('PATCH', '/filed', { metadata: '{"b":2}' })).body).toEqual({ id, status: 'done' });
      await send('PATCH', '/filed', { metadata: '{"c":3}', file: markdown('# Newer') });
      await test.process();
      expect(await get('filed')).toMatchObject({ content: expect.stringContaining('Newer'), metadata: { b: 2, c: 3 } });
      expect((await test.call('GET', '/v3/documents/filed/file-url')).status).toBe(200);
      expect((await send('PATCH', '/filed', {})).status).toBe(400);
      expect((await send('PUT', '/filed', { file: markdown('x') })).status).toBe(404);
      for (const method of ['POST', 'PATCH'] as const) {
        expect((await send(method, '/absent', { file: markdown('x') })).status).toBe(404);
      }
    });

    it('leave the words of their paths to documents of that id', async () => {
      await add({ content: 'named file', id: 'file' });
      expect((await get('file')).content).toBe('named file');
      expect((await patch('file', { metadata: { a: 1 } })).status).toBe(200);
    });
  });
});
