/* oxlint-disable typescript/no-deprecated -- what the published client still offers is what callers still use */
import Supermemory from 'supermemory';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../support/daemon.ts';

const apiKey = 'key of the test';
const id = expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{22}$/);

let daemon: Daemon;
let client: Supermemory;

beforeAll(async () => {
  daemon = await startDaemon({ env: { MEMORYD_API_KEY: apiKey, MEMORYD_EMBEDDER_KIND: 'hashing' } });
  client = new Supermemory({ baseURL: `${daemon.url}/`, apiKey, maxRetries: 0 });
});
afterAll(() => daemon.stop());

async function untilDone(document: string) {
  await expect.poll(async () => (await client.documents.get(document)).status, { timeout: 30_000 }).toBe('done');
}

describe('the official client', () => {
  it('adds a text and waits until it is done', async () => {
    const added = await client.add({
      content: 'The harbour crane lifts containers at dawn.',
      containerTag: 'user_mira',
      customId: 'crane',
      metadata: { kind: 'port', turns: 6, archived: false, labels: ['planning'] },
    });
    expect(added).toEqual({ id, status: 'queued' });
    await untilDone(added.id);
    expect(await client.documents.get('crane')).toMatchObject({
      id: added.id,
      customId: 'crane',
      content: 'The harbour crane lifts containers at dawn.',
      containerTags: ['user_mira'],
      metadata: { kind: 'port', turns: 6, archived: false, labels: ['planning'] },
      source: 'api',
      type: 'text',
      status: 'done',
      connectionId: null,
    });
  });

  it('replaces what has the same customId', async () => {
    const first = await client.documents.add({
      content: 'Meetings are on Monday.',
      containerTag: 'upsert',
      customId: 'plan',
    });
    await untilDone(first.id);
    const second = await client.add({ content: 'Meetings are on Thursday.', containerTag: 'upsert', customId: 'plan' });
    expect(second.id).toBe(first.id);
    await untilDone(first.id);
    const { memories } = await client.documents.list({ containerTags: ['upsert'], includeContent: true });
    expect(memories.map((document) => document.content)).toEqual(['Meetings are on Thursday.']);
    const { results } = await client.search({
      q: 'Meetings Monday',
      containerTag: 'upsert',
      searchMode: 'documents',
      threshold: 0,
    });
    expect(results.map((result) => result.chunk)).toEqual(['Meetings are on Thursday.']);
  });

  it('adds many, of which a bad one fails alone', async () => {
    const answer = await client.documents.batchAdd({
      containerTag: 'batch',
      metadata: { import: '2026-03' },
      documents: [
        { content: 'The bakery sells bread at dawn.', customId: 'bakery' },
        { content: '', customId: 'empty' },
        { content: 'The library opens at noon.', customId: 'library' },
      ],
    });
    expect(answer).toMatchObject({ success: 2, failed: 1 });
    expect(answer.results.map((result) => result.status)).toEqual(['queued', 'error', 'queued']);
    for (const { id: added } of answer.results) if (added !== '') await untilDone(added);
    const strings = await client.documents.batchAdd({
      containerTag: 'batch_strings',
      documents: ['one text', 'another text'],
    });
    expect(strings).toMatchObject({ success: 2, failed: 0 });
  });

  it('lists pages with filters', async () => {
    const page = await client.documents.list({
      containerTags: ['batch'],
      limit: 1,
      page: 2,
      sort: 'createdAt',
      order: 'asc',
      filters: { AND: [{ key: 'import', value: '2026-03' }] },
    });
    expect(page.pagination).toEqual({ currentPage: 2, limit: 1, totalItems: 2, totalPages: 2 });
    expect(page.memories.map((document) => document.customId)).toEqual(['library']);
    expect((await client.documents.listProcessing()).totalCount).toEqual(expect.any(Number));
  });

  it('searches documents and in hybrid mode', async () => {
    for (const searchMode of ['documents', 'hybrid'] as const) {
      const { results, total, timing } = await client.search({
        q: 'harbour crane',
        containerTag: 'user_mira',
        searchMode,
        limit: 5,
        rerank: true,
        rewriteQuery: true,
        include: { documents: true, summaries: true, relatedMemories: true },
      });
      expect([total, timing]).toEqual([results.length, expect.any(Number)]);
      expect(results[0]).toMatchObject({
        id,
        chunk: 'The harbour crane lifts containers at dawn.',
        similarity: expect.toSatisfy((value) => value >= 0.6 && value <= 1),
        metadata: { kind: 'port' },
        documents: [{ type: 'text', metadata: { kind: 'port' }, createdAt: expect.any(String) }],
      });
    }
    const elsewhere = await client.search({ q: 'harbour crane', containerTag: 'batch', searchMode: 'documents' });
    expect(elsewhere.results).toEqual([]);
    expect((await client.search.memories({ q: 'harbour crane', containerTag: 'user_mira' })).results).toEqual(
      expect.any(Array),
    );
  });

  it('uploads a file', async () => {
    const file = new File(['# Roadmap\n\nThe tunnel opens in June.'], 'roadmap.md', { type: 'text/markdown' });
    const added = await client.documents.uploadFile({
      file,
      containerTag: 'files',
      metadata: '{"title":"Roadmap 2026"}',
    });
    await untilDone(added.id);
    expect(await client.documents.get(added.id)).toMatchObject({ title: 'Roadmap 2026', source: 'file', raw: null });
    const { results } = await client.search({
      q: 'tunnel June',
      containerTag: 'files',
      searchMode: 'documents',
      threshold: 0,
    });
    expect(results[0]?.chunk).toContain('The tunnel opens in June.');
  });

  it('deletes', async () => {
    const { id: doomed } = await client.add({ content: 'To be deleted.', containerTag: 'deleted' });
    await client.documents.delete(doomed);
    await expect(client.documents.get(doomed)).rejects.toThrow(Supermemory.NotFoundError);
    await expect(client.documents.delete(doomed)).rejects.toThrow(Supermemory.NotFoundError);
  });

  it('lists connections, and learns what is not there', async () => {
    expect(await client.connections.list({})).toEqual([]);
    await expect(client.connections.getByID('none')).rejects.toThrow(Supermemory.NotFoundError);
    await expect(client.connections.import('onedrive', {})).rejects.toMatchObject({ status: 501 });
  });

  it('gets its error classes, with our words in them', async () => {
    const stranger = new Supermemory({ baseURL: daemon.url, apiKey: 'wrong', maxRetries: 0 });
    await expect(stranger.documents.list({})).rejects.toThrow(Supermemory.AuthenticationError);
    await expect(client.documents.get('missing')).rejects.toMatchObject({
      constructor: Supermemory.NotFoundError,
      status: 404,
      error: { error: 'Document not found' },
      message: '404 {"error":"Document not found"}',
    });
    await expect(client.add({ content: '' })).rejects.toMatchObject({
      constructor: Supermemory.BadRequestError,
      error: {
        success: false,
        error: [{ message: 'content must not be empty', path: ['content'] }],
        data: { content: '' },
      },
    });
    await expect(client.add({ content: 'x', containerTags: ['one', 'two'] })).rejects.toThrow(
      Supermemory.BadRequestError,
    );
    await expect(client.search.documents({ q: 'x' })).rejects.toThrow(/searchMode/);
    await expect(client.get('/_stainless_unknown_path')).rejects.toThrow(Supermemory.NotFoundError);
  });

  it('is refused what its key may not do', async () => {
    const made = await client.post<{ key: string }>('/v3/auth/scoped-key', {
      body: { containerTag: 'user_mira', permission: 'read' },
    });
    const reader = new Supermemory({ baseURL: daemon.url, apiKey: made.key, maxRetries: 0 });
    expect((await reader.documents.get('crane')).customId).toBe('crane');
    await expect(reader.documents.list({ containerTags: ['batch'] })).rejects.toThrow(
      Supermemory.PermissionDeniedError,
    );
    await expect(reader.add({ content: 'x' })).rejects.toThrow(Supermemory.PermissionDeniedError);
    await expect(reader.get('/ns/batch/document/bakery')).rejects.toThrow(Supermemory.PermissionDeniedError);
  });

  it('does not try a permanent conflict again', async () => {
    let requests = 0;
    const counting: typeof fetch = (...request) => {
      requests++;
      return fetch(...request);
    };
    const patient = new Supermemory({ baseURL: daemon.url, apiKey, maxRetries: 2, logLevel: 'off', fetch: counting });
    for (const containerTag of ['left', 'right']) await patient.add({ content: 'x', containerTag, customId: 'both' });
    requests = 0;
    await expect(patient.documents.get('both')).rejects.toThrow(Supermemory.ConflictError);
    expect(requests).toBe(1);
  });
});

it('a daemon that was killed remembers everything when it starts again', async () => {
  const first = await startDaemon({ env: { MEMORYD_API_KEY: apiKey, MEMORYD_EMBEDDER_KIND: 'hashing' } });
  const before = new Supermemory({ baseURL: first.url, apiKey, maxRetries: 0 });
  const { results } = await before.documents.batchAdd({
    documents: ['one', 'two', 'three'],
    containerTag: 'survivors',
  });
  await first.kill();
  const second = await startDaemon({
    dataDir: first.dataDir,
    env: { MEMORYD_API_KEY: apiKey, MEMORYD_EMBEDDER_KIND: 'hashing' },
  });
  const after = new Supermemory({ baseURL: second.url, apiKey, maxRetries: 0 });
  for (const document of results) {
    await expect.poll(async () => (await after.documents.get(document.id)).status, { timeout: 30_000 }).toBe('done');
  }
  expect(await second.stop()).toBe(0);
});
