import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';

interface Result {
  id: string;
  memory?: string;
  chunk?: string;
  similarity: number;
  isLatest: boolean;
  metadata: object;
  included?: any;
}

let test: TestApi;
beforeAll(async () => {
  test = await startTestApi();
  const add = (body: object, namespace = 'ada') => test.call('POST', `/ns/${namespace}/document`, body);
  const told = {
    dreaming: 'instant',
    metadata: { source: 'chat', turn: 1, archived: false, labels: ['Home'], 'a.b': 'dotted' },
  };
  await add({ content: 'I live in Porto.', id: 'home', ...told, group: { team: 'north', source: 'group' } });
  await test.process();
  await test.process();
  await add({ content: 'I moved to Lisbon.', id: 'move', ...told });
  await add({ content: 'I live in Braga.', id: 'elsewhere', ...told }, 'other');
  await add({
    content: '# Signing keys\n\nRotate the signing keys every ninety days.',
    id: 'runbook',
    taskType: 'superrag',
  });
  await test.process();
});
afterAll(() => test.close());

const search = (body: object, namespace = 'ada') => test.call('POST', `/ns/${namespace}/search`, body);
const found = async (body: object): Promise<Result[]> =>
  (await search({ threshold: 0, limit: 100, ...body })).body.results;

describe('a search in a namespace', () => {
  it('has defaults that can be said', async () => {
    const said = { searchMode: 'hybrid', limit: 10, threshold: 0.3, rerank: 'none', rewriteQuery: false };
    const query = 'where does the user live?';
    const [implicit, explicit] = [await search({ query }), await search({ query, ...said })];
    expect(implicit.status).toBe(200);
    expect(Object.keys(implicit.body)).toEqual(['results', 'searchTime']);
    expect(explicit.body.results).toEqual(implicit.body.results);
  });

  it('finds memories, chunks, or both, each with exactly one text, in the order of their similarities', async () => {
    const query = 'the user lives in Porto, signing keys';
    for (const [searchMode, keys] of [
      ['hybrid', ['memory', 'chunk']],
      ['memories', ['memory']],
      ['chunks', ['chunk']],
    ] as const) {
      for (const rerank of ['none', 'order', 'aggregate']) {
        const results = await found({ query, searchMode, rerank });
        expect([searchMode, results.length > 0]).toEqual([searchMode, true]);
        const texts = results.map((one) => ['memory', 'chunk'].filter((key) => key in one));
        for (const names of texts) expect(names).toEqual([expect.toBeOneOf([...keys])]);
        const similarities = results.map(({ similarity }) => similarity);
        expect(similarities).toEqual(similarities.toSorted((a, b) => b - a));
        for (const one of similarities) expect(one >= 0 && one <= 1).toBe(true);
        for (const one of results) expect([one.metadata, one.included]).toEqual([expect.any(Object), undefined]);
      }
    }
    for (const { similarity } of (await search({ query, threshold: 0.5 })).body.results) {
      expect(similarity).toBeGreaterThanOrEqual(0.5);
    }
  });

  it('merges passages that follow each other where it is asked to aggregate', async () => {
    const sentence = (index: number) =>
      `The tide gauge number ${index} at the lighthouse shows what the harbour expects.`;
    const content = Array.from({ length: 60 }, (_, index) => sentence(index)).join(' ');
    await test.call('POST', '/ns/harbour/document', { content, id: 'tides', taskType: 'superrag' });
    await test.call('POST', '/ns/harbour/document', { content: sentence(100), id: 'other', taskType: 'superrag' });
    await test.process();
    const find = async (rerank: string): Promise<Result[]> => {
      const body = { query: 'tide gauge at the lighthouse', searchMode: 'chunks', threshold: 0, limit: 100, rerank };
      return (await search(body, 'harbour')).body.results;
    };
    const [apart, together] = [await find('order'), await find('aggregate')];
    expect(apart.length).toBeGreaterThan(4);
    expect(new Set(together.map(({ chunk }) => chunk))).toEqual(new Set([content, sentence(100)]));
    const scores = (results: Result[]) => results.map(({ id, similarity }) => [id, similarity]);
    expect(scores(apart)).toEqual(expect.arrayContaining(scores(together)));
    expect(together[0]!.similarity).toBe(apart[0]!.similarity);
  });

  it('finds what the older dialect finds, in the order of the ranking', async () => {
    const query = 'where does the user live?';
    for (const [searchMode, older, rerank] of [
      ['hybrid', 'hybrid', false],
      ['chunks', 'documents', false],
      ['hybrid', 'hybrid', true],
    ] as const) {
      const legacy = await test.call('POST', '/v4/search', {
        q: query,
        containerTag: 'ada',
        searchMode: older,
        threshold: 0.1,
        rerank,
        limit: 100,
      });
      const scores = (results: Result[]) => results.map(({ id, similarity }) => [id, similarity]);
      const results = await found({ query, searchMode, threshold: 0.1, rerank: rerank ? 'order' : 'none' });
      expect(results.length).toBeGreaterThan(0);
      expect(scores(results)).toEqual(scores(legacy.body.results));
    }
  });

  it('includes documents and related memories where they are asked for, of this namespace and of the filter', async () => {
    const include = { documents: true, related: true };
    const results = await found({ query: 'the user moved to Lisbon', searchMode: 'memories', include });
    const moved = results.find(({ memory }) => memory?.includes('Lisbon') && !memory.startsWith('On '))!;
    expect(moved.included.document).toEqual({
      ...{ id: expect.any(String), title: null, type: 'text', summary: null },
      metadata: { source: 'chat', turn: 1, archived: false, labels: ['Home'], 'a.b': 'dotted' },
      system: { createdAt: expect.any(String), updatedAt: expect.any(String) },
    });
    expect(moved.included.related).toEqual({
      parents: [
        {
          ...{ id: expect.any(String), relation: 'updates', version: -1, memory: 'The user lives in Porto.' },
          ...{ metadata: expect.any(Object), system: { updatedAt: expect.any(String) } },
        },
      ],
      children: [],
      siblings: [],
    });
    const filter = { field: 'team', operator: 'neq', value: 'north' };
    const narrowed = await found({ query: 'the user moved to Lisbon', searchMode: 'memories', include, filter });
    expect(narrowed.find(({ id }) => id === moved.id)!.included.related.parents).toEqual([]);
    expect((await found({ query: 'Braga' })).map(({ memory, chunk }) => memory ?? chunk).join()).not.toContain('Braga');
  });

  it('shows what is forgotten only when it is asked for', async () => {
    await test.call('POST', '/v4/memories', { containerTag: 'lost', memories: [{ content: 'Ada collects stamps.' }] });
    await test.call('DELETE', '/v4/memories', { containerTag: 'lost', content: 'Ada collects stamps.' });
    const body = { query: 'stamps', threshold: 0, searchMode: 'memories' };
    expect((await search(body, 'lost')).body.results).toEqual([]);
    const { results } = (await search({ ...body, include: { forgotten: true } }, 'lost')).body;
    expect(results).toMatchObject([{ memory: 'Ada collects stamps.', isLatest: false, metadata: {} }]);
  });

  it('in one that does not exist finds nothing, and does not make it', async () => {
    expect((await search({ query: 'x' }, 'nowhere')).body.results).toEqual([]);
    const tags = (await test.call('GET', '/v3/container-tags/list')).body;
    expect(tags.map((tag: { containerTag: string }) => tag.containerTag)).not.toContain('nowhere');
  });

  it.each([
    [{}],
    [{ query: '' }],
    [{ query: 7 }],
    [{ q: 'x' }],
    [{ query: 'x', containerTag: 'ada' }],
    [{ query: 'x', filters: { AND: [] } }],
    [{ query: 'x', limit: 0 }],
    [{ query: 'x', limit: 101 }],
    [{ query: 'x', threshold: 1.1 }],
    [{ query: 'x', searchMode: 'documents' }],
    [{ query: 'x', rerank: true }],
    [{ query: 'x', include: { chunks: true } }],
  ])('is refused as %j', async (body) => {
    expect((await search(body)).status).toBe(400);
  });

  it('takes nothing from its query', async () => {
    expect((await test.call('POST', '/ns/ada/search?limit=10', { query: 'x' })).status).toBe(400);
    for (const threshold of [0, 1]) expect((await search({ query: 'x', threshold })).status).toBe(200);
  });
});

