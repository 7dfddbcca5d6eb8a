/* oxlint-disable typescript/no-deprecated -- what the published client still offers is what callers still use */
import Supermemory from 'supermemory';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { unlikeStores, type OpenedStore } from '../support/stores.ts';

const apiKey = 'key of the test';

describe.each(unlikeStores)('the official client changes and removes on $name', (store) => {
  let opened: OpenedStore;
  let daemon: Daemon;
  let client: Supermemory;
  beforeAll(async () => {
    opened = await store.open();
    daemon = await startDaemon({
      env: {
        ...opened.env,
        MEMORYD_API_KEY: apiKey,
        MEMORYD_EMBEDDER_KIND: 'hashing',
        COMPAT: 'search-v3,plural-tags',
        METRICS: 'true',
      },
    });
    client = new Supermemory({ baseURL: daemon.url, apiKey, maxRetries: 0 });
  });
  afterAll(async () => {
    await daemon.stop();
    await opened.close();
  });

  const until = (id: string, status: string) =>
    expect.poll(async () => (await client.documents.get(id)).status, { timeout: 30_000 }).toBe(status);

  it('documents', async () => {
    const { id } = await client.add({ content: 'The crane is red.', containerTag: 'changes', customId: 'crane' });
    await until(id, 'done');
    expect(await client.documents.update('crane', {})).toEqual({ id, status: 'done' });
    expect(await client.documents.update('crane', { metadata: { paint: 'old' } })).toEqual({ id, status: 'done' });
    // It may be read again before the answer is written.
    const changed = await client.documents.update(id, { content: 'The crane is blue.' });
    expect(changed).toEqual({ id, status: expect.not.stringMatching(/^failed$/) });
    await until(id, 'done');
    expect(await client.documents.get(id)).toMatchObject({ content: 'The crane is blue.', metadata: { paint: 'old' } });
    const { results } = await client.search.documents({ q: 'crane', containerTags: ['changes'] });
    expect(results[0]).toMatchObject({ documentId: id, chunks: [{ content: 'The crane is blue.', isRelevant: true }] });
    expect((await client.documents.listProcessing()).documents).toEqual(expect.any(Array));
  });

  it('many documents', async () => {
    const { results } = await client.documents.batchAdd({ documents: ['one', 'two', 'three'], containerTag: 'many' });
    const ids = results.map((result) => result.id);
    expect(await client.documents.deleteBulk({ ids: [ids[0]!, 'no_such_doc'] })).toMatchObject({
      success: true,
      deletedCount: 1,
      errors: [{ id: 'no_such_doc' }],
    });
    expect(await client.documents.deleteBulk({ containerTags: ['many'] })).toMatchObject({ deletedCount: 2 });
    expect((await client.documents.list({ containerTags: ['many'] })).memories).toEqual([]);
  });

  it('the page at an address, unless it is on a private network', async () => {
    const { id } = await client.add({ content: `${daemon.url}/openapi.json`, containerTag: 'pages' });
    await until(id, 'failed');
    expect(await client.documents.get(id)).toMatchObject({ source: 'url', error: { code: 'fetch_blocked' } });
  });

  it('documents with several tags', async () => {
    const { id } = await client.add({ content: 'Plural.', containerTags: ['first', 'second'] });
    expect((await client.documents.get(id)).containerTags).toEqual(['first', 'second']);
    expect((await client.documents.list({ containerTags: ['second'] })).memories.map((one) => one.id)).toEqual([id]);
  });

  it('settings', async () => {
    const { updated, orgSlug } = await client.settings.update({
      shouldLLMFilter: true,
      filterPrompt: 'Keep decisions.',
    });
    expect([orgSlug, updated.filterPrompt]).toEqual(['local', 'Keep decisions.']);
    expect(await client.settings.get()).toMatchObject({ filterPrompt: 'Keep decisions.', chunkSize: -1 });
    await expect(client.settings.update({ chunkSize: 3 })).rejects.toThrow(Supermemory.BadRequestError);
    await client.settings.update({ filterPrompt: null, shouldLLMFilter: null });
    expect(await client.settings.get()).toMatchObject({ filterPrompt: null, shouldLLMFilter: false });
  });

  it('containers and conversations, where it has no methods', async () => {
    const post = <Answer>(path: string, body: object) => client.post<Answer>(path, { body });
    const messages = [{ role: 'user', content: 'Hello' }];
    const conversation = await post<{ id: string }>('/v4/conversations', {
      conversationId: 'c1',
      containerTags: ['old_tag'],
      messages,
    });
    await until(conversation.id, 'done');
    await client.add({ content: 'There', containerTag: 'new_tag' });
    const merge = await post<{ mergeId: string }>('/v3/container-tags/merge', {
      containerTags: ['old_tag', 'new_tag'],
      targetContainerTag: 'new_tag',
    });
    const status = async () =>
      (await client.get<{ status: string }>(`/v3/container-tags/merge/${merge.mergeId}`)).status;
    await expect.poll(status, { timeout: 30_000 }).toBe('completed');
    expect((await client.documents.get('c1')).containerTags).toEqual(['new_tag']);
    const removed = await client.delete<{ deletedDocumentsCount: number }>('/v3/container-tags/new_tag');
    expect(removed.deletedDocumentsCount).toBe(2);
  });

  it('a file that it uploaded, and opens its link', async () => {
    const file = new File(['# Plan\n\nThe tunnel opens in June.'], 'plan.md', { type: 'text/markdown' });
    const { id } = await client.documents.uploadFile({ file, containerTag: 'files' });
    const { url } = await client.get<{ url: string }>(`/v3/documents/${id}/file-url`);
    expect(url).toMatch(new RegExp(`^${daemon.url}/files/${id}\\.md\\?`));
    expect(await (await fetch(url)).text()).toContain('The tunnel opens in June.');
  });

  it('nothing of its figures, which it only reads', async () => {
    const answer = await fetch(`${daemon.url}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } });
    expect(await answer.text()).toMatch(/^memoryd_http_requests_total\{.+\} \d+$/m);
  });
});
