import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemorydError } from '../../src/base/errors.ts';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';
import { openMcpOverHttp, type McpClient } from '../support/mcp-client.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

const id = expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{22}$/);
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

let test: TestApi;
let url: string;
const clients: McpClient[] = [];

async function open(key: string): Promise<McpClient> {
  const client = await openMcpOverHttp(url, key);
  clients.push(client);
  return client;
}

const start = async (options: Parameters<typeof startTestApi>[0] = {}) => {
  test = await startTestApi({ connectors: { synthetic: createSyntheticSource().connector() }, ...options });
  url = await test.api.listen({ port: 0, host: '127.0.0.1' });
};
const stop = async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await test.close();
};

describe('the tools', () => {
  let mcp: McpClient;
  let documentId: string;
  beforeAll(async () => {
    await start();
    mcp = await open(fullKey);
  });
  afterAll(stop);

  it('are those of the contract, each with its schemas and what it does', async () => {
    const { tools } = await mcp.client.listTools();
    expect(
      tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint, annotations?.destructiveHint]),
    ).toEqual([
      ['search_memory', true, false],
      ['add_memory', false, true],
      ['correctMemory', false, true],
      ['forgetMemory', false, true],
      ['listDocuments', true, false],
      ['getDocument', true, false],
      ['listMemories', true, false],
      ['listSpaces', true, false],
      ['whoAmI', true, false],
      ['listConnections', true, false],
      ['syncConnection', false, false],
    ]);
    for (const { inputSchema, outputSchema } of tools) {
      expect([inputSchema.type, outputSchema?.type]).toEqual(['object', 'object']);
    }
    expect(mcp.client.getServerVersion()).toMatchObject({ name: 'memoryd', version: '9.9.9' });
    expect(mcp.client.getServerCapabilities()).toEqual({ tools: {}, resources: {}, prompts: {} });
  });

  it('save text, which is found when it is processed', async () => {
    const saved = await mcp.tool('add_memory', {
      content: 'Mira prefers short written updates. Mira lives in Porto.',
      containerTag: 'user_mira',
    });
    expect(saved.structured).toEqual({
      action: 'save',
      success: true,
      containerTag: 'user_mira',
      id,
      status: 'queued',
      message: expect.stringContaining('user_mira'),
    });
    documentId = saved.structured.id;
    await test.process();
    await test.dream();
    expect((await test.call('GET', `/v3/documents/${documentId}`)).body).toMatchObject({
      source: 'mcp',
      metadata: { sm_source: 'supermemory-mcp' },
    });
    const query = 'Mira prefers written updates';
    const found = await mcp.tool('search_memory', { query, containerTag: 'user_mira' });
    expect(found.structured).toEqual({
      query,
      containerTag: 'user_mira',
      weak: false,
      results: expect.any(Array),
      total: found.structured.results.length,
      timing: expect.any(Number),
    });
    expect(found.structured.results[0]).toMatchObject({
      id,
      text: expect.stringContaining('short written updates'),
      containerTag: 'user_mira',
      trust: 'told',
      date: time,
      documentIds: [documentId],
    });
    expect(found.text).toMatch(
      /^## Told to memory\n\n\[1\] (fact|episode|passage), \d+% match, 2026-03-01, namespace user_mira, .*\n> .*short written/m,
    );
    expect(found.text).not.toContain('Profile');
    const both = await mcp.tool('search_memory', { query, containerTag: 'user_mira', includeProfile: true });
    expect(both.structured.profile).toEqual({
      containerTag: 'user_mira',
      static: expect.arrayContaining(['Mira lives in Porto.']),
      dynamic: expect.any(Array),
    });
    expect(both.text).toMatch(/short written[^]*\n\n## Profile of user_mira\n(- .*\n)*- Mira lives in Porto\./);
  });

  it('show the nearest texts where nothing matches, and nothing only where nothing is', async () => {
    const weak = await mcp.tool('search_memory', { query: 'quasar', containerTag: 'user_mira' });
    expect(weak.structured.weak).toBe(true);
    expect(weak.structured.total).toBeGreaterThan(0);
    expect(weak.text).toMatch(/^Nothing matches well\. /);
    expect(await mcp.tool('search_memory', { query: 'quasar', containerTag: 'nowhere' })).toEqual({
      text: 'There is nothing to be found in nowhere.',
      isError: false,
      structured: {
        ...{ query: 'quasar', containerTag: 'nowhere', weak: false, results: [], total: 0 },
        timing: expect.any(Number),
      },
    });
  });

  it('list and show documents, memories and namespaces', async () => {
    const document = { id: documentId, type: 'text', status: 'done', createdAt: time, updatedAt: time };
    const list = await mcp.tool('listDocuments', { containerTag: 'user_mira', limit: 5 });
    expect(list.structured).toEqual({
      documents: [{ ...document, title: null, summary: null }],
      pagination: { currentPage: 1, limit: 5, totalItems: 1, totalPages: 1 },
    });
    const content = 'Mira prefers short written updates. Mira lives in Porto.';
    const shown = await mcp.tool('getDocument', { documentId });
    expect(shown.structured.document).toEqual({
      ...document,
      title: null,
      summary: null,
      url: null,
      path: null,
      author: null,
      trust: 'told',
      date: time,
      containerTag: 'user_mira',
      content,
      contentTruncated: false,
      offset: 0,
      totalLength: content.length,
      nextOffset: null,
    });
    expect(shown.text).toContain(`> ${content}`);
    const memories = await mcp.tool('listMemories', { containerTag: 'user_mira' });
    const { body } = await test.call('POST', '/v4/memories/list', { containerTag: 'user_mira' });
    expect(body.memoryEntries.length).toBeGreaterThan(1);
    expect(memories.structured).toEqual(body);
    const spaces = await mcp.tool('listSpaces');
    expect(spaces.structured).toEqual({
      spaces: [
        {
          name: 'user_mira',
          containerTag: 'user_mira',
          description: null,
          visibility: 'private',
          emoji: null,
          documentCount: 1,
          memoryCount: body.memoryEntries.length,
          lastActivityAt: time,
        },
      ],
      count: 1,
    });
    expect(spaces.text).toContain('user_mira');
  });

  it('search every namespace that the key may read unless one is named', async () => {
    const memories = (content: string) => [{ content }];
    await test.call('POST', '/v4/memories', { containerTag: 'north', memories: memories('The beacon is red') });
    await test.call('POST', '/v4/memories', { containerTag: 'south', memories: memories('The beacon is green') });
    const { structured, text } = await mcp.tool('search_memory', { query: 'beacon' });
    expect(structured.containerTag).toBeNull();
    const tags = structured.results.map((hit: any) => hit.containerTag);
    expect(tags).toEqual(expect.arrayContaining(['north', 'south']));
    expect(text).toContain('namespace north');
    expect(text).toContain('namespace south');
    const scoped = await open(await test.newKey({ containerTags: ['south', 'other'] }));
    const own = await scoped.tool('search_memory', { query: 'beacon' });
    expect(own.structured.results.map((hit: any) => hit.containerTag)).toEqual(['south']);
  });

  it('show a long document in parts, which cut no character', async () => {
    const content = `${'x'.repeat(19_999)}😀${'y'.repeat(150)} the end`;
    const { body } = await test.call('POST', '/v3/documents', { content, containerTag: 'long' });
    await test.process();
    const parts: string[] = [];
    for (let offset: number | null = 0; offset !== null;) {
      const { text, structured } = await mcp.tool('getDocument', { documentId: body.id, offset });
      const { document } = structured;
      expect([document.offset, document.totalLength, document.contentTruncated]).toEqual([
        offset,
        content.length,
        true,
      ]);
      expect(text.includes(`call getDocument again with offset ${document.nextOffset}`)).toBe(
        document.nextOffset !== null,
      );
      parts.push(document.content);
      offset = document.nextOffset;
    }
    expect(parts.map(({ length }) => length)).toEqual([19_999, content.length - 19_999]);
    expect(parts.join('')).toBe(content);
    const far = await mcp.tool('getDocument', { documentId: body.id, offset: 30_000, limit: 100 });
    expect(far.structured.document).toMatchObject({ content: '', offset: content.length, nextOffset: null });
  });

  it('correct a memory, by its id or its text', async () => {
    const containerTag = 'corrected';
    const { body } = await test.call('POST', '/v4/memories', {
      containerTag,
      memories: [{ content: 'Noor lives in Oslo' }],
    });
    const first = await mcp.tool('correctMemory', {
      ...{ containerTag, id: body.memories[0].id, newContent: 'Noor lives in Bergen' },
    });
    expect(first.structured).toEqual({ containerTag, id, memory: 'Noor lives in Bergen', version: 2 });
    const second = await mcp.tool('correctMemory', {
      ...{ containerTag, content: 'Noor lives in Bergen', newContent: 'Noor lives in Molde' },
    });
    expect(second.structured.version).toBe(3);
    const { memoryEntries } = (await mcp.tool('listMemories', { containerTag })).structured;
    expect(memoryEntries).toMatchObject([{ memory: 'Noor lives in Molde', version: 3, trust: 'told', kind: 'fact' }]);
    expect(await mcp.tool('correctMemory', { containerTag, content: 'Noor sings', newContent: 'x' })).toMatchObject({
      isError: true,
      text: 'Error: Memory not found',
    });
    expect((await mcp.tool('correctMemory', { containerTag, newContent: 'x' })).text).toContain('Exactly one of');
  });

  it('search what memory knew at a time', async () => {
    const containerTag = 'asof';
    const { body } = await test.call('POST', '/v4/memories', {
      ...{ containerTag, memories: [{ content: 'Kim drinks green tea' }] },
    });
    const asOf = test.clock.now().toISOString();
    test.clock.advance(60_000);
    await mcp.tool('correctMemory', { containerTag, id: body.memories[0].id, newContent: 'Kim drinks black tea' });
    const texts = async (more: object) => {
      const { structured } = await mcp.tool('search_memory', { query: 'Kim drinks tea', containerTag, ...more });
      return structured.results.filter(({ kind }: any) => kind !== 'passage').map(({ text }: any) => text);
    };
    expect(await texts({})).toEqual(['Kim drinks black tea']);
    expect(await texts({ asOf })).toEqual(['Kim drinks green tea']);
    const search = { q: 'Kim drinks tea', containerTag, searchMode: 'memories', threshold: 0 };
    const past = await test.call('POST', '/v4/search', { ...search, asOf });
    expect(past.body.results[0]).toMatchObject({ memory: 'Kim drinks green tea', version: 1 });
    const listed = await test.call('POST', '/v4/memories/list', { containerTag, asOf });
    expect(listed.body.memoryEntries.map(({ memory }: any) => memory)).toEqual(['Kim drinks green tea']);
    const profile = await test.call('POST', '/v4/profile', { containerTag, asOf, q: 'Kim drinks tea' });
    const { static: lasting, dynamic } = profile.body.profile;
    expect([...lasting, ...dynamic]).toEqual(['Kim drinks green tea']);
    expect(profile.body.searchResults.results[0]).toMatchObject({ memory: 'Kim drinks green tea' });
    for (const path of ['/v4/search', '/v4/memories/list', '/v4/profile'])
      expect((await test.call('POST', path, { ...search, asOf: '2026-02-30T00:00:00Z' })).status).toBe(400);
    expect((await mcp.tool('search_memory', { query: 'x', asOf: 'once' })).text).toMatch(/^Error: asOf must be /);
  });

  it('search what is of some days', async () => {
    const containerTag = 'days';
    for (const day of ['2026-02-01', '2026-02-02', '2026-02-03'])
      await test.call('POST', '/v3/documents', {
        content: `The kiln was fired on ${day}.`,
        containerTag,
        documentDate: day,
      });
    await test.process();
    const daysOf = async (dates: object) => {
      const { structured } = await mcp.tool('search_memory', { query: 'when was the kiln fired', containerTag, dates });
      return structured.results.map(({ date }: { date: string }) => date.slice(0, 10)).sort();
    };
    expect(await daysOf({})).toEqual(['2026-02-01', '2026-02-02', '2026-02-03']);
    expect(await daysOf({ from: '2026-02-02T00:00:00Z' })).toEqual(['2026-02-02', '2026-02-03']);
    const end = '2026-02-02T23:59:59Z';
    expect(await daysOf({ from: '2026-02-02T00:00:00Z', to: end })).toEqual(['2026-02-02']);
    expect((await mcp.tool('search_memory', { query: 'x', dates: { to: 'soon' } })).text).toMatch(/^Error: dates\.to /);
    expect((await mcp.tool('search_memory', { query: 'x', dates: { to: '2026-02-30T00:00:00Z' } })).text).toMatch(
      /^Error: dates\.to /,
    );
  });

  it('forget by ids, by the exact text, and by meaning after a dry run', async () => {
    const containerTag = 'topics';
    const contents = ['Noor plays the cello', 'Noor plays the cello in an orchestra', 'Noor drinks coffee'];
    const { body } = await test.call('POST', '/v4/memories', {
      containerTag,
      memories: contents.map((content) => ({ content })),
    });
    const texts = async () =>
      (await mcp.tool('listMemories', { containerTag })).structured.memoryEntries.map((entry: any) => entry.memory);
    const asked = { containerTag, about: 'everything about Noor playing the cello' };
    const dry = await mcp.tool('forgetMemory', asked);
    expect(dry.structured).toMatchObject({ containerTag, dryRun: true, count: dry.structured.memories.length });
    expect(dry.structured.memories[0]).toEqual({
      id,
      memory: expect.stringContaining('cello'),
      similarity: expect.any(Number),
    });
    expect(dry.text).toMatch(/^Dry run: /);
    expect(await texts()).toHaveLength(3);
    const chosen = dry.structured.memories.map((one: any) => one.id);
    const done = await mcp.tool('forgetMemory', { containerTag, ids: chosen });
    expect(done.structured).toMatchObject({ dryRun: false, count: chosen.length });
    expect(await texts()).not.toContain(contents[0]);
    await mcp.tool('forgetMemory', { containerTag, content: contents[2] });
    expect(await texts()).not.toContain(contents[2]);
    const none = await mcp.tool('forgetMemory', { containerTag, ids: [body.memories[2].id] });
    expect([none.isError, none.text]).toEqual([true, expect.stringContaining('No memory of topics has these ids')]);
    expect((await mcp.tool('forgetMemory', { containerTag })).text).toContain('Exactly one of ids, content and about');
    const meant = await mcp.tool('forgetMemory', { ...asked, dryRun: false });
    expect(meant.structured.dryRun).toBe(false);
    expect((await texts()).filter((text: string) => text.includes('cello'))).toEqual([]);
  });

  it('forget by the exact text, and by a text that is nearly the same', async () => {
    const containerTag = 'forgetful';
    const contents = ['Noor drinks black coffee every morning', 'Noor plays the cello'];
    await test.call('POST', '/v4/memories', { containerTag, memories: contents.map((content) => ({ content })) });
    const forgetting = { action: 'forget', containerTag };
    const exact = await mcp.tool('add_memory', { ...forgetting, content: 'Noor plays the cello' });
    expect(exact.structured).toMatchObject({
      action: 'forget',
      success: true,
      id,
      message: 'Forgot "Noor plays the cello".',
    });
    const near = await mcp.tool('add_memory', { ...forgetting, content: 'noor drinks black coffee, every morning!' });
    expect(near.structured.message).toBe('Forgot "Noor drinks black coffee every morning".');
    expect((await mcp.tool('listMemories', { containerTag })).structured.memoryEntries).toEqual([]);
    expect(await mcp.tool('add_memory', { ...forgetting, content: 'Noor has a submarine' })).toMatchObject({
      isError: true,
      text: 'Error: No memory matches this',
    });
  });

  it('show connections and sync one', async () => {
    const created = await test.call('POST', '/v3/connections/synthetic', { containerTag: 'mirrored' });
    const connectionId: string = created.body.id;
    const listed = await mcp.tool('listConnections');
    expect(listed.structured).toMatchObject({
      count: 1,
      connections: [{ id: connectionId, provider: 'synthetic', containerTag: 'mirrored', status: 'active' }],
    });
    expect((await mcp.tool('listConnections', { containerTag: 'other' })).structured.connections).toEqual([]);
    const synced = await mcp.tool('syncConnection', { connectionId });
    expect(synced).toMatchObject({ isError: false, structured: { connectionId, runId: id, status: 'running' } });
    const runs = await test.call('GET', `/v3/connections/${connectionId}/sync-runs`);
    expect(runs.body.map((run: { id: string }) => run.id)).toContain(synced.structured.runId);
  });

  it('know a namespace by its older name too, and take one of the names', async () => {
    const content = 'The harbour master is called Ada';
    const saved = await mcp.tool('add_memory', { content, namespace: 'harbour' });
    expect(saved.structured).toMatchObject({ containerTag: 'harbour', status: 'queued' });
    const list = (scope: Record<string, string>) => mcp.tool('listDocuments', scope);
    expect((await list({ namespace: 'harbour' })).structured).toEqual(
      (await list({ containerTag: 'harbour' })).structured,
    );
    expect((await list({ namespace: 'harbour' })).structured.documents).toHaveLength(1);
    expect((await mcp.tool('search_memory', { query: 'x', namespace: 'nowhere' })).structured.containerTag).toBe(
      'nowhere',
    );
    expect(await list({ namespace: 'harbour', containerTag: 'harbour' })).toMatchObject({
      isError: true,
      text: 'Error: Only one of namespace and containerTag can be given',
    });
    for (const { inputSchema } of (await mcp.client.listTools()).tools)
      expect('namespace' in inputSchema.properties!).toBe('containerTag' in inputSchema.properties!);
  });

  it('are accompanied by resources and a prompt', async () => {
    const { resources } = await mcp.client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(['supermemory://profile', 'supermemory://spaces']);
    await test.call('POST', '/v4/memories', {
      containerTag: 'sm_project_default',
      memories: [{ content: 'The team meets on Thursday', isStatic: true }],
    });
    const profile = await mcp.client.readResource({ uri: 'supermemory://profile' });
    expect(profile.contents).toEqual([
      {
        uri: 'supermemory://profile',
        mimeType: 'text/plain',
        text: '## Profile of sm_project_default\n- The team meets on Thursday',
      },
    ]);
    const spaces = await mcp.client.readResource({ uri: 'supermemory://spaces' });
    expect((spaces.contents[0] as { text: string }).text).toContain('namespace user_mira');
    expect((await mcp.client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['context']);
    const { messages } = await mcp.client.getPrompt({ name: 'context' });
    expect(messages).toHaveLength(1);
    const { text } = messages[0]!.content as { text: string };
    expect(text).toContain('The team meets on Thursday');
    await expect(mcp.client.readResource({ uri: 'supermemory://other' })).rejects.toThrow('Resource not found');
    await expect(mcp.client.getPrompt({ name: 'other' })).rejects.toThrow('Prompt not found');
  });
});

