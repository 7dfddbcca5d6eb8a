import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

/** Requests as the published client of version 5 makes them, and the tools of `@supermemory/tools` 3 through it. */

let test: TestApi;
beforeAll(async () => {
  test = await startTestApi({ connectors: { synthetic: createSyntheticSource().connector() } });
});
afterAll(() => test.close());

const clientHeaders = {
  authorization: `Bearer ${fullKey}`,
  'x-fern-language': 'JavaScript',
  'x-fern-runtime': 'node',
  'x-fern-runtime-version': '24.0.0',
  'x-content-hash': 'c2hhMjU2',
  'x-sm-source': 'tools',
};

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Throws as the client does: by status, with the body. */
async function request(method: Method, parts: string[], { query = '', body }: { query?: string; body?: object } = {}) {
  const response = await test.api.inject({
    method,
    url: `/${parts.map(encodeURIComponent).join('/')}${query}`,
    headers: { ...clientHeaders, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { payload: JSON.stringify(body) }),
  });
  const answer = response.json();
  if (response.statusCode >= 300)
    throw Object.assign(new Error(answer.error), { status: response.statusCode, response });
  return answer;
}

const namespace = 'sm_project_default';
const add = (body: object) => request('POST', ['ns', namespace, 'document'], { body });
const getDocument = (id: string) =>
  request('GET', ['ns', namespace, 'document', id], { query: '?include=chunks&include=memories' });
const search = (body: object) => request('POST', ['ns', namespace, 'search'], { body });
const forget = (ids: string[]) => request('DELETE', ['ns', namespace, 'memories'], { body: { ids } });

describe('the tools for models', () => {
  it('add, search and show what is known', async () => {
    await add({ content: 'I am allergic to peanuts.', dreaming: 'instant' });
    await test.process();
    const { results } = await search({ query: 'allergic to peanuts', searchMode: 'hybrid', threshold: 0.6, limit: 50 });
    expect(results.map((one: { memory?: string; chunk?: string }) => one.memory ?? one.chunk).join()).toContain(
      'peanuts',
    );
    const [{ profile }, found] = await Promise.all([
      request('POST', ['ns', namespace, 'profile'], { body: {} }),
      search({ query: 'allergic to peanuts', searchMode: 'memories', threshold: 0.6 }),
    ]);
    expect(JSON.stringify(profile)).toContain('allergic to peanuts');
    expect(found.results[0]).toMatchObject({ memory: expect.stringContaining('peanuts') });
  });

  it('forget by text exactly what they were shown', async () => {
    await add({ content: 'I live in Porto. I prefer short mails.', dreaming: 'instant' });
    await test.process();
    const wanted = 'the user prefers short mails.';
    const body = { query: wanted, dryRun: true };
    const { matches } = await request('DELETE', ['ns', namespace, 'memories', 'semantic'], { body });
    const same = matches.filter(({ memory }: { memory: string }) => memory.toLowerCase() === wanted);
    expect(same).toHaveLength(1);
    expect(await forget(same.map(({ id }: { id: string }) => id))).toMatchObject({ count: 1, errors: [] });
    const left = await request('POST', ['ns', namespace, 'list', 'memories'], { query: '?limit=100', body: {} });
    const facts = left.memories.map(({ memory }: { memory: string }) => memory);
    expect(facts).toContain('The user lives in Porto.');
    expect(facts).not.toContain('The user prefers short mails.');
  });

  it('add, list and delete documents, by ids of their own', async () => {
    await add({
      content: 'A page about bridges.',
      id: '/notes/bridges.md',
      metadata: { title: 'Bridges', description: 'Spans.' },
    });
    await test.process();
    const { documents } = await request('POST', ['ns', namespace, 'list', 'documents'], {
      query: '?limit=5&page=1',
      body: {},
    });
    expect(documents[0]).toMatchObject({ title: 'Bridges', metadata: { description: 'Spans.' } });
    const document = await getDocument('/notes/bridges.md');
    expect(document.system.status).toBe('done');
    const remove = () => request('DELETE', ['ns', namespace, 'document'], { body: { ids: [document.id] } });
    expect(await remove()).toEqual({ count: 1, errors: [] });
    expect(await remove()).toEqual({ count: 0, errors: [{ id: document.id, error: 'Document not found' }] });
  });

  it('keep a file as one document that is created, shown and replaced', async () => {
    const id = 'memories--plan.md';
    await add({ content: '1. Ask Mira', id, metadata: { source: 'claude-memory' } });
    await request('PATCH', ['ns', namespace, 'document', id], { body: { content: '1. Ask Ada\n2. Book a room' } });
    await test.process();
    expect((await getDocument(id)).content).toBe('1. Ask Ada\n2. Book a room');
    const filter = { field: 'source', operator: 'eq', value: 'claude-memory' };
    const { documents } = await request('POST', ['ns', namespace, 'list', 'documents'], { body: { filter } });
    expect(documents.map((one: { id: string }) => one.id)).toEqual([(await getDocument(id)).id]);
  });
});

describe('the client', () => {
  it('learns of errors by their status, with the id of the request', async () => {
    const missing = await getDocument('missing').catch((error: any) => error);
    expect([missing.status, missing.response.headers['x-request-id']]).toEqual([404, expect.any(String)]);
    const { id } = await request('POST', ['ns', namespace, 'connectors'], {
      body: { provider: 'synthetic', documentLimit: 5 },
    });
    const sync = () => request('POST', ['ns', namespace, 'connectors', id, 'sync']);
    await test.services.connections.cancelRun(id);
    expect(await sync()).toEqual({ id, status: 'queued' });
    expect(await sync().catch((error: any) => error.status)).toBe(409);
  });

  it('never gets a status that it would ask again for when asking again is pointless', async () => {
    const asked: [Method, string[], object?][] = [
      ['POST', ['ns', namespace, 'connectors'], { provider: 's3', config: {} }],
      ['POST', ['ns', namespace, 'connectors'], { provider: 'onedrive' }],
      ['POST', ['feedback'], { type: 'bug' }],
      ['POST', ['ns', namespace, 'document'], { content: 'ftp://old.example/a' }],
      ['POST', ['ns', 'a b', 'document'], { content: 'x' }],
      ['DELETE', ['ns', 'nowhere']],
      ['PATCH', ['ns', namespace, 'document', 'missing'], { content: 'x' }],
    ];
    for (const [method, parts, body] of asked) {
      const error = await request(method, parts, body ? { body } : {}).catch((thrown: any) => thrown);
      expect([parts.join('/'), error.status]).toEqual([parts.join('/'), expect.toBeOneOf([400, 404])]);
    }
  });
});
