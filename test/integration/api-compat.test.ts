import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMetrics } from '../../src/base/metrics.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

describe('the switches for older clients', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi({ config: { compat: ['plural-tags', 'search-v3', 'memories-v3'] } });
  });
  afterAll(() => test.close());

  it('plural-tags: a write may name several tags, all of which are shown and found', async () => {
    const tags = ['sm_project_x', 'claude_memory'];
    const added = await test.call('POST', '/v3/documents', { content: 'Plural', containerTags: tags, customId: 'p' });
    expect(added.status).toBe(200);
    const { id } = added.body;
    const read = async () => (await test.call('GET', `/v3/documents/${id}`)).body;
    expect((await read()).containerTags).toEqual(tags);
    const list = async (body: object, key?: string) =>
      (await test.call('POST', '/v3/documents/list', body, key)).body.memories?.map((one: { id: string }) => one.id);
    for (const tag of tags) expect(await list({ containerTags: [tag] })).toEqual([id]);
    expect(await list({ containerTags: ['other'] })).toEqual([]);
    // Isolation goes by the first one alone.
    expect((await test.call('GET', '/ns/sm_project_x/document/p')).status).toBe(200);
    expect((await test.call('GET', '/ns/claude_memory/document/p')).status).toBe(404);
    const stranger = await test.newKey({ containerTags: ['claude_memory'] });
    expect(await list({ containerTags: ['claude_memory'] }, stranger)).toEqual([]);
    expect((await test.call('GET', `/v3/documents/${id}`, undefined, stranger)).status).toBe(404);
    const scoped = await test.newKey({ containerTags: ['sm_project_x'] });
    expect(await list({ containerTags: ['claude_memory'] }, scoped)).toEqual([id]);
  });

  it('plural-tags: hold for memories', async () => {
    const of = { containerTags: ['m1', 'm2'] };
    const written = await test.call('POST', '/v4/memories', { ...of, memories: [{ content: 'Tea is green' }] });
    expect(written.status).toBe(201);
    const changed = { ...of, content: 'Tea is green', newContent: 'Tea is black' };
    expect((await test.call('PATCH', '/v4/memories', changed)).status).toBe(200);
    const listed = await test.call('POST', '/v4/memories/list', { containerTags: ['m1'], page: '1', limit: '1' });
    expect(listed.body.memoryEntries).toMatchObject([{ memory: 'Tea is black' }]);
    expect((await test.call('DELETE', '/v4/memories', { ...of, content: 'Tea is black' })).status).toBe(200);
    const wrong = await test.call('POST', '/v4/memories/forget-matching', { containerTags: ['a b'], query: 'tea' });
    expect([wrong.status, wrong.body.error[0].path]).toEqual([400, ['containerTags', 0]]);
  });

  it('plural-tags: hold in batches and changes, and bad ones are refused', async () => {
    const batch = await test.call('POST', '/v3/documents/batch', {
      containerTags: ['b1', 'b2'],
      documents: ['one', { content: 'two', containerTag: 'b3' }],
    });
    const [first, second] = batch.body.results;
    const tagsOf = async (id: string) => (await test.call('GET', `/v3/documents/${id}`)).body.containerTags;
    expect([await tagsOf(first.id), await tagsOf(second.id)]).toEqual([['b1', 'b2'], ['b3']]);
    await test.call('PATCH', `/v3/documents/${first.id}`, { containerTags: ['b4', 'b5'] });
    expect(await tagsOf(first.id)).toEqual(['b4', 'b5']);
    await test.call('PATCH', `/v3/documents/${first.id}`, { containerTag: 'b6' });
    expect(await tagsOf(first.id)).toEqual(['b6']);
    const bad = await test.call('POST', '/v3/documents', { content: 'x', containerTags: ['ok', 'not ok'] });
    expect(bad.body.error).toMatchObject([{ path: ['containerTags', 1] }]);
    expect((await test.call('POST', '/v3/documents', { content: 'x', containerTags: [] })).status).toBe(400);
  });

  it('search-v3: documents with their chunks, best first', async () => {
    const text = (part: string) => `${`The ${part} speaks of the ${part} at some length. `.repeat(40)}`;
    const content = ['harbour', 'bakery', 'library'].map((part) => `## ${part}\n\n${text(part)}`).join('\n\n');
    const { body: added } = await test.call('POST', '/v3/documents', { content, containerTag: 'v3' });
    await test.process();
    const search = (body: object) =>
      test.call('POST', '/v3/search', { q: 'bakery', containerTag: 'v3', limit: 1, ...body });
    const { body, status } = await search({ includeFullDocs: true, includeSummary: true });
    expect(status).toBe(200);
    expect(body).toMatchObject({ total: 1, timing: expect.any(Number) });
    expect(body.results[0]).toMatchObject({
      documentId: added.id,
      type: 'text',
      metadata: {},
      summary: null,
      content: expect.stringContaining('harbour'),
    });
    expect(body.results[0].chunks).toHaveLength(1);
    expect(body.results[0].chunks[0]).toMatchObject({ isRelevant: true, content: expect.stringContaining('bakery') });
    const [near] = (await search({ onlyMatchingChunks: false })).body.results;
    expect(near).not.toHaveProperty('content');
    expect(near.chunks.map((chunk: { isRelevant: boolean }) => chunk.isRelevant)).toContain(false);
    expect((await search({ q: '' })).status).toBe(400);
    const stranger = await test.newKey({ containerTags: ['other'] });
    expect((await test.call('POST', '/v3/search', { q: 'bakery', containerTag: 'v3' }, stranger)).status).toBe(403);
  });

  it('memories-v3: the old paths are those of documents', async () => {
    const added = await test.call('POST', '/v3/memories', { content: 'Old', containerTag: 'm3' });
    expect(added).toMatchObject({ status: 200, body: { status: 'queued' } });
    const path = `/v3/memories/${added.body.id}`;
    expect((await test.call('GET', path)).body.content).toBe('Old');
    expect((await test.call('PATCH', path, { metadata: { k: 1 } })).status).toBe(200);
    expect((await test.call('POST', '/v3/memories/list', { containerTags: ['m3'] })).body.memories).toHaveLength(1);
    expect((await test.call('DELETE', path)).status).toBe(204);
    expect((await test.call('GET', '/v3/memoriesx')).status).toBe(404);
  });
});

