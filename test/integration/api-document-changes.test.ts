import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawSql, sql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

describe('changes of documents', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
  });
  afterAll(() => test.close());

  const add = async (body: object) => (await test.call('POST', '/v3/documents', body)).body.id as string;
  const get = async (id: string) => (await test.call('GET', `/v3/documents/${id}`)).body;
  const patch = (id: string, body: object, key?: string) => test.call('PATCH', `/v3/documents/${id}`, body, key);
  const chunkTags = (id: string) =>
    test.database.query<{ container_tag: string; content: string }>(
      sql`select container_tag, content from chunks where document_id = ${id} order by position`,
    );

  /** A memory that some documents stand for. */
  async function remember(
    id: string,
    containerTag: string,
    documentIds: string[],
    more: { isInference?: boolean } = {},
  ) {
    const now = test.clock.now();
    await test.database.execute(sql`
      insert into memories (id, container_tag, memory, is_inference, content_hash, terms, term_counts, term_total, created_at, updated_at)
      values (${id}, ${containerTag}, ${`memory ${id}`}, ${more.isInference ?? false}, ${id}, '{}', '{}', 0, ${now}, ${now})`);
    for (const documentId of documentIds) {
      await test.database.execute(sql`
        insert into memory_sources (memory_id, document_id, created_at) values (${id}, ${documentId}, ${now})`);
    }
  }
  const memory = async (id: string) =>
    (
      await test.database.query<{ container_tag: string; is_forgotten: boolean; sources: number }>(sql`
        select container_tag, is_forgotten, (select count(*) from memory_sources where memory_id = id) as sources
        from memories where id = ${id}`)
    )[0];

  it('of nothing answer with what is there', async () => {
    const id = await add({ content: 'As it is', containerTag: 'noop' });
    await test.process();
    const before = await get(id);
    expect(await patch(id, {})).toMatchObject({ status: 200, body: { id, status: 'done' } });
    expect(await get(id)).toEqual(before);
  });

  it('of metadata merge key by key, hold at once, and process nothing again', async () => {
    const id = await add({ content: 'Text', containerTag: 'meta', customId: 'm1', metadata: { a: 1, b: 'two' } });
    await test.process();
    test.clock.advance(1_000);
    const answer = await patch('m1', { metadata: { b: null, c: ['x'], title: 'Named' }, filepath: '/new/place' });
    expect(answer).toMatchObject({ status: 200, body: { id, status: 'done' } });
    expect(Object.keys(answer.body).sort()).toEqual(['id', 'status']);
    expect(await get(id)).toMatchObject({
      metadata: { a: 1, c: ['x'], title: 'Named' },
      title: 'Named',
      filepath: '/new/place',
      updatedAt: test.clock.now().toISOString(),
    });
    const filters = { AND: [{ key: 'c', value: 'x', filterType: 'array_contains' }] };
    const listed = await test.call('POST', '/v3/documents/list', { containerTag: 'meta', filters });
    expect(listed.body.pagination.totalItems).toBe(1);
  });

  it('of the content replace it, once for the same text', async () => {
    const id = await add({ content: 'The old harbour text', containerTag: 'content' });
    await test.process();
    expect((await patch(id, { content: 'The new harbour text' })).body.status).toBe('queued');
    await test.process();
    expect(await get(id)).toMatchObject({
      content: 'The new harbour text',
      raw: 'The new harbour text',
      status: 'done',
    });
    expect((await chunkTags(id)).map((chunk) => chunk.content)).toEqual(['The new harbour text']);
    expect((await patch(id, { content: 'The new harbour text' })).body.status).toBe('done');
  });

  it('of the content while it waits for its turn lose nothing', async () => {
    const id = await add({ content: 'first', containerTag: 'pending' });
    await patch(id, { content: 'second' });
    await patch(id, { metadata: { k: 1 } });
    await test.process();
    expect(await get(id)).toMatchObject({ content: 'second', status: 'done', metadata: { k: 1 } });
  });

  it('of the customId are refused when it is taken, without another try', async () => {
    const id = await add({ content: 'one', containerTag: 'ids', customId: 'first' });
    await add({ content: 'two', containerTag: 'ids', customId: 'second' });
    const taken = await patch(id, { customId: 'second' });
    expect(taken).toMatchObject({ status: 409 });
    expect(taken.headers['x-should-retry']).toBe('false');
    expect((await patch(id, { customId: 'third' })).status).toBe(200);
    expect((await get('third')).id).toBe(id);
  });

  it('of the container take chunks and memories along, but not what belongs to others', async () => {
    const id = await add({ content: 'To be moved', containerTag: 'from' });
    const stays = await add({ content: 'Stays here', containerTag: 'from' });
    await test.process();
    await remember('own'.padEnd(22, '1'), 'from', [id]);
    await remember('shared'.padEnd(22, '1'), 'from', [id, stays]);
    expect((await patch(id, { containerTag: 'to' })).body.status).toBe('done');
    expect((await get(id)).containerTags).toEqual(['to']);
    expect((await chunkTags(id)).map((chunk) => chunk.container_tag)).toEqual(['to']);
    expect(await memory('own'.padEnd(22, '1'))).toMatchObject({ container_tag: 'to', sources: 1 });
    expect(await memory('shared'.padEnd(22, '1'))).toMatchObject({ container_tag: 'from', sources: 1 });
    expect((await test.call('GET', '/v3/container-tags/to')).status).toBe(200);
  });

  it('of the container need the right to write in both, and tell nobody what is elsewhere', async () => {
    const id = await add({ content: 'Guarded', containerTag: 'guarded', customId: 'g' });
    const other = await test.newKey({ containerTags: ['elsewhere'] });
    expect(await patch(id, { metadata: { k: 1 } }, other)).toMatchObject({
      status: 404,
      body: { error: 'Document not found' },
    });
    const own = await test.newKey({ containerTags: ['guarded'] });
    expect((await patch(id, { containerTag: 'elsewhere' }, own)).status).toBe(403);
    const reader = await test.newKey({ containerTags: ['guarded'], permission: 'read' });
    expect((await patch(id, { metadata: { k: 1 } }, reader)).status).toBe(403);
    expect((await patch(id, { metadata: { k: 1 } }, own)).status).toBe(200);
    expect((await patch(id, { containerTags: ['guarded', 'elsewhere'] })).status).toBe(400);
  });

  it('of the task type forget memories, and look for them again', async () => {
    const id = await add({ content: 'Facts', containerTag: 'tasks' });
    await test.process();
    await remember('fact'.padEnd(22, '2'), 'tasks', [id]);
    expect((await patch(id, { taskType: 'superrag' })).body.status).toBe('done');
    expect((await memory('fact'.padEnd(22, '2')))?.is_forgotten).toBe(true);
    expect((await patch(id, { taskType: 'memory' })).body.status).toBe('queued');
  });

  it('that are wrong are refused with their place', async () => {
    const id = await add({ content: 'x', containerTag: 'bad' });
    for (const [body, path] of [
      [{ content: '  ' }, ['content']],
      [{ metadata: 'a' }, ['metadata']],
      [{ taskType: 'other' }, ['taskType']],
      [{ customId: '..' }, ['customId']],
      [{ documentDate: 'soon' }, ['documentDate']],
      [{ containerTag: 'a b' }, ['containerTag']],
    ] as const) {
      expect((await patch(id, body)).body, JSON.stringify(body)).toMatchObject({ success: false, error: [{ path }] });
    }
    expect((await patch(id, { userId: 'u' })).body.error).toMatch(/containerTag/);
    expect((await patch(id, { content: 'x'.repeat(1024 * 1024 + 1) })).status).toBe(413);
    expect((await patch('missing', {})).status).toBe(404);
  });

  it('in bulk delete by ids, container and path, and say which ids failed', async () => {
    const first = await add({ content: 'a', containerTag: 'bulk', customId: 'bulk/1' });
    const kept = await add({ content: 'b', containerTag: 'bulk', filepath: '/keep/1' });
    await add({ content: 'c', containerTag: 'bulk', filepath: '/drop/1' });
    await add({ content: 'd', containerTag: 'bulk', filepath: '/drop/deep/2' });
    await add({ content: 'e', containerTag: 'bulk2' });
    const bulk = (body: object, key?: string) => test.call('DELETE', '/v3/documents/bulk', body, key);
    expect((await bulk({ ids: ['bulk/1', 'no_such_doc'] })).body).toEqual({
      success: true,
      deletedCount: 1,
      errors: [{ id: 'no_such_doc', error: 'Document not found' }],
    });
    expect((await test.call('GET', `/v3/documents/${first}`)).status).toBe(404);
    expect((await bulk({ ids: ['no_such_doc'] })).body).toMatchObject({ success: false, deletedCount: 0 });
    expect((await bulk({ filepath: '/drop/' })).body).toEqual({ success: true, deletedCount: 2 });
    const scoped = await test.newKey({ containerTags: ['bulk'] });
    expect((await bulk({ containerTags: ['bulk2'] }, scoped)).status).toBe(403);
    expect((await bulk({ ids: [await add({ content: 'f', containerTag: 'bulk2' })] }, scoped)).body.success).toBe(
      false,
    );
    expect((await bulk({ containerTags: ['bulk2'] })).body).toEqual({
      success: true,
      deletedCount: 2,
      containerTags: ['bulk2'],
    });
    expect((await get(kept)).id).toBe(kept);
    for (const body of [{}, undefined]) {
      expect(await test.call('DELETE', '/v3/documents/bulk', body)).toMatchObject({
        status: 400,
        body: { error: 'Provide ids, containerTag or filepath' },
      });
    }
    expect((await bulk({ ids: [] })).status).toBe(400);
    const reader = await test.newKey({ permission: 'read' });
    expect((await bulk({ filepath: '/keep/' }, reader)).status).toBe(403);
  });

  it('in bulk put every failed document back to its place in the queue', async () => {
    const failing = await add({ content: 'x', containerTag: 'failing' });
    await add({ content: 'y', containerTag: 'fine' });
    await test.process();
    await test.database.execute(
      sql`update documents set status = 'failed', error_code = 'internal' where id = ${failing}`,
    );
    const retry = (body?: object) => test.call('POST', '/v3/documents/retry-failed', body);
    expect((await retry({ containerTag: 'fine' })).body).toEqual({ requeued: 0 });
    expect((await retry()).body).toEqual({ requeued: 1 });
    expect((await get(failing)).status).toBe('queued');
    await test.process();
  });

  it('show files by links that work without a key for a day', async () => {
    const form = new FormData();
    form.append('containerTag', 'files');
    form.append('file', new File(['# Road map\n\nJune.'], 'Röadmap.md', { type: 'text/markdown' }));
    const body = new Response(form);
    const uploaded = await test.api.inject({
      method: 'POST',
      url: '/v3/documents/file',
      headers: { authorization: `Bearer ${await test.newKey()}`, 'content-type': body.headers.get('content-type')! },
      payload: Buffer.from(await body.arrayBuffer()),
    });
    const { id } = uploaded.json();
    const link = new URL((await test.call('GET', `/v3/documents/${id}/file-url`)).body.url);
    expect(link.pathname).toBe(`/files/${id}.md`);
    const open = (path: string) => test.api.inject({ url: path });
    const file = await open(link.pathname + link.search);
    expect([file.statusCode, file.body]).toEqual([200, '# Road map\n\nJune.']);
    expect(file.headers).toMatchObject({
      'content-type': 'text/markdown',
      'content-disposition': "attachment; filename*=UTF-8''R%C3%B6admap.md",
      'x-content-type-options': 'nosniff',
    });
    const forged = link.search.replace(/sig=./, (sig) => (sig === 'sig=0' ? 'sig=1' : 'sig=0'));
    expect((await open(link.pathname + forged)).statusCode).toBe(403);
    expect((await open(link.pathname + link.search.replace(/exp=\d/, 'exp=9'))).statusCode).toBe(403);
    expect((await open(link.pathname)).statusCode).toBe(400);
    test.clock.advance(25 * 60 * 60_000);
    expect((await open(link.pathname + link.search)).statusCode).toBe(403);
    const plain = await add({ content: 'no file', containerTag: 'files' });
    expect(await test.call('GET', `/v3/documents/${plain}/file-url`)).toMatchObject({
      status: 404,
      body: { error: 'Document has no file' },
    });
    const stranger = await test.newKey({ containerTags: ['other'] });
    expect((await test.call('GET', `/v3/documents/${id}/file-url`, undefined, stranger)).status).toBe(404);
  });

  it('show the graph: documents with their memories', async () => {
    const id = await add({ content: 'Graph', containerTag: 'graph', customId: 'node' });
    const [first, second] = ['old'.padEnd(22, '3'), 'new'.padEnd(22, '3')];
    await remember(first, 'graph', [id]);
    await remember(second, 'graph', [id]);
    await test.database.execute(sql`
      insert into memory_relations (from_id, to_id, relation, created_at)
      values (${second}, ${first}, 'updates', ${test.clock.now()})`);
    const page = await test.call('POST', '/v3/documents/documents', { containerTags: ['graph'], limit: '5' });
    expect(page.body.pagination).toEqual({ currentPage: 1, limit: 5, totalItems: 1, totalPages: 1 });
    const [document] = page.body.documents;
    expect(document).toMatchObject({ id, customId: 'node', containerTags: ['graph'] });
    expect(document.memoryEntries).toHaveLength(2);
    expect(document.memoryEntries.find((entry: { id: string }) => entry.id === second)).toMatchObject({
      memory: `memory ${second}`,
      spaceContainerTag: 'graph',
      orgId: test.organization.id,
      spaceId: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{22}$/),
      memoryRelations: { [first]: 'updates' },
      sourceCount: 1,
      forgetAfter: null,
    });
    const byIds = (body: object) => test.call('POST', '/v3/documents/documents/by-ids', body);
    expect((await byIds({ ids: [id, 'missing'] })).body.documents).toHaveLength(1);
    expect((await byIds({ ids: ['node'], by: 'customId' })).body.documents[0].id).toBe(id);
    expect((await byIds({ ids: ['node'] })).body.documents).toEqual([]);
    expect((await byIds({ ids: [] })).status).toBe(400);
  });

  it('in bulk leave nothing behind', async () => {
    await add({ content: 'gone', containerTag: 'traces' });
    await test.process();
    await test.call('DELETE', '/v3/documents/bulk', { containerTag: 'traces' });
    const left = await test.database.query(
      rawSql(`
      select id from chunks where container_tag = 'traces' union all select id from documents where container_tag = 'traces'`),
    );
    expect(left).toEqual([]);
  });
});
