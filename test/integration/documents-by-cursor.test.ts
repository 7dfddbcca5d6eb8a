import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';
import { engines } from '../support/databases.ts';

describe.each(engines)('documents listed by cursor on %s', (engine) => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi({ engine });
    for (const containerTag of ['kilns', 'glazes']) {
      const documents = Array.from({ length: 5 }, (_, n) => ({ content: `${containerTag} ${n}`, containerTag }));
      // Five at once have one moment, so only their ids order them.
      await test.call('POST', '/v3/documents/batch', { documents });
      test.clock.advance(1_000);
    }
  });
  afterAll(() => test.close());

  const ask = async (body: object) => (await test.call('POST', '/v3/documents/list', body)).body;
  const ids = (memories: { id: string }[]) => memories.map(({ id }) => id);

  async function readAll(body: object): Promise<string[]> {
    const read: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await ask({ ...body, cursor, limit: 2 });
      expect(Object.keys(page).toSorted()).toEqual(['memories', 'next']);
      read.push(...ids(page.memories));
      cursor = page.next;
    }
    return read;
  }

  it.each([
    { sort: 'updatedAt', order: 'desc' },
    { sort: 'updatedAt', order: 'asc' },
    { sort: 'createdAt', order: 'desc', containerTag: 'kilns' },
  ])('are those of the pages by number: %o', async (body) => {
    const { memories } = await ask({ ...body, limit: 100 });
    expect(memories.length).toBeGreaterThan(4);
    expect(await readAll(body)).toEqual(ids(memories));
  });

  it('do not move by what is written meanwhile', async () => {
    const all = await readAll({ sort: 'updatedAt' });
    const { memories, next } = await ask({ sort: 'updatedAt', cursor: '', limit: 4 });
    await test.call('POST', '/v3/documents', { content: 'A new kiln.', containerTag: 'kilns' });
    const rest = await ask({ sort: 'updatedAt', cursor: next, limit: 100 });
    expect([...ids(memories), ...ids(rest.memories)]).toEqual(all);
    expect(rest.next).toBeNull();
  });

  it('are counted apart, of the namespaces that the key may read', async () => {
    const count = async (body: object, key = fullKey) =>
      (await test.call('POST', '/v3/documents/count', body, key)).body;
    expect(await count({ containerTag: 'glazes' })).toEqual({ totalItems: 5, waiting: 5, failed: 0, failedUploads: 0 });
    expect(await count({ containerTag: 'glazes', status: 'done' })).toEqual({
      totalItems: 0,
      waiting: 0,
      failed: 0,
      failedUploads: 0,
    });
    const key = await test.newKey({ containerTags: ['glazes'] });
    expect(await count({}, key)).toEqual({ totalItems: 5, waiting: 5, failed: 0, failedUploads: 0 });
  });

  it.each(['x', Buffer.from('never id').toString('base64url'), Buffer.from('2026-03-01').toString('base64url')])(
    'refuse the cursor %j, which no page gave',
    async (cursor) => {
      expect(await test.call('POST', '/v3/documents/list', { cursor })).toMatchObject({ status: 400 });
    },
  );
});
