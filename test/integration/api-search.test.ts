import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemorydError } from '../../src/base/errors.ts';
import type { SearchRequest } from '../../src/search/search.ts';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';

describe('POST /v4/search', () => {
  let test: TestApi;
  let ids: string[];
  beforeAll(async () => {
    test = await startTestApi();
    const { body } = await test.call('POST', '/v3/documents/batch', {
      containerTag: 'team',
      documents: [
        {
          content: 'The harbour crane lifts containers at dawn.',
          customId: 'crane',
          metadata: { kind: 'port', title: 'Crane' },
        },
        {
          content: 'The bakery sells bread at dawn.',
          customId: 'bakery',
          documentDate: '2021-05-04T12:00:00Z',
          metadata: { kind: 'food' },
          filepath: '/food/bread',
        },
        { content: 'The harbour crane was painted yellow.', customId: 'paint', containerTag: 'other' },
      ],
    });
    ids = body.results.map((result: { id: string }) => result.id);
    await test.process();
  });
  afterAll(() => test.close());

  const search = async (body: object) =>
    (await test.call('POST', '/v4/search', { searchMode: 'documents', threshold: 0, ...body })).body;
  const texts = (body: { results: { chunk: string }[] }) => body.results.map((result) => result.chunk);

  it('answers the nearest when nothing reaches the threshold that holds without one', async () => {
    const q = 'dawn tomorrow';
    const all = await search({ q, containerTag: 'team' });
    const nearest = all.results.filter(({ similarity }: { similarity: number }) => similarity >= 0.3);
    expect(nearest.every(({ similarity }: { similarity: number }) => similarity < 0.6)).toBe(true);
    expect(nearest).not.toEqual([]);
    expect(texts(await search({ q, containerTag: 'team', threshold: undefined }))).toEqual(texts({ results: nearest }));
    expect(texts(await search({ q, containerTag: 'team', threshold: 0.6 }))).toEqual([]);
  });

  it('answers chunks with exactly the fields of the contract', async () => {
    const body = await search({ q: 'harbour crane', containerTag: 'team', limit: 1 });
    expect(body).toEqual({
      results: [
        {
          id: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{22}$/),
          chunk: 'The harbour crane lifts containers at dawn.',
          similarity: expect.toSatisfy((value) => value > 0 && value <= 1),
          containerTag: 'team',
          kind: 'passage',
          category: null,
          author: null,
          extractor: null,
          trust: 'told',
          saidAt: null,
          sources: [
            {
              documentId: ids[0],
              title: 'Crane',
              type: 'text',
              url: null,
              filepath: null,
              author: null,
              trust: 'told',
              date: test.clock.now().toISOString(),
            },
          ],
          metadata: { kind: 'port', title: 'Crane' },
          createdAt: test.clock.now().toISOString(),
          updatedAt: test.clock.now().toISOString(),
          version: null,
          filepath: null,
        },
      ],
      total: 1,
      timing: 0,
    });
  });

  it('adds the source documents when asked', async () => {
    const document = {
      id: ids[0],
      customId: 'crane',
      title: 'Crane',
      type: 'text',
      url: null,
      metadata: { kind: 'port', title: 'Crane' },
      createdAt: test.clock.now().toISOString(),
      updatedAt: test.clock.now().toISOString(),
    };
    const ask = async (include: object) =>
      (await search({ q: 'harbour crane', containerTag: 'team', limit: 1, include })).results[0].documents;
    expect(await ask({ documents: true })).toEqual([document]);
    expect(await ask({ summaries: true })).toEqual([{ ...document, summary: null }]);
    expect(await ask({ documents: false })).toBeUndefined();
  });

  it('stays in its containers', async () => {
    expect(texts(await search({ q: 'harbour crane', containerTag: 'other' }))).toEqual([
      'The harbour crane was painted yellow.',
    ]);
    expect(
      texts(await search({ q: 'harbour crane', containerTags: ['team'], containerTag: 'other', limit: 2 })),
    ).toHaveLength(2);
    expect(texts(await search({ q: 'harbour crane', containerTag: 'unknown' }))).toEqual([]);
    const key = await test.newKey({ containerTags: ['other'] });
    const { body } = await test.call('POST', '/v4/search', { q: 'dawn', searchMode: 'documents', threshold: 0 }, key);
    expect(texts(body)).toEqual(['The harbour crane was painted yellow.']);
  });

  it('takes filters, paths and documents', async () => {
    const filters = { AND: [{ key: 'kind', value: 'food' }] };
    for (const narrowing of [
      { filters },
      { filters: JSON.stringify(filters) },
      { filepath: '/food/' },
      { docId: 'bakery' },
      { dates: { from: '2021-05-04T14:00:00+02:00', to: '2021-05-04T12:00:00Z' } },
    ]) {
      expect(texts(await search({ q: 'dawn', containerTag: 'team', ...narrowing }))).toEqual([
        'The bakery sells bread at dawn.',
      ]);
    }
  });

  it('refuses dates that do not exist, and says which', async () => {
    for (const [end, day] of [
      ['from', '2021-02-31T00:00:00Z'],
      ['to', 'yesterday'],
    ] as const) {
      const { status, body } = await test.call('POST', '/v4/search', { q: 'dawn', dates: { [end]: day } });
      expect(status).toBe(400);
      expect(body.error[0].path).toEqual(['dates', end]);
    }
  });

  it('drops what is below the threshold, 0.6 unless told otherwise', async () => {
    const similarities = (body: { results: { similarity: number }[] }) =>
      body.results.map((result) => result.similarity);
    const all = similarities(await search({ q: 'bakery bread', containerTag: 'team' }));
    expect(all.some((similarity) => similarity < 0.6)).toBe(true);
    const { body } = await test.call('POST', '/v4/search', {
      q: 'bakery bread',
      containerTag: 'team',
      searchMode: 'documents',
    });
    expect(similarities(body)).toEqual(all.filter((similarity) => similarity >= 0.6));
    expect(similarities(body).length).toBeGreaterThan(0);
  });

  it('scores the best candidates again, and searches several wordings, without leaving its bounds', async () => {
    for (const flags of [{ rerank: true }, { rewriteQuery: true }, { rerank: true, rewriteQuery: true }]) {
      const found = await search({
        q: 'When is bread sold and what lifts containers?',
        containerTag: 'team',
        ...flags,
      });
      expect(texts(found).toSorted()).toEqual([
        'The bakery sells bread at dawn.',
        'The harbour crane lifts containers at dawn.',
      ]);
      expect(texts(await search({ q: 'yellow crane', containerTag: 'team', limit: 1, ...flags }))).toEqual([
        'The harbour crane lifts containers at dawn.',
      ]);
      expect(texts(await search({ q: 'crane', containerTag: 'unknown', ...flags }))).toEqual([]);
      const close = (await search({ q: 'harbour crane', containerTag: 'team', threshold: 0.6, ...flags })).results;
      expect(close.every(({ similarity }: { similarity: number }) => similarity >= 0.6)).toBe(true);
    }
  });

  it('searches memories by default, with passages where there are none, and both in hybrid mode', async () => {
    const asked = { q: 'harbour crane', containerTag: 'team', threshold: 0, limit: 1 };
    const { body } = await test.call('POST', '/v4/search', asked);
    const metadata = { kind: 'passage' };
    expect(body.results).toMatchObject([
      { memory: 'The harbour crane lifts containers at dawn.', version: null, metadata },
    ]);
    expect(body.results[0]).not.toHaveProperty('chunk');
    expect(body.results[0].sources).toHaveLength(1);
    expect(
      texts(await search({ q: 'harbour crane', containerTag: 'team', searchMode: 'hybrid', limit: 1 })),
    ).toHaveLength(1);
  });
});