describe('a filter', () => {
  const condition = (operator: string, value: unknown, more: object = {}) => ({
    field: 'source',
    operator,
    value,
    ...more,
  });
  /** Whether the home of Porto passes. */
  async function passes(filter: object): Promise<boolean> {
    const results = await found({ query: 'I live in Porto.', searchMode: 'chunks', filter });
    return results.some(({ chunk }) => chunk === 'I live in Porto.');
  }

  it.each<[string, unknown, boolean, object?]>([
    ['eq', 'chat', true],
    ['eq', 'CHAT', false],
    ['eq', 'CHAT', true, { caseSensitive: false }],
    ['neq', 'chat', false],
    ['neq', 'Chat', true],
    ['neq', 'Chat', false, { caseSensitive: false }],
    ['neq', 'x', true, { field: 'absent' }],
    ['eq', 1, true, { field: 'turn' }],
    ['eq', '1', false, { field: 'turn' }],
    ['eq', false, true, { field: 'archived' }],
    ['eq', 'Home', false, { field: 'labels' }],
    ['gt', 0.5, true, { field: 'turn' }],
    ['gt', 1, false, { field: 'turn' }],
    ['gte', 1, true, { field: 'turn' }],
    ['lt', 1, false, { field: 'turn' }],
    ['lte', 1, true, { field: 'turn' }],
    ['lt', 9, false, { field: 'absent' }],
    ['lt', 9, false],
    ['contains', 'ha', true],
    ['contains', 'HA', false],
    ['contains', 'HA', true, { caseSensitive: false }],
    ['contains', 'om', false, { field: 'labels' }],
    ['notContains', 'ha', false],
    ['notContains', 'x', true],
    ['notContains', 'x', true, { field: 'absent' }],
    ['arrayContains', 'Home', true, { field: 'labels' }],
    ['arrayContains', 'home', false, { field: 'labels' }],
    ['arrayContains', 'chat', false],
    ['arrayNotContains', 'Home', false, { field: 'labels' }],
    ['arrayNotContains', 'x', true, { field: 'labels' }],
    ['eq', 'dotted', true, { field: 'a.b' }],
    ['eq', 'north', true, { field: 'team' }],
    ['eq', 'group', false],
    ['neq', 'x', true, { field: 'sm_internal_x' }],
  ])('%s %j is %s %j', async (operator, value, expected, more) => {
    expect(await passes(condition(operator, value, more))).toBe(expected);
  });

  it('of groups is read as both dialects write it', async () => {
    const chat = condition('eq', 'chat');
    const tree = { operator: 'and', operands: [chat, { operator: 'or', operands: [chat, condition('eq', 'x')] }] };
    expect(await passes(tree)).toBe(true);
    expect(await passes({ operator: 'and', operands: [chat, condition('eq', 'x')] })).toBe(false);
    const legacy = { AND: [{ key: 'source', value: 'chat' }] };
    const listed = await test.call('POST', '/v3/documents/list', { containerTag: 'ada', filters: legacy });
    const ids = listed.body.memories.map(({ id }: { id: string }) => id);
    const documents = await found({ query: 'x', searchMode: 'chunks', filter: chat, include: { documents: true } });
    expect(new Set(documents.map(({ included }) => included.document.id))).toEqual(new Set(ids));
  });

  const nested = (levels: number): object =>
    levels === 0 ? condition('eq', 'chat') : { operator: 'and', operands: [nested(levels - 1)] };
  const wide = (count: number) => ({
    operator: 'or',
    operands: Array.from({ length: count }, () => condition('eq', 'chat')),
  });

  it('has bounds', async () => {
    expect([await passes(nested(5)), await passes(wide(200))]).toEqual([true, true]);
    const manyConditions = { operator: 'or', operands: Array.from({ length: 6 }, () => wide(200)) };
    for (const filter of [nested(6), wide(0), wide(201), manyConditions]) {
      expect((await search({ query: 'x', filter })).status).toBe(400);
    }
  });

  it.each([
    [{}],
    [[]],
    ['source'],
    [condition('is', 'chat')],
    [condition('toString', 'chat')],
    [condition('eq', null)],
    [condition('eq', ['chat'])],
    [condition('gt', '1')],
    [condition('contains', 1)],
    [condition('arrayContains', 1)],
    [condition('eq', 1, { caseSensitive: true })],
    [condition('gt', 1, { caseSensitive: false })],
    [condition('arrayContains', 'x', { caseSensitive: false })],
    [condition('eq', 'chat', { negate: true })],
    [condition('eq', 'chat', { field: '' })],
    [condition('eq', 'chat', { field: 'a b' })],
    [{ AND: [condition('eq', 'chat')] }],
    [{ key: 'source', value: 'chat', filterType: 'metadata' }],
    [{ operator: 'and', operands: [condition('eq', 'chat')], negate: true }],
    [{ operator: 'and' }],
  ])('is refused as %j', async (filter) => {
    const { status, body } = await search({ query: 'x', filter });
    expect([status, body]).toEqual([400, expect.objectContaining({ success: false })]);
  });
});

