import Supermemory from 'supermemory';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../support/daemon.ts';

let daemon: Daemon;
let client: Supermemory;
beforeAll(async () => {
  daemon = await startDaemon({ env: { MEMORYD_EMBEDDER_KIND: 'hashing' } });
  client = new Supermemory({ baseURL: daemon.url, apiKey: daemon.key, maxRetries: 0 });
});
afterAll(() => daemon.stop());

/** A request of the newer dialect. */
async function request(method: string, path: string, body?: object): Promise<any> {
  const response = await fetch(`${daemon.url}/ns/user_mira/${path}`, {
    method,
    headers: { authorization: `Bearer ${daemon.key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** What a program does with either dialect. */
interface Program {
  add(id: string, content: string): Promise<unknown>;
  isDone(id: string): Promise<boolean>;
  search(query: string): Promise<string[]>;
  profile(): Promise<string[]>;
}

const containerTag = 'user_mira';
const textOf = (result: { memory?: string; chunk?: string }) => result.memory ?? result.chunk ?? '';

const programs: Record<string, Program> = {
  'the client of version 4': {
    add(customId, content) {
      // The client knows no `dreaming`, and sends it.
      const document = { content, customId, containerTag, dreaming: 'instant' };
      return client.add(document);
    },
    isDone: async (id) => (await client.documents.get(id)).status === 'done',
    async search(q) {
      const { results } = await client.search({ q, containerTag, searchMode: 'hybrid', threshold: 0.3 });
      return results.map((one) => textOf(one as { memory?: string; chunk?: string }));
    },
    async profile() {
      const { profile } = await client.profile({ containerTag });
      return [...profile.static, ...profile.dynamic] as string[];
    },
  },
  'requests of version 5': {
    add: (id, content) => request('POST', 'document', { id, content, dreaming: 'instant' }),
    isDone: async (id) => (await request('GET', `document/${id}`)).system.status === 'done',
    search: async (query) => (await request('POST', 'search', { query })).results.map(textOf),
    async profile() {
      const { profile } = await request('POST', 'profile', {});
      return [...profile.static, ...profile.dynamic].map(({ memory }: { memory: string }) => memory);
    },
  },
};

it('the same program in either dialect fills and queries one memory', async () => {
  const [older, newer] = Object.values(programs) as [Program, Program];
  await older.add('move', 'I moved to Lisbon last month.');
  await newer.add('work', 'I started at Nordwind as a data engineer.');
  for (const program of [older, newer])
    for (const id of ['move', 'work']) await expect.poll(() => program.isDone(id)).toBe(true);
  for (const query of ['moved to Lisbon', 'started at Nordwind']) {
    const [found, same] = [await older.search(query), await newer.search(query)];
    expect(found.join('\n')).toContain(query.split(' ').at(-1));
    expect(new Set(same)).toEqual(new Set(found));
  }
  const profile = await older.profile();
  expect(profile.length).toBeGreaterThan(0);
  expect(await newer.profile()).toEqual(profile);
});