it('tells the search when the client has gone', async () => {
  const asked = Promise.withResolvers<SearchRequest>();
  const aborted = Promise.withResolvers<void>();
  const test = await startTestApi({
    services: () => ({
      search: {
        async search(request) {
          asked.resolve(request);
          request.signal!.addEventListener('abort', () => aborted.resolve());
          await aborted.promise;
          request.signal!.throwIfAborted();
          return [];
        },
      },
    }),
  });
  const url = await test.api.listen({ port: 0, host: '127.0.0.1' });
  const client = new AbortController();
  const headers = { authorization: `Bearer ${fullKey}`, 'content-type': 'application/json' };
  const answer = fetch(`${url}/v4/search`, { method: 'POST', headers, body: '{"q":"x"}', signal: client.signal });
  expect((await asked.promise).signal!.aborted).toBe(false);
  client.abort();
  await expect(answer).rejects.toThrow();
  await aborted.promise;
  await test.close();
  expect(test.logged()).not.toContain('request failed');
});

it('answers a failing model with an error that may be tried again', async () => {
  const test = await startTestApi({
    services: () => ({
      search: {
        search: () =>
          Promise.reject(new MemorydError('embed_failed', 'The model does not answer', { retryAfterMs: 2_000 })),
      },
    }),
  });
  const { status, body, headers } = await test.call('POST', '/v4/search', { q: 'x' });
  expect({ status, body, after: headers['retry-after'] }).toEqual({
    status: 502,
    body: { error: 'The model does not answer' },
    after: '2',
  });
  await test.close();
});