describe('without switches', () => {
  it('the old paths are gone and say where to go, for who has a key', async () => {
    const test = await startTestApi();
    for (const [method, path, text] of [
      ['POST', '/v3/search', 'searchMode'],
      ['POST', '/v3/memories', '/v3/documents'],
      ['GET', '/v3/memories/x', '/v3/documents'],
      ['GET', '/v1/anything', '/v4/search'],
    ] as const) {
      const { status, headers, body } = await test.call(method, path, method === 'POST' ? { q: 'x' } : undefined);
      expect([status, headers['deprecation']], path).toEqual([404, 'true']);
      expect(body.details).toContain(text);
      expect((await test.call(method, path, undefined, null)).status).toBe(401);
    }
    expect((await test.call('GET', '/metrics')).status).toBe(404);
    await test.close();
  });
});

describe('GET /metrics', () => {
  it('tells a full key what was counted', async () => {
    const metrics = createMetrics();
    const test = await startTestApi({ services: () => ({ metrics }) });
    await test.call('POST', '/v3/documents', { content: 'x' });
    await test.call('GET', '/v3/documents/missing');
    const { status, headers, body } = await test.call('GET', '/metrics');
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    const lines = String(body).split('\n');
    expect(lines).toContain('memoryd_http_requests_total{method="POST",route="/v3/documents",status="200"} 1');
    expect(lines).toContain('memoryd_http_requests_total{method="GET",route="/v3/documents/:id",status="404"} 1');
    expect(lines).toContain('memoryd_documents{status="queued"} 1');
    const scoped = await test.newKey({ containerTags: ['a'] });
    expect((await test.call('GET', '/metrics', undefined, scoped)).status).toBe(403);
    expect((await test.call('GET', '/metrics', undefined, null)).status).toBe(401);
    await test.close();
  });
});
