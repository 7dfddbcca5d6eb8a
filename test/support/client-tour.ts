/* oxlint-disable typescript/no-deprecated -- what the published client still offers is what callers still use */
import Supermemory from 'supermemory';
import { expect } from 'vitest';

export interface Tour {
  client: Supermemory;
  /** Makes an item of the connector `shelves`: its file holds these texts by shelf. */
  shelve(content: Record<string, Record<string, string>>): Promise<string>;
  /** Brings what waits to its end, as far as the caller has to do that. */
  settle(): Promise<void>;
}

const id = expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{22}$/);
/** The client names the providers of its own service only; others work as well. */
const shelves = 'shelves' as 'notion';
/** The published types do not have it. */
const instant: object = { dreaming: 'instant' };
const tag = 'tour_mira';

/** Every method of section 25.1, by the name that it has on the client. */
const steps: Record<string, (tour: Tour) => Promise<void>> = {
  async add({ client, settle }) {
    const content = 'My name is Mira. I live in Porto. The harbour crane lifts containers.';
    const added = await client.add({
      content,
      containerTag: tag,
      customId: 'crane',
      metadata: { turns: 6 },
      ...instant,
    });
    expect(added).toEqual({ id, status: 'queued' });
    await done({ client, settle }, added.id);
  },
  async 'documents.add'({ client, settle }) {
    const again = await client.documents.add({
      content: 'My name is Mira. I live in Porto. The harbour crane is red.',
      containerTag: tag,
      customId: 'crane',
      ...instant,
    });
    expect(again.id).toBe((await client.documents.get('crane')).id);
    await done({ client, settle }, again.id);
  },
  async 'documents.batchAdd'({ client, settle }) {
    const documents = [
      { content: 'Bread at six.', customId: 'bakery' },
      { content: '', customId: 'empty' },
    ];
    const { results, ...counts } = await client.documents.batchAdd({ containerTag: tag, documents });
    expect(counts).toEqual({ success: 1, failed: 1 });
    await done({ client, settle }, results[0]!.id);
  },
  async 'documents.uploadFile'({ client, settle }) {
    const file = new File(['# Roadmap\n\nThe tunnel opens in June.'], 'roadmap.md', { type: 'text/markdown' });
    const added = await client.documents.uploadFile({ file, containerTag: tag, metadata: '{"title":"Roadmap"}' });
    await done({ client, settle }, added.id);
    expect(await client.documents.get(added.id)).toMatchObject({ title: 'Roadmap', source: 'file' });
  },
  async 'documents.get'({ client }) {
    expect(await client.documents.get('crane')).toMatchObject({
      customId: 'crane',
      content: 'My name is Mira. I live in Porto. The harbour crane is red.',
      metadata: { turns: 6 },
      containerTags: [tag],
      status: 'done',
    });
  },
  async 'documents.update'({ client }) {
    const { id: document } = await client.documents.get('bakery');
    expect(await client.documents.update('bakery', {})).toEqual({ id: document, status: 'done' });
    await client.documents.update(document, { metadata: { town: 'Porto' } });
    expect((await client.documents.get('bakery')).metadata).toEqual({ town: 'Porto' });
  },
  async 'documents.list'({ client }) {
    const filters = { AND: [{ key: 'town', value: 'Porto' }] };
    const { memories, pagination } = await client.documents.list({ containerTags: [tag], filters });
    expect(memories.map((one) => one.customId)).toEqual(['bakery']);
    expect(pagination).toEqual({ currentPage: 1, limit: 10, totalItems: 1, totalPages: 1 });
  },
  async 'documents.listProcessing'({ client, settle }) {
    const { id: waiting } = await client.add({ content: 'Not yet.', containerTag: 'tour_waiting' });
    expect(await client.documents.listProcessing()).toEqual({
      documents: expect.any(Array),
      totalCount: expect.any(Number),
    });
    await done({ client, settle }, waiting);
  },
  async 'documents.delete'({ client }) {
    const { id: doomed } = await client.add({ content: 'To be deleted.', containerTag: 'tour_doomed' });
    await client.documents.delete(doomed);
    await expect(client.documents.get(doomed)).rejects.toThrow(Supermemory.NotFoundError);
  },
  async 'documents.deleteBulk'({ client }) {
    await client.documents.batchAdd({ documents: ['one', 'two'], containerTag: 'tour_bulk' });
    expect(await client.documents.deleteBulk({ containerTags: ['tour_bulk'] })).toMatchObject({
      success: true,
      deletedCount: 2,
    });
  },
  async search({ client }) {
    const { results, total } = await client.search({
      q: 'harbour crane',
      containerTag: tag,
      searchMode: 'hybrid',
      threshold: 0.1,
      rerank: true,
      rewriteQuery: true,
      include: { documents: true, summaries: true, relatedMemories: true },
    });
    expect(total).toBe(results.length);
    expect(results.some((one) => one.chunk?.includes('The harbour crane is red.'))).toBe(true);
  },
  async 'search.memories'({ client }) {
    const { results } = await client.search.memories({ q: 'Where does Mira live?', containerTag: tag, threshold: 0.1 });
    expect(results.map((one) => one.memory)).toContain('Mira lives in Porto.');
  },
  async 'search.documents'({ client }) {
    await expect(client.search.documents({ q: 'crane' })).rejects.toThrow(Supermemory.NotFoundError);
  },
  async 'search.execute'({ client }) {
    await expect(client.search.execute({ q: 'crane' })).rejects.toThrow(/searchMode/);
  },
  async profile({ client }) {
    const { profile, searchResults } = await client.profile({ containerTag: tag, q: 'Porto', threshold: 0.1 });
    expect(profile.static).toContain('Mira lives in Porto.');
    expect(searchResults?.results.length).toBeGreaterThan(0);
  },
  async 'memories.updateMemory'({ client }) {
    const content = 'Mira lives in Porto.';
    const changed = await client.memories.updateMemory({
      containerTag: tag,
      content,
      newContent: 'Mira lives in Faro.',
    });
    expect(changed).toMatchObject({ id, version: 2, memory: 'Mira lives in Faro.' });
  },
  async 'memories.forget'({ client }) {
    const content = 'Mira lives in Faro.';
    const forgotten = await client.memories.forget({ containerTag: tag, content });
    expect(forgotten).toEqual({ id, forgotten: true });
    await expect(client.memories.forget({ containerTag: tag, id: forgotten.id })).rejects.toMatchObject({
      status: 409,
    });
  },
  async 'settings.update'({ client }) {
    const { updated } = await client.settings.update({ shouldLLMFilter: true, filterPrompt: 'Keep decisions.' });
    expect(updated).toMatchObject({ filterPrompt: 'Keep decisions.' });
  },
  async 'settings.get'({ client }) {
    expect(await client.settings.get()).toMatchObject({ shouldLLMFilter: true, filterPrompt: 'Keep decisions.' });
  },
  async 'connections.create'({ client, shelve, settle }) {
    const file = await shelve({ first: { crane: 'The crane.' }, second: { tunnel: 'The tunnel.' } });
    const metadata = { file, department: 'ops' };
    const created = await client.connections.create(shelves, { containerTag: tag, metadata });
    expect(created).toEqual({ id, authLink: null, expiresIn: null });
    await expect.poll(() => synced({ client, settle }), { timeout: 30_000 }).toEqual(['crane', 'tunnel']);
  },
  async 'connections.list'({ client }) {
    expect(await client.connections.list({ containerTags: [tag] })).toMatchObject([{ provider: 'shelves' }]);
  },
  async 'connections.getByTag'({ client }) {
    expect(await client.connections.getByTag(shelves, { containerTags: [tag] })).toMatchObject({
      containerTags: [tag],
    });
  },
  async 'connections.getByID'({ client }) {
    const [first] = await client.connections.list({});
    expect(await client.connections.getByID(first!.id)).toMatchObject({ metadata: { department: 'ops' } });
  },
  async 'connections.resources'({ client }) {
    const [first] = await client.connections.list({});
    const { resources, total_count } = await client.connections.resources(first!.id, { page: 1, per_page: 1 });
    expect([resources.length, total_count]).toEqual([1, 2]);
  },
  async 'connections.configure'({ client, settle }) {
    const [first] = await client.connections.list({});
    const answer = await client.connections.configure(first!.id, { resources: [{ id: 'second', name: 'second' }] });
    expect(answer).toEqual({ success: true, message: '1 resource configured, sync started' });
    const runs = async () => {
      await settle();
      const all = await client.get<{ status: string }[]>(`/v3/connections/${first!.id}/sync-runs`);
      return all.map(({ status }) => status);
    };
    await expect.poll(runs, { timeout: 30_000 }).toEqual(['completed', 'completed']);
    // What is no longer chosen goes (section 30.6).
    expect(await synced({ client, settle })).toEqual(['tunnel']);
  },
  async 'connections.import'({ client, shelve, settle }) {
    await shelve({ first: {}, second: { tunnel: 'The tunnel.', bridge: 'The bridge.' } });
    expect(await client.connections.import(shelves, { containerTags: [tag] })).toBe('Importing connections...');
    await expect.poll(() => synced({ client, settle }), { timeout: 30_000 }).toEqual(['bridge', 'tunnel']);
    await expect(client.connections.import('notion', {})).rejects.toMatchObject({ status: expect.any(Number) });
  },
  async 'connections.listDocuments'({ client }) {
    const documents = await client.connections.listDocuments(shelves, { containerTags: [tag] });
    expect(documents).toHaveLength(2);
    expect(documents[0]).toMatchObject({ id, type: 'text' });
  },
  async 'connections.deleteByID'({ client }) {
    const [first] = await client.connections.list({});
    expect(await client.connections.deleteByID(first!.id)).toEqual({ id: first!.id, provider: 'shelves' });
    await expect(client.connections.getByID(first!.id)).rejects.toThrow(Supermemory.NotFoundError);
  },
  async 'connections.deleteByProvider'({ client, shelve }) {
    const file = await shelve({ first: {} });
    const created = await client.connections.create(shelves, { containerTag: tag, metadata: { file } });
    expect(await client.connections.deleteByProvider(shelves, { containerTags: [tag] })).toMatchObject({
      id: created.id,
    });
    expect(await client.connections.list({ containerTags: [tag] })).toEqual([]);
  },
};

export const tourSteps = Object.entries(steps);

/** Every method that the client has and that leads to a request. */
export function methodsOf(client: Supermemory): string[] {
  const resources = ['documents', 'search', 'memories', 'settings', 'connections'] as const;
  const below = resources.flatMap((resource) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(client[resource]))
      .filter((name) => name !== 'constructor')
      .map((name) => `${resource}.${name}`),
  );
  return ['add', 'profile', 'search', ...below].sort();
}

async function done({ client, settle }: Pick<Tour, 'client' | 'settle'>, document: string): Promise<void> {
  const status = async () => {
    await settle();
    return (await client.documents.get(document)).status;
  };
  await expect.poll(status, { timeout: 30_000 }).toBe('done');
}

async function synced({ client, settle }: Pick<Tour, 'client' | 'settle'>): Promise<string[]> {
  await settle();
  const documents = await client.connections.listDocuments(shelves, { containerTags: [tag] });
  return documents.flatMap(({ status, title }) => (status === 'done' ? [title ?? ''] : [])).toSorted();
}