describe('a key', () => {
  let foreign: { document: string; connection: string };
  beforeAll(async () => {
    await start();
    const { body } = await test.call('POST', '/v3/documents', {
      content: 'Foreign secret plan',
      containerTag: 'foreign',
    });
    const created = await test.call('POST', '/v3/connections/synthetic', { containerTag: 'foreign' });
    foreign = { document: body.id, connection: created.body.id };
    await test.call('POST', '/v4/memories', {
      containerTag: 'foreign',
      memories: [{ content: 'Foreign secret plan' }],
    });
    await test.process();
  });
  afterAll(stop);

  const post = (headers: Record<string, string>, payload: object = { jsonrpc: '2.0', id: 1, method: 'ping' }) =>
    test.api.inject({ method: 'POST', url: '/mcp', headers, payload });

  it('is needed, and must be valid', async () => {
    for (const headers of [{}, { authorization: 'Bearer wrong' }] as Record<string, string>[]) {
      const refused = await post(headers);
      expect(refused.statusCode).toBe(401);
      expect(refused.headers['www-authenticate']).toBe('Bearer');
      expect(refused.json()).toEqual({ error: expect.any(String) });
    }
    await expect(openMcpOverHttp(url, 'wrong')).rejects.toThrow();
  });

  it('counts against its rate limit', async () => {
    const limited = await test.newKey({ containerTags: ['mine'], rateLimit: { max: 1, windowMs: 60_000 } });
    const authorization = `Bearer ${limited}`;
    expect((await post({ authorization })).json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    expect((await post({ authorization })).statusCode).toBe(429);
  });

  it('of one container works there without naming it, and nowhere else', async () => {
    const mcp = await open(await test.newKey({ containerTags: ['mine'], name: 'my key' }));
    expect((await mcp.tool('add_memory', { content: 'Own fact' })).structured.containerTag).toBe('mine');
    expect((await mcp.tool('whoAmI')).structured).toEqual({
      userId: id,
      name: 'my key',
      role: 'member',
      accessType: 'restricted',
      activeSpace: 'mine',
      assignedSpaces: ['mine'],
      scope: { type: 'scoped', permission: 'write', grants: [{ containerTag: 'mine', permission: 'write' }] },
    });
    const denied = { isError: true, text: 'Error: Namespace access denied', structured: undefined };
    const containerTag = 'foreign';
    for (const [name, given] of [
      ['search_memory', { query: 'secret plan', containerTag }],
      ['add_memory', { content: 'x', containerTag }],
      ['add_memory', { content: 'Foreign secret plan', action: 'forget', containerTag }],
      ['correctMemory', { content: 'Foreign secret plan', newContent: 'x', containerTag }],
      ['forgetMemory', { content: 'Foreign secret plan', containerTag }],
      ['forgetMemory', { about: 'secret', containerTag }],
      ['listDocuments', { containerTag }],
      ['listMemories', { containerTag }],
      ['listConnections', { containerTag }],
    ] as const) {
      expect([name, await mcp.tool(name, given)]).toEqual([name, denied]);
    }
    expect((await mcp.tool('getDocument', { documentId: foreign.document })).text).toBe('Error: Document not found');
    expect((await mcp.tool('syncConnection', { connectionId: foreign.connection })).text).toBe(
      'Error: Connection not found',
    );
    expect((await mcp.tool('listConnections')).structured.count).toBe(0);
    expect((await mcp.tool('listSpaces')).structured.spaces.map((space: any) => space.containerTag)).toEqual(['mine']);
    const { messages } = await mcp.client.getPrompt({ name: 'context' });
    expect(JSON.stringify(messages)).not.toContain('secret');
    expect((await test.call('POST', '/v4/memories/list', { containerTag })).body.memoryEntries).toHaveLength(1);
  });

  it('of several containers has to name one', async () => {
    const mcp = await open(await test.newKey({ containerTags: ['mine', 'ours'] }));
    expect((await mcp.tool('whoAmI')).structured.activeSpace).toBeNull();
    expect((await mcp.tool('search_memory', { query: 'x', includeProfile: true })).text).toMatch(
      /^Error: namespace is required for this key/,
    );
    expect((await mcp.tool('add_memory', { content: 'x' })).isError).toBe(true);
    await expect(mcp.client.readResource({ uri: 'supermemory://profile' })).rejects.toThrow('namespace is required');
    expect((await mcp.tool('add_memory', { content: 'x', containerTag: 'ours' })).isError).toBe(false);
  });

  it('that may only read changes nothing', async () => {
    const mcp = await open(await test.newKey({ permission: 'read' }));
    for (const [name, given] of [
      ['add_memory', { content: 'x' }],
      ['add_memory', { content: 'Foreign secret plan', action: 'forget', containerTag: 'foreign' }],
      ['correctMemory', { content: 'Foreign secret plan', newContent: 'x', containerTag: 'foreign' }],
      ['forgetMemory', { about: 'secret', containerTag: 'foreign' }],
      ['syncConnection', { connectionId: foreign.connection }],
    ] as const) {
      expect(await mcp.tool(name, given)).toMatchObject({ isError: true, text: 'Error: This key may only read' });
    }
    expect((await mcp.tool('listMemories', { containerTag: 'foreign' })).structured.memoryEntries).toHaveLength(1);
  });
});

describe('input that cannot be', () => {
  let mcp: McpClient;
  beforeAll(async () => {
    await start({
      services: ({ search, containerTags }) => ({
        search: {
          search: (request) => (request.q === 'break' ? Promise.reject(new Error('canary')) : search.search(request)),
        },
        profiles: { read: () => Promise.reject(new Error('canary')), buckets: async () => [] },
        containerTags: {
          ...containerTags,
          list: () => Promise.reject(new MemorydError('database_unreachable', 'PostgreSQL does not answer')),
        },
      }),
    });
    mcp = await open(fullKey);
  });
  afterAll(stop);

  it.each([
    ['search_memory', 'query is required', {}],
    ['search_memory', 'query must be text of 1 to 1000 characters', { query: ' ' }],
    ['search_memory', 'query must be text of 1 to 1000 characters', { query: 'x'.repeat(1001) }],
    ['search_memory', 'containerTag must be 1 to 100 letters', { query: 'x', containerTag: 'no dots.' }],
    ['search_memory', 'userId is not supported; use containerTag', { query: 'x', userId: 'u' }],
    ['add_memory', 'content must be text of 1 to 200000 characters', { content: 'x'.repeat(200_001) }],
    ['add_memory', 'action must be one of save, forget', { content: 'x', action: 'drop' }],
    ['listDocuments', 'limit must be', { limit: 51 }],
    ['listMemories', 'page must be', { page: 0 }],
    ['getDocument', 'documentId must be 1 to 255 characters', { documentId: '' }],
    ['getDocument', 'Document not found', { documentId: 'none' }],
  ])('%s answers "%s"', async (name, message, given) => {
    const { isError, text } = await mcp.tool(name, given);
    expect([isError, text]).toEqual([true, expect.stringContaining(`Error: ${message}`)]);
  });

  it('says nothing of failures that nobody foresaw, and logs them', async () => {
    expect(await mcp.tool('search_memory', { query: 'break', includeProfile: false })).toMatchObject({
      isError: true,
      text: 'Error: Internal server error',
    });
    await expect(mcp.client.readResource({ uri: 'supermemory://profile' })).rejects.toThrow('Internal server error');
    expect(test.logged()).toContain('canary');
    expect((await mcp.tool('listSpaces')).text).toBe('Error: PostgreSQL does not answer');
  });

  it.each<[string, unknown, number, object]>([
    ['an unknown tool', { id: 1, method: 'tools/call', params: { name: 'drop' } }, 200, { error: { code: -32602 } }],
    ['an unknown method', { id: 1, method: 'tools/drop' }, 200, { error: { code: -32601 } }],
    ['a notification', { method: 'notifications/initialized' }, 202, {}],
  ])('%s is answered as the protocol says', async (_, message, status, body) => {
    const answered = await test.call('POST', '/mcp', { jsonrpc: '2.0', ...(message as object) });
    expect(answered.status).toBe(status);
    if (status === 202) expect(answered.body).toBe('');
    else expect(answered.body).toMatchObject({ jsonrpc: '2.0', ...body });
  });

  it('is refused as everywhere when it is no message at all', async () => {
    expect((await test.call('POST', '/mcp', { id: 1, method: 'ping' })).body).toMatchObject({
      success: false,
      error: [{ path: ['jsonrpc'] }],
    });
    expect((await test.call('POST', '/mcp', [{ jsonrpc: '2.0', id: 1, method: 'ping' }])).status).toBe(400);
    const authorization = `Bearer ${fullKey}`;
    const headers = { authorization, 'content-type': 'application/json' };
    const malformed = await test.api.inject({ method: 'POST', url: '/mcp', headers, payload: '{' });
    expect([malformed.statusCode, malformed.json()]).toEqual([400, { error: 'The body is not valid JSON' }]);
    const versioned = { ...headers, 'mcp-protocol-version': '1066-10-14' };
    const old = await test.api.inject({
      ...{ method: 'POST', url: '/mcp', headers: versioned },
      payload: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    });
    expect([old.statusCode, old.json()]).toEqual([400, { error: expect.stringContaining('1066-10-14') }]);
    expect(await test.call('POST', '/mcp', { jsonrpc: '2.0', id: 1 })).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('Invalid JSON-RPC message') },
    });
  });

  it.each(['GET', 'DELETE'] as const)('%s is 405: there are no sessions', async (method) => {
    expect((await test.call(method, '/mcp', undefined, null)).status).toBe(401);
    const answered = await test.call(method, '/mcp');
    expect([answered.status, answered.headers['allow']]).toEqual([405, 'POST']);
  });
});
