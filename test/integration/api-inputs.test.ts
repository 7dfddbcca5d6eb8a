import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';

const odd = 'a\u0000b\ud800c';
const boundary = 'a-boundary-between-the-parts-of-a-form';
const clean = 'ab\ufffdc';
const nested = { author: { name: 'Mira', tags: ['x', { deep: null }] }, n: 1.5, none: null, 'a.b': 'whole' };

describe('inputs', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
  });
  afterAll(() => test.close());

  const add = (fields: object) =>
    test.call('POST', '/v3/documents', { content: 'Text.', containerTag: 'in', ...fields });
  const raw = (text: string, url = '/v3/documents', method: 'POST' | 'PATCH' = 'POST') =>
    test.api.inject({
      ...{ method, url, payload: text },
      headers: { authorization: `Bearer ${fullKey}`, 'content-type': 'application/json' },
    });
  const form = (parts: readonly (readonly [head: string, text: string])[]) => {
    const body = parts
      .map(([head, text]) => `--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n${text}\r\n`)
      .join('');
    const headers = { authorization: `Bearer ${fullKey}`, 'content-type': `multipart/form-data; boundary=${boundary}` };
    return test.api.inject({
      method: 'POST',
      url: '/v3/documents/file',
      payload: `${body}--${boundary}--\r\n`,
      headers,
    });
  };

  it('with U+0000 and halves of surrogate pairs are stored without them, wherever they stand', async () => {
    const json = (value: unknown) => JSON.stringify(value);
    const fields = { containerTag: 'in', metadata: { k: odd, list: [odd] }, filterByMetadata: { k: odd } };
    const { body } = await add(fields);
    const stored = await test.call('GET', `/v3/documents/${body.id}`);
    expect(stored.body.metadata).toEqual({ k: clean, list: [clean] });
    const sent = await form([
      ['name="file"; filename="name.txt"', 'Text.'],
      ['name="containerTag"', 'in'],
      ['name="metadata"', json({ k: odd })],
      ['name="filterByMetadata"', json({ k: odd })],
    ]);
    expect([sent.statusCode, sent.body]).toEqual([200, expect.any(String)]);
    const batch = await test.call('POST', '/v3/documents/batch', {
      containerTag: 'in',
      documents: [odd, { content: odd }],
    });
    expect([batch.status, batch.body.failed]).toEqual([200, 0]);
    for (const { id } of batch.body.results)
      expect((await test.call('GET', `/v3/documents/${id}`)).body.content).toBe(clean);
    const filters = json({
      AND: [
        { key: 'k', value: odd },
        { key: 'k', value: odd, filterType: 'array_contains' },
      ],
    });
    for (const url of ['/v3/search', '/v4/search'])
      expect((await test.call('POST', url, { q: odd, containerTag: 'in', filters })).status).toBeLessThan(500);
    for (const path of ['/v3/documents/a%00b', '/v3/documents/%ED%A0%80', '/v3/documents?filepath=%00'])
      expect((await test.call('GET', path)).status).toBeLessThan(500);
  });

  it('that name something are refused with them, so that no id becomes another', async () => {
    await add({ customId: 'abc' });
    for (const name of ['a\u0000bc', 'ab\ud800c']) {
      const refused = await add({ customId: name });
      expect([refused.status, refused.body.error]).toEqual([
        400,
        'customId must not contain U+0000 or half of a surrogate pair',
      ]);
      expect((await add({ filepath: `/${name}` })).status).toBe(400);
      expect((await add({ metadata: { [name]: 1 } })).status).toBe(400);
      const messages = [{ role: 'user', content: 'a' }];
      const conversation = { conversationId: name, containerTag: 'in', messages };
      expect((await test.call('POST', '/v4/conversations', conversation)).status).toBe(400);
      expect((await test.call('DELETE', '/v3/documents/bulk', { ids: [name] })).status).toBe(400);
      const batch = { containerTag: 'in', documents: [{ content: 'x', customId: name }, { content: 'y' }] };
      const { status, body } = await test.call('POST', '/v3/documents/batch', batch);
      expect([status, body.failed, body.results[0].status]).toEqual([200, 1, 'error']);
    }
    const file = ['name="file"; filename="name.txt"', 'Text.'] as const;
    expect((await form([file, ['name="customId"', 'a\0bc']])).statusCode).toBe(400);
    expect((await form([['name="file"; filename="a\0bc.txt"', 'Text.']])).statusCode).toBe(400);
    expect((await test.call('GET', '/v3/documents/abc')).body.content).toBe('Text.');
  });

  it('of forms and of queries that change something are known, and the nearest name is given', async () => {
    const file = ['name="file"; filename="name.txt"', 'Text.'] as const;
    const wrong = await form([file, ['name="containerTga"', 'in']]);
    expect([wrong.statusCode, wrong.body]).toEqual([
      400,
      expect.stringContaining('containerTga is not known; did you mean containerTag?'),
    ]);
    expect((await form([file, ['name="useAdvancedProcessing"', 'true']])).statusCode).toBe(200);
  });

  it('with keys that reach into objects are refused', async () => {
    for (const key of ['__proto__', 'constructor'])
      for (const text of [`{"content":"x","${key}":{}}`, `{"content":"x","metadata":{"a":{"${key}":{"b":1}}}}`])
        expect((await raw(text)).json()).toEqual({ error: `The body has a key that is named ${key}` });
    const file = ['name="file"; filename="a.txt"', 'Text.'] as const;
    expect((await form([file, ['name="__proto__"', '{}']])).statusCode).toBe(400);
    expect((await form([file, ['name="metadata"', '{"__proto__":{"a":1}}']])).statusCode).toBe(400);
  });

  it('that are nested or numerous beyond measure are refused before they are checked', async () => {
    const deep = `{"content":"x","metadata":{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}}`;
    expect((await raw(deep)).json()).toEqual({ error: 'The body is nested deeper than 100 levels' });
    const many = `{"content":"x","metadata":{${Array.from({ length: 90_000 }, (_, i) => `"k${i}":1`).join()}}}`;
    expect((await raw(many)).json()).toEqual({ error: 'The body has an object with more than 1000 keys' });
    const parts = Array.from({ length: 5_000 }, (_, i) => [`name="f${i}"`, 'x'] as const);
    expect((await form(parts)).json()).toEqual({ error: 'The form has more than 100 parts' });
    const wrong = await raw(
      `{"documents":[${Array.from({ length: 100_000 }, () => '1').join()}]}`,
      '/v3/documents/batch',
    );
    expect(wrong.statusCode).toBe(400);
    expect(wrong.json().error.length).toBeLessThanOrEqual(100);
  });

  it('of changes are known, and the nearest name is given for those that are not', async () => {
    const { body } = await add({});
    const change = await test.call('PATCH', `/v3/documents/${body.id}`, { metdata: { a: 1 } });
    expect(change.body).toMatchObject({
      error: [{ message: 'metdata is not known; did you mean metadata?', path: ['metdata'] }],
    });
    expect((await test.call('PATCH', '/v3/settings', { quietHours: true })).status).toBe(400);
  });

  it('of deletions and queries of changes are known, so that nothing is done that was to be tried', async () => {
    const { body } = await add({ containerTag: 'kept' });
    const trial = await test.call('DELETE', '/v3/documents/bulk', { ids: [body.id], dryRun: true });
    expect(trial.body).toMatchObject({
      error: [{ message: expect.stringMatching(/^dryRun is not known/), path: ['dryRun'] }],
    });
    for (const [method, path, given] of [
      ['DELETE', '/v3/documents/bulk?dryRun=true', { ids: [body.id] }],
      ['DELETE', `/v3/documents/${body.id}?dryRun=true`, undefined],
      ['POST', '/v3/documents?dryRun=true', { content: 'x' }],
    ] as const)
      expect((await test.call(method, path, given)).body).toMatchObject({
        error: [{ message: expect.stringMatching(/^dryRun is not known/), path: ['dryRun'] }],
      });
    expect((await test.call('GET', `/v3/documents/${body.id}`)).status).toBe(200);
  });

  it('of metadata are any JSON, returned as given and found by path', async () => {
    const { body } = await add({ containerTag: 'meta', metadata: nested, customId: 'm' });
    await add({ containerTag: 'meta', metadata: { author: { name: 'Bob' } }, customId: 'other' });
    expect((await test.call('GET', `/v3/documents/${body.id}`)).body.metadata).toEqual(nested);
    const found = async (key: string, value: string, more: object = {}) => {
      const filters = { AND: [{ key, value, ...more }] };
      const list = await test.call('POST', '/v3/documents/list', { containerTags: ['meta'], filters });
      return list.body.memories.map((one: { customId: string }) => one.customId);
    };
    expect(await found('author.name', 'Mira')).toEqual(['m']);
    expect(await found('author.tags', 'x', { filterType: 'array_contains' })).toEqual(['m']);
    expect(await found('author.name', 'o', { filterType: 'string_contains' })).toEqual(['other']);
    expect(await found('author.name', 'Mira', { negate: true })).toEqual(['other']);
    // A field that is named like a path is that field.
    expect(await found('a.b', 'whole')).toEqual(['m']);
    const deep = Array.from({ length: 9 }).reduce<unknown>((inner) => ({ a: inner }), 1);
    expect((await add({ metadata: { deep } })).body).toEqual({ error: 'metadata is nested deeper than 8 levels' });
    const wide = { list: Array.from({ length: 1_001 }, () => 1) };
    expect((await add({ metadata: wide })).body).toEqual({ error: 'metadata has more than 1000 values' });
  });
});
