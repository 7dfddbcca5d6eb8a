import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';

interface Line {
  id: string;
  memory: string;
}

describe('memories of namespaces', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
  });
  afterAll(() => test.close());

  const add = (body: object, namespace: string) => test.call('POST', `/ns/${namespace}/document`, body);
  const write = async (namespace: string, ...contents: string[]) => {
    const memories = contents.map((content) => ({ content }));
    const { body } = await test.call('POST', '/v4/memories', { containerTag: namespace, memories });
    return body.memories.map(({ id }: Line) => id) as string[];
  };
  const list = (type: string, body?: object, { namespace = 'lists', query = '' } = {}) =>
    test.call('POST', `/ns/${namespace}/list/${type}${query}`, body);
  const recalled = async (namespace: string) =>
    (await list('memories', {}, { namespace, query: '?limit=100' })).body.memories
      .map(({ memory }: Line) => memory)
      .sort();

  describe('in lists', () => {
    const keys = ['documents', 'chunks', 'memories', 'pagination'];
    beforeAll(async () => {
      for (let place = 0; place < 7; place++) {
        const said = { content: `Page ${place}: I live in town ${place}.`, id: `page-${place}`, dreaming: 'instant' };
        await add({ ...said, metadata: { even: place % 2 === 0 }, group: { team: 'north' } }, 'lists');
        test.clock.advance(1_000);
      }
      await add(
        { content: `${'A long paragraph about bridges. '.repeat(200)}\n\n${'And boats. '.repeat(300)}`, id: 'long' },
        'lists',
      );
      await test.process();
      await write('lists', 'Ada sails.');
    });

    it.each(['documents', 'chunks', 'memories'])(
      'of %s are pages of them alone, whatever body is sent',
      async (type) => {
        const { status, body } = await list(type);
        expect([status, Object.keys(body)]).toEqual([200, keys]);
        expect((await list(type, {})).body).toEqual(body);
        for (const other of ['documents', 'chunks', 'memories'].filter((one) => one !== type))
          expect(body[other]).toEqual([]);
        const seen: string[] = [];
        for (let page = 1; page <= Math.ceil(body.pagination.totalItems / 3); page++) {
          const { body: part } = await list(type, {}, { query: `?page=${page}&limit=3&sort=updatedAt&order=asc` });
          expect(part.pagination).toMatchObject({
            currentPage: page,
            limit: 3,
            totalItems: body.pagination.totalItems,
          });
          seen.push(...part[type].map(({ id }: Line) => id));
        }
        expect(new Set(seen).size).toBe(body.pagination.totalItems);
        const past = await list(type, {}, { query: '?page=900' });
        expect([past.status, past.body[type]]).toEqual([200, []]);
        const none = await list(type, {}, { namespace: 'nowhere' });
        expect(none.body.pagination).toEqual({ currentPage: 1, limit: 10, totalItems: 0, totalPages: 0 });
      },
    );

    it('show the fields of each type', async () => {
      const filter = { field: 'even', operator: 'eq', value: true };
      const { documents } = (await list('documents', { filter }, { query: '?order=asc' })).body;
      expect(documents).toHaveLength(4);
      const times = { createdAt: expect.any(String), updatedAt: expect.any(String) };
      expect(documents[0]).toEqual({
        ...{ id: expect.any(String), title: null, type: 'text', summary: null, metadata: { even: true }, url: null },
        system: { status: 'done', ...times },
      });
      const chunks = (await list('chunks', undefined, { query: '?sort=position&order=desc&limit=100' })).body.chunks;
      expect(chunks[0]).toEqual({
        ...{ id: expect.any(String), documentId: expect.any(String), position: expect.any(Number) },
        ...{ content: expect.any(String), type: 'text', metadata: {}, system: { createdAt: expect.any(String) } },
      });
      const positions = chunks.map(({ position }: { position: number }) => position);
      expect(positions).toEqual(positions.toSorted((a: number, b: number) => b - a));
      expect(positions[0]).toBeGreaterThan(0);
      const { memories } = (await list('memories', {}, { query: '?limit=100' })).body;
      expect(memories.find(({ memory }: Line) => memory === 'Ada sails.')).toEqual({
        ...{ id: expect.any(String), memory: 'Ada sails.', metadata: {}, isStatic: false, isInference: false },
        ...{ isLatest: true, isForgotten: false, version: 1, system: times },
      });
      const team = { filter: { field: 'team', operator: 'eq', value: 'north' } };
      expect((await list('documents', team)).body.pagination.totalItems).toBe(7);
      const ofTeam = (await list('memories', team, { query: '?limit=100' })).body.memories;
      expect(ofTeam.map(({ memory }: Line) => memory)).not.toContain('Ada sails.');
    });

    it.each([
      ['documents', '?sort=position', {}],
      ['memories', '?sort=position', {}],
      ['documents', '?limit=101', {}],
      ['documents', '?limit=0', {}],
      ['documents', '?page=0', {}],
      ['documents', '?filter=x', {}],
      ['documents', '', { limit: 3 }],
      ['documents', '', { filter: { AND: [] } }],
      ['memories', '', { include: { chunks: true } }],
      ['things', '', {}],
    ])('of %s%s with %j are refused', async (type, query, body) => {
      expect((await list(type, body, { query })).status).toBe(400);
    });
  });

  it('are read one by one, with what stands beside them', async () => {
    await add({ content: 'I live in Porto.', id: 'a', dreaming: 'instant', metadata: { turn: 1 } }, 'one');
    await test.process();
    await add({ content: 'I moved to Lisbon.', id: 'b', dreaming: 'instant' }, 'one');
    await test.process();
    const { memories } = (await list('memories', {}, { namespace: 'one', query: '?limit=100' })).body;
    const moved = memories.find(({ memory }: Line) => /^The user.*Lisbon/.test(memory));
    const read = (query: string, id = moved.id, namespace = 'one') =>
      test.call('GET', `/ns/${namespace}/memories/${id}${query}`);
    expect((await read('')).body).toEqual(moved);
    const both = (await read('?include=related&include=documents')).body;
    expect((await read('?include=related,documents&relatedLimit=1')).body).toEqual(both);
    expect(both.included).toMatchObject({
      document: { type: 'text', title: null, metadata: {}, system: { createdAt: expect.any(String) } },
      related: {
        parents: [
          { memory: 'The user lives in Porto.', relation: 'updates', version: -1, document: { metadata: { turn: 1 } } },
        ],
        children: [],
        siblings: [],
      },
    });
    const [earlier] = both.included.related.parents;
    expect((await read('?include=related', earlier.id)).body).toMatchObject({
      isLatest: false,
      included: { related: { children: [{ id: moved.id, version: 1 }] } },
    });
    expect((await read('', moved.id, 'lists')).status).toBe(404);
    expect((await read('', 'none')).status).toBe(404);
    for (const query of ['?relatedLimit=0', '?relatedLimit=101', '?include=chunks']) {
      expect([query, (await read(query)).status]).toEqual([query, 400]);
    }
  });

  it('are forgotten by ids, each on its own and in both dialects', async () => {
    const [ada, bob, eve] = await write('forget', 'Ada sails.', 'Bob rows.', 'Eve swims.');
    const [foreign] = await write('foreign', 'Ada sails.');
    const forget = (ids: unknown) => test.call('DELETE', '/ns/forget/memories', { ids });
    const { status, body } = await forget([ada, 'none', foreign, ada, 'aggregated_1', bob]);
    expect([status, body]).toEqual([
      200,
      {
        count: 2,
        matches: [
          { id: ada, memory: 'Ada sails.' },
          { id: bob, memory: 'Bob rows.' },
        ],
        errors: [
          { id: 'none', error: 'Memory not found' },
          { id: foreign, error: 'Memory not found' },
          { id: 'aggregated_1', error: expect.stringContaining('cannot be forgotten') },
        ],
      },
    ]);
    const again = (await forget([ada])).body;
    expect(again).toEqual({ count: 0, matches: [], errors: [{ id: ada, error: expect.stringContaining('already') }] });
    expect(await recalled('forget')).toEqual(['Eve swims.']);
    const legacy = await test.call('POST', '/v4/memories/list', { containerTags: ['forget'] });
    expect(legacy.body.memoryEntries.map(({ id }: Line) => id)).toEqual([eve]);
    expect(await recalled('foreign')).toEqual(['Ada sails.']);
    const gone = (await test.call('GET', `/ns/forget/memories/${ada}`)).body;
    expect(gone).toMatchObject({ isForgotten: true, memory: 'Ada sails.' });
    const shown = (await list('memories', { include: { forgotten: true } }, { namespace: 'forget' })).body.memories;
    expect(shown.map(({ isForgotten }: { isForgotten: boolean }) => isForgotten).sort()).toEqual([false, true, true]);
    const many = Array.from({ length: 501 }, (_, place) => `m${place}`);
    for (const wrong of [undefined, [], [''], many]) expect((await forget(wrong)).status).toBe(400);
  });

  it('are forgotten by any version of them', async () => {
    const [first] = await write('versions', 'Ada sails.');
    const changed = await test.call('PATCH', '/v4/memories', {
      containerTag: 'versions',
      id: first,
      newContent: 'Ada rows.',
    });
    const { body } = await test.call('DELETE', '/ns/versions/memories', { ids: [first, changed.body.id] });
    expect(body).toEqual({ count: 1, matches: [{ id: changed.body.id, memory: 'Ada rows.' }], errors: [] });
  });

  it('are forgotten by their meaning, once it was looked at', async () => {
    await write('meaning', 'Ada is allergic to peanuts.', 'Ada sails on Sundays.');
    const forget = (body: object) => test.call('DELETE', '/ns/meaning/memories/semantic', body);
    const tried = (await forget({ query: 'allergic to peanuts', dryRun: true })).body;
    expect(tried).toEqual({
      count: 1,
      matches: [{ id: expect.any(String), memory: 'Ada is allergic to peanuts.' }],
      errors: [],
    });
    expect(await recalled('meaning')).toHaveLength(2);
    expect((await forget({ query: 'allergic to peanuts', dryRun: false })).body).toEqual(tried);
    expect(await recalled('meaning')).toEqual(['Ada sails on Sundays.']);
    for (const wrong of [
      { query: 'x' },
      { dryRun: true },
      { query: ' ', dryRun: true },
      { query: 'x', dryRun: 'yes' },
    ]) {
      expect((await forget(wrong)).status).toBe(400);
    }
    expect((await test.call('DELETE', '/ns/nowhere/memories/semantic', { query: 'x', dryRun: true })).body.count).toBe(
      0,
    );
  });

  it('of every line of a profile can be forgotten', async () => {
    await write('profile', 'Ada sails.', 'Ada prefers short mails.');
    const { profile } = (await test.call('POST', '/ns/profile/profile')).body;
    const ids = [...profile.static, ...profile.dynamic].map(({ id }: Line) => id);
    expect((await test.call('DELETE', '/ns/profile/memories', { ids })).body).toMatchObject({ count: 2, errors: [] });
  });

  it('of a conversation that is saved again and again are those of one document, in both dialects', async () => {
    const turns = [
      'user: I moved to Faro.',
      'assistant: Noted.',
      'user: I keep bees.',
      'assistant: How many?',
      'user: Two hives.',
    ];
    const messages = turns.map((turn) => ({ role: turn.split(': ')[0], content: turn.split(': ')[1] }));
    const legacy = (sent: object[]) =>
      test.call('POST', '/v4/conversations', { conversationId: 'chat', containerTag: 'talk', messages: sent });
    const ids = new Set<string>();
    for (const end of [1, 3, 3, 5])
      ids.add((await add({ content: turns.slice(0, end).join('\n'), id: 'chat' }, 'talk')).body.id);
    ids.add((await add({ content: turns.slice(3).join('\n'), id: 'chat' }, 'talk')).body.id);
    ids.add((await legacy(messages)).body.id);
    ids.add((await legacy(messages.slice(2))).body.id);
    const read = async () => (await test.call('GET', '/ns/talk/document/chat')).body.content;
    expect([ids.size, await read()]).toEqual([1, turns.join('\n')]);
    await legacy([...messages, { role: 'assistant', content: 'Lovely.' }]);
    await add({ content: [...turns, 'assistant: Lovely.', 'user: They are.'].join('\n\n'), id: 'chat' }, 'talk');
    expect((await read()).split(/\n+/)).toEqual([...turns, 'assistant: Lovely.', 'user: They are.']);
    // One that began in the older dialect goes on in the newer one.
    const begun = { conversationId: 'older', containerTag: 'talk', messages: messages.slice(0, 2) };
    const { id } = (await test.call('POST', '/v4/conversations', begun)).body;
    expect((await add({ content: turns.slice(0, 3).join('\n'), id: 'older' }, 'talk')).body.id).toBe(id);
    await test.call('POST', '/v4/conversations', { ...begun, messages: messages.slice(0, 4) });
    const lines = (await test.call('GET', '/ns/talk/document/older')).body.content.split(/\n+/);
    expect(lines).toEqual(turns.slice(0, 4));
  });
});
