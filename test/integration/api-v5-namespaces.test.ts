import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';

describe('namespaces', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
  });
  afterAll(() => test.close());

  const add = (namespace: string, id: string, content = id) =>
    test.call('POST', `/ns/${namespace}/document`, { content, id });
  const names = async (query = '', key?: string) =>
    (await test.call('GET', `/namespaces${query}`, undefined, key)).body.namespaces.map(
      ({ namespace }: { namespace: string }) => namespace,
    );

  it('are listed newest first, by both of their addresses, to who may read them', async () => {
    for (const name of ['first', 'second', 'third']) {
      await add(name, 'a', 'I live in Porto.');
      test.clock.advance(1_000);
    }
    await test.call('POST', '/v4/memories', { containerTag: 'third', memories: [{ content: 'Ada sails.' }] });
    const { status, body } = await test.call('GET', '/namespaces');
    expect([status, (await test.call('GET', '/ns')).body]).toEqual([200, body]);
    expect(body.namespaces[0]).toEqual({
      ...{ id: expect.any(String), namespace: 'third', documentCount: 2, memoryCount: 1, description: null },
      system: { createdAt: expect.any(String), updatedAt: expect.any(String) },
    });
    expect(body.pagination).toEqual({ currentPage: 1, limit: 10, totalItems: 3, totalPages: 1 });
    expect(await names('?limit=2&page=2')).toEqual(['first']);
    expect(await names('', await test.newKey({ containerTags: ['second', 'unmade'] }))).toEqual(['second']);
    for (const query of ['?limit=0', '?limit=101', '?page=0', '?page=x']) {
      expect([query, (await test.call('GET', `/namespaces${query}`)).status]).toEqual([query, 400]);
    }
  });

  it('have a context, which the older dialect knows', async () => {
    const patch = (body: object, namespace = 'first') => test.call('PATCH', `/ns/${namespace}`, body);
    const said = { supportingContext: 'Notes about Mira.' };
    const system = { createdAt: expect.any(String), updatedAt: expect.any(String) };
    expect(await patch(said)).toMatchObject({ status: 200, body: { namespace: 'first', ...said, system } });
    expect((await test.call('GET', '/ns/first')).body).toEqual({ namespace: 'first', ...said, system });
    const legacy = (await test.call('GET', '/v3/container-tags/first')).body;
    expect(legacy.entityContext).toBe('Notes about Mira.');
    // What is said of a document is not said of its namespace.
    await test.call('POST', '/ns/first/document', { content: 'x', supportingContext: 'Of this alone.' });
    expect((await test.call('GET', '/ns/first')).body).toMatchObject(said);
    expect((await patch({ supportingContext: null })).body.supportingContext).toBeNull();
    for (const wrong of [
      {},
      { supportingContext: '' },
      { supportingContext: 'c'.repeat(1_501) },
      { ...said, name: 'x' },
    ]) {
      expect((await patch(wrong)).status).toBe(400);
    }
    expect((await patch(said, 'nowhere')).status).toBe(404);
    expect((await test.call('GET', '/ns/nowhere')).status).toBe(404);
  });

  it('are deleted with all that is in them', async () => {
    await add('tmp', 'a');
    await add('tmp', 'b');
    await test.call('POST', '/v4/memories', { containerTag: 'tmp', memories: [{ content: 'Ada sails.' }] });
    for (const send of [
      () => test.call('DELETE', '/ns/tmp', { moveTo: 'first' }),
      () => test.call('DELETE', '/ns/tmp?moveTo=tmp'),
      () => test.call('DELETE', '/ns/tmp?moveTo=a.b'),
      () => test.call('DELETE', '/ns/tmp?moveto=first'),
    ]) {
      expect((await send()).status).toBe(400);
    }
    expect(await test.call('DELETE', '/ns/tmp')).toMatchObject({
      status: 200,
      body: { status: 'deleted', namespace: 'tmp', deletedDocumentsCount: 3, deletedMemoriesCount: 1 },
    });
    expect((await test.call('DELETE', '/ns/tmp')).status).toBe(404);
    expect(await names()).not.toContain('tmp');
  });

  it('are moved into others, made or not, without a loss', async () => {
    for (const id of ['same', 'same_merge', 'twice', 'own']) await add('from', id, `from ${id}`);
    for (const id of ['same', 'twice']) await add('to', id, `to ${id}`);
    await test.process();
    const { status, body } = await test.call('DELETE', '/ns/from?moveTo=to');
    expect([status, body]).toEqual([
      202,
      { status: 'queued', operationId: expect.any(String), namespace: 'from', moveTo: 'to' },
    ]);
    const state = async () => (await test.call('GET', `/v3/container-tags/merge/${body.operationId}`)).body.status;
    await expect.poll(state).toBe('completed');
    expect((await test.call('GET', '/ns/from')).status).toBe(404);
    const text = async (id: string) => (await test.call('GET', `/ns/to/document/${id}`)).body.content;
    expect(await text('same')).toBe('to same');
    expect(await text('same_merge')).toBe('from same_merge');
    expect([await text('twice'), await text('twice_merge'), await text('own')]).toEqual([
      'to twice',
      'from twice',
      'from own',
    ]);
    const { documents } = (await test.call('POST', '/ns/to/list/documents', {})).body;
    const without = documents.filter(({ metadata }: { metadata: object }) => 'mergedCustomId' in metadata);
    expect([documents.length, without.length]).toEqual([6, 1]);
    expect((await test.call('DELETE', '/ns/to?moveTo=new')).status).toBe(202);
    await expect.poll(() => names()).toContain('new');
    await expect.poll(async () => (await test.call('GET', '/ns/to')).status).toBe(404);
    expect((await test.call('DELETE', '/ns/nowhere?moveTo=new')).status).toBe(404);
  });

  it('refuse writes and other moves while they move', async () => {
    await add('slow', 'waits');
    expect((await test.call('DELETE', '/ns/slow?moveTo=goal')).status).toBe(202);
    expect((await add('slow', 'late')).status).toBe(409);
    expect((await add('goal', 'late')).status).toBe(409);
    expect((await test.call('DELETE', '/ns/slow?moveTo=third')).status).toBe(409);
    expect((await test.call('DELETE', '/ns/slow')).status).toBe(409);
    await test.process();
    test.clock.advance(1_000);
    await expect.poll(async () => (await test.call('GET', '/ns/slow')).status).toBe(404);
  });

  it('have buckets of their own beside those of the organization', async () => {
    await test.call('PATCH', '/v3/settings', { profileBuckets: [{ key: 'shared', description: 'For all.' }] });
    const path = '/ns/second/profile/buckets';
    const put = (buckets: object, at = path) => test.call('PUT', at, { buckets });
    const remove = (buckets: unknown, at = path) => test.call('DELETE', at, { buckets });
    const buckets = async () => (await test.call('GET', path)).body.buckets;
    expect(await buckets()).toEqual({ shared: 'For all.' });
    expect(await put({ work: 'Work.', play: 'Play.' })).toMatchObject({
      status: 200,
      body: { buckets: { shared: 'For all.', work: 'Work.', play: 'Play.' } },
    });
    await Promise.all([put({ work: 'Job.' }), put({ home: 'Home.' }), put({ garden: 'Garden.' })]);
    const all = { shared: 'For all.', work: 'Job.', play: 'Play.', home: 'Home.', garden: 'Garden.' };
    expect(await buckets()).toEqual(all);
    const own = (await test.call('GET', '/v3/container-tags/second')).body.profileBuckets;
    expect(own.map(({ key }: { key: string }) => key).sort()).toEqual(['garden', 'home', 'play', 'work']);
    for (const refused of [await put({ shared: 'Mine.', other: 'x' }), await remove(['shared', 'work'])]) {
      expect([refused.status, refused.headers['x-should-retry']]).toEqual([409, 'false']);
    }
    expect(await buckets()).toEqual(all);
    expect((await remove(['work', 'unknown'])).status).toBe(200);
    expect(await buckets()).toEqual({ shared: 'For all.', play: 'Play.', home: 'Home.', garden: 'Garden.' });
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, place) => [`b${place}`, 'x']));
    for (const wrong of [{}, many, { Work: 'x' }, { static: 'x' }, { work: 'd'.repeat(2_001) }, { work: 1 }]) {
      expect([Object.keys(wrong).length, (await put(wrong)).status]).toEqual([Object.keys(wrong).length, 400]);
    }
    for (const wrong of [[], ['a', 'a'], ['Upper'], 'work']) expect((await remove(wrong)).status).toBe(400);
    for (const refused of [
      await put({ a: 'x' }, '/ns/nowhere/profile/buckets'),
      await remove(['a'], '/ns/nowhere/profile/buckets'),
    ]) {
      expect(refused.status).toBe(404);
    }
    expect((await test.call('GET', '/ns/nowhere/profile/buckets')).body.buckets).toEqual({ shared: 'For all.' });
  });

  it('belong to an organization, whose context both dialects know', async () => {
    const patch = (body: object, key?: string) => test.call('PATCH', '/organization', body, key);
    const scoped = await test.newKey({ containerTags: ['first'] });
    const { body } = await patch({ organizationalContext: 'Acme sells billing software.' });
    const total = (await test.call('GET', '/namespaces')).body.pagination.totalItems;
    expect(body).toEqual({ organizationalContext: 'Acme sells billing software.', namespaceCount: total });
    expect((await test.call('GET', '/organization')).body).toEqual(body);
    expect((await test.call('GET', '/organization', undefined, scoped)).body.namespaceCount).toBe(1);
    const { filterPrompt, shouldLLMFilter } = (await test.call('GET', '/v3/settings')).body;
    expect([filterPrompt, shouldLLMFilter]).toEqual(['Acme sells billing software.', true]);
    expect((await patch({ organizationalContext: null })).body.organizationalContext).toBeNull();
    for (const wrong of [{}, { organizationalContext: '' }, { filterPrompt: 'x' }])
      expect((await patch(wrong)).status).toBe(400);
    const readOnly = await test.newKey({ permission: 'read' });
    for (const key of [scoped, readOnly]) expect((await patch({ organizationalContext: 'x' }, key)).status).toBe(403);
  });

  it('come into being by writes alone, and give no feedback', async () => {
    await test.call('POST', '/ns/made/document/batch', { documents: [{ content: 'x' }] });
    for (const [method, path, body] of [
      ['POST', '/search', { query: 'x' }],
      ['POST', '/profile', {}],
      ['POST', '/list/memories', {}],
      ['DELETE', '/document', { ids: ['x'] }],
      ['DELETE', '/memories', { ids: ['x'] }],
      ['DELETE', '/memories/semantic', { query: 'x', dryRun: false }],
    ] as const) {
      expect([path, (await test.call(method, `/ns/unmade${path}`, body)).status]).toEqual([path, 200]);
    }
    const all = await names('?limit=100');
    expect([all.includes('made'), all.includes('unmade')]).toEqual([true, false]);
    const feedback = await test.call('POST', '/feedback', { type: 'bug', title: 'x', anything: 1 });
    expect(feedback).toMatchObject({ status: 404, body: { error: 'Feedback is not available on this deployment' } });
  });
});
