import Supermemory from 'supermemory';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../support/daemon.ts';

const apiKey = 'key of the test';
/** The published types do not have it. */
const instant: object = { dreaming: 'instant' };

let daemon: Daemon;
let client: Supermemory;

beforeAll(async () => {
  daemon = await startDaemon({ env: { MEMORYD_API_KEY: apiKey, MEMORYD_EMBEDDER_KIND: 'hashing' } });
  client = new Supermemory({ baseURL: `${daemon.url}/`, apiKey, maxRetries: 0 });
});
afterAll(() => daemon.stop());

describe('the official client and memories', () => {
  const containerTag = 'user_mira';

  async function tell(content: string): Promise<void> {
    const { id } = await client.add({ content, containerTag, ...instant });
    await expect.poll(async () => (await client.documents.get(id)).status, { timeout: 30_000 }).toBe('done');
  }

  it('finds what an instant document says as soon as it is done, in search and profile', async () => {
    await tell('My name is Mira. I live in Porto. I went to the harbour museum yesterday.');
    const { results } = await client.search({
      q: 'harbour museum',
      containerTag,
      searchMode: 'memories',
      threshold: 0.1,
    });
    expect(results[0]).toMatchObject({
      memory: expect.stringMatching(/^Mira went to the harbour museum yesterday \(\d{4}-\d\d-\d\d\)\.$/),
    });
    const { profile, searchResults } = await client.profile({ containerTag, q: 'Porto' });
    expect(profile.static).toContain('Mira lives in Porto.');
    expect(searchResults?.results.length).toBeGreaterThan(0);
  });

  it('shows what holds now', async () => {
    await tell('Mira moved to Berlin.');
    const { profile } = await client.profile({ containerTag });
    expect(profile.static).toContain('Mira moved to Berlin.');
    expect(profile.static).not.toContain('Mira lives in Porto.');
  });

  it('writes new versions and forgets', async () => {
    const content = 'Mira moved to Berlin.';
    const updated = await client.memories.updateMemory({ containerTag, content, newContent: 'Mira moved to Hamburg.' });
    expect(updated).toMatchObject({ version: 3, memory: 'Mira moved to Hamburg.' });
    const forgotten = await client.memories.forget({ containerTag, id: updated.id, reason: 'wrong' });
    expect(forgotten).toEqual({ id: updated.id, forgotten: true });
    expect((await client.profile({ containerTag })).profile.static).not.toContain('Mira moved to Hamburg.');
    await expect(client.memories.forget({ containerTag, id: updated.id })).rejects.toMatchObject({ status: 409 });
  });
});