describe('the profile of a namespace', () => {
  const profile = (body?: object, namespace = 'ada') => test.call('POST', `/ns/${namespace}/profile`, body);
  const asMarkdown = (accept: string, key: string = fullKey) =>
    test.api.inject({ method: 'POST', url: '/ns/ada/profile', headers: { accept, authorization: `Bearer ${key}` } });

  it('has its three sections with the ids of memories, whatever body is sent', async () => {
    const { status, body } = await profile();
    expect(status).toBe(200);
    expect(Object.keys(body.profile)).toEqual(['static', 'dynamic', 'buckets']);
    const lines = [...body.profile.static, ...body.profile.dynamic];
    expect(lines).toContainEqual({ id: expect.any(String), memory: expect.stringContaining('Lisbon') });
    expect((await profile({})).body).toEqual(body);
    const legacy = (await test.call('POST', '/v4/profile', { containerTag: 'ada' })).body.profile;
    expect(body.profile.static.map(({ memory }: { memory: string }) => memory)).toEqual(legacy.static);
    const empty = { static: [], dynamic: [] };
    expect((await profile({ buckets: [] }, 'nowhere')).body.profile).toEqual({ ...empty, buckets: {} });
    expect((await profile({ filter: { field: 'source', operator: 'eq', value: 'x' } })).body.profile).toMatchObject(
      empty,
    );
  });

  it('shows the buckets that are named and known', async () => {
    expect(Object.keys((await profile({ buckets: ['preferences', 'unknown'] })).body.profile.buckets)).toEqual([
      'preferences',
    ]);
    const many = Array.from({ length: 51 }, (_, place) => `b${place}`);
    for (const buckets of [many, ['Upper'], ['']]) expect((await profile({ buckets })).status).toBe(400);
    expect((await profile({ q: 'x' })).status).toBe(400);
  });

  it('is text for who asks for it; errors never are', async () => {
    const text = await asMarkdown('text/markdown');
    expect([text.statusCode, text.headers['content-type']]).toEqual([200, 'text/markdown; charset=utf-8']);
    expect(text.body).toMatch(/^## Static\n[^]*## Dynamic\n[^]*## preferences/);
    expect(text.body).toContain('- The user');
    for (const accept of ['*/*', 'application/json', 'text/html, */*']) {
      expect((await asMarkdown(accept)).headers['content-type']).toContain('application/json');
    }
    const refused = await asMarkdown('text/markdown', 'wrong');
    expect([refused.statusCode, refused.json()]).toEqual([401, { error: 'Invalid API key' }]);
  });
});
