import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Supermemory from 'supermemory';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../support/daemon.ts';

const apiKey = 'key of the test';
const id = expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{22}$/);
/** The client names the providers of its own service only; others work as well. */
const shelves = 'shelves' as 'notion';

let daemon: Daemon;
let client: Supermemory;
let folder: string;
let file: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-shelves-'));
  file = join(folder, 'shelves.json');
  daemon = await startDaemon({
    env: {
      MEMORYD_API_KEY: apiKey,
      MEMORYD_EMBEDDER_KIND: 'hashing',
      MEMORYD_CONNECTORS: join(import.meta.dirname, '../support/shelf-plugin-main.ts'),
    },
  });
  client = new Supermemory({ baseURL: daemon.url, apiKey, maxRetries: 0 });
});
afterAll(async () => {
  await daemon.stop();
  rmSync(folder, { recursive: true, force: true });
});

function put(content: Record<string, Record<string, string>>): void {
  writeFileSync(file, JSON.stringify(content));
}

/** Titles of the documents in a container that can be found. */
async function done(containerTag: string): Promise<string[]> {
  const documents = await client.connections.listDocuments(shelves, { containerTags: [containerTag] });
  return documents.flatMap(({ status, title }) => (status === 'done' ? [title ?? ''] : [])).toSorted();
}

const eventually = (read: () => unknown) => expect.poll(read, { timeout: 30_000 });

describe('connections by the official client', () => {
  it('are made, synced, looked at and deleted', async () => {
    put({ first: { crane: 'The harbour crane lifts containers.', bakery: 'Bread at six.' } });
    const created = await client.connections.create(shelves, {
      containerTag: 'port',
      documentLimit: 2000,
      metadata: { file, department: 'ops' },
      redirectUrl: 'https://app.example.com/connected',
    });
    expect(created).toEqual({
      id,
      authLink: null,
      expiresIn: null,
      redirectsTo: 'https://app.example.com/connected',
    });
    await eventually(() => done('port')).toEqual(['bakery', 'crane']);
    const [document] = await client.connections.listDocuments(shelves, { containerTags: ['port'] });
    expect(document).toMatchObject({ id, createdAt: expect.any(String), updatedAt: expect.any(String), type: 'text' });

    const shown = await client.connections.getByID(created.id);
    expect(shown).toMatchObject({ id: created.id, provider: 'shelves', documentLimit: 2000, containerTags: ['port'] });
    await eventually(async () => (await client.connections.getByID(created.id)).metadata).toMatchObject({
      department: 'ops',
      lastSyncedAt: expect.any(Number),
    });
    expect(await client.connections.list({ containerTags: ['port'] })).toMatchObject([{ id: created.id }]);
    expect(await client.connections.list({})).toHaveLength(1);
    expect(await client.connections.getByTag(shelves, { containerTags: ['port'] })).toMatchObject({ id: created.id });

    put({ first: { crane: 'The harbour crane lifts containers.', tunnel: 'It opens in June.' } });
    expect(await client.connections.import(shelves, { containerTags: ['port'] })).toBe('Importing connections...');
    await eventually(() => done('port')).toEqual(['crane', 'tunnel']);

    expect(await client.connections.deleteByID(created.id)).toEqual({ id: created.id, provider: 'shelves' });
    await expect(client.connections.getByID(created.id)).rejects.toThrow(Supermemory.NotFoundError);
    expect(await done('port')).toEqual([]);
  });

  it('choose among resources', async () => {
    put({ first: { crane: 'The crane.' }, second: { bakery: 'The bakery.' }, third: { tunnel: 'The tunnel.' } });
    const created = await client.connections.create(shelves, { containerTag: 'chosen', metadata: { file } });
    const { resources, total_count } = await client.connections.resources(created.id, { page: 1, per_page: 2 });
    expect([resources.map(({ name }) => name), total_count]).toEqual([['first', 'second'], 3]);
    const answer = await client.connections.configure(created.id, { resources: resources.slice(1) });
    expect(answer).toEqual({ success: true, message: '1 resource configured, sync started' });
    await eventually(() => done('chosen')).toContain('bakery');
    const next = await client.connections.resources(created.id, { page: 2, per_page: 2 });
    expect(next.resources).toMatchObject([{ id: 'third', selected: false }]);
    expect(await client.connections.deleteByProvider(shelves, { containerTags: ['chosen'] })).toMatchObject({
      id: created.id,
      provider: 'shelves',
    });
    await expect(client.connections.deleteByProvider(shelves, { containerTags: ['chosen'] })).rejects.toThrow(
      Supermemory.NotFoundError,
    );
  });

  it('learn what is wrong in its error classes', async () => {
    await expect(client.connections.create(shelves, { metadata: {} })).rejects.toMatchObject({
      constructor: Supermemory.BadRequestError,
      error: { success: false, error: [{ path: ['metadata', 'file'] }] },
    });
    await expect(client.connections.create(shelves, { metadata: { file: 'nowhere.json' } })).rejects.toMatchObject({
      constructor: Supermemory.BadRequestError,
      error: { error: 'The file of the shelves cannot be read.', details: 'Give the path of a JSON file.' },
    });
    await expect(client.connections.import('onedrive', {})).rejects.toMatchObject({ status: 501 });
    await expect(client.connections.import(shelves, { containerTags: ['nowhere'] })).rejects.toThrow(
      'No connection found for shelves',
    );
    const unknown = 'nosuch' as 'notion';
    await expect(client.connections.listDocuments(unknown, {})).rejects.toThrow(Supermemory.BadRequestError);
  });

  it('tell the progress of a sync as it happens', async () => {
    put({ first: Object.fromEntries(Array.from({ length: 30 }, (_, place) => [`item ${place}`, `Text ${place}.`])) });
    const created = await client.connections.create(shelves, { containerTag: 'live', metadata: { file } });
    const headers = { authorization: `Bearer ${apiKey}` };
    const base = `${daemon.url}/v3/connections/${created.id}/runs`;
    const [run] = (await (await fetch(base, { headers })).json()) as { id: string }[];
    const response = await fetch(`${base}/${run!.id}/events?until=documents`, { headers });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const text = await response.text();
    const last = text.trimEnd().split('\n\n').at(-1)!.split('\n');
    expect(last.slice(0, 2)).toEqual(['event: end', 'id: end']);
    expect(JSON.parse(last[2]!.slice('data: '.length))).toMatchObject({
      run: { id: run!.id, status: 'completed', itemsAdded: 30, itemsTotal: 30 },
      documents: { waiting: 0, foundByWords: 0, done: 30, failed: 0 },
    });
    expect(await client.connections.deleteByID(created.id, { deleteDocuments: 'false' })).toMatchObject({
      id: created.id,
    });
    expect(await done('live')).toHaveLength(30);
  });
});
