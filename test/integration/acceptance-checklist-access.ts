import { afterAll, beforeAll, expect, it } from 'vitest';
import { sql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { runDueSync } from '../support/api-sync.ts';
import { lastWrites } from '../support/status-history.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

/** Row 9 of section 27 of the API's contract, by its words. */

/** Stands in the foreign container and nowhere else; callers search for the word beside it. */
const canary = 'canarybird';
const word = 'melody';
const known = `The ${word} plays.`;
const source = createSyntheticSource();
const connector = source.connector();

let test: TestApi;
let key: string;
/** What lies in a container that the key knows nothing of. */
let foreign: { document: string; memory: string; connection: string; run: string; item: string; key: string };

beforeAll(async () => {
  test = await startTestApi({ connectors: { synthetic: connector } });
  const post = async (url: string, body: object) => (await test.call('POST', url, body)).body;
  const content = `My name is ${canary}. The ${word} of ${canary} is loud.`;
  const { id: document } = await post('/v3/documents', {
    content,
    containerTag: 'foreign',
    customId: 'foreign-id',
    metadata: { note: canary },
    entityContext: canary,
    dreaming: 'instant',
  });
  await post('/v3/documents', { content: 'My own.', containerTag: 'own', customId: 'mine' });
  const made = await post('/v4/memories', { containerTag: 'foreign', memories: [{ content: known }] });
  source.put('item', `The ${word} of ${canary} at a source.`);
  const { id: connection } = await post('/v3/connections/synthetic', {
    containerTag: 'foreign',
    metadata: { note: canary },
  });
  await runDueSync(test, connector, connection);
  await test.process();
  const { body: runs } = await test.call('GET', `/v3/connections/${connection}/sync-runs`);
  const { body: items } = await test.call('GET', `/v3/connections/${connection}/items`);
  key = await test.newKey({ containerTags: ['own'], rateLimit: { max: 100_000, windowMs: 60_000 } });
  const [stored] = await test.database.query<{ id: string }>(sql`select id from api_keys limit 1`);
  foreign = {
    document,
    memory: made.memories[0].id,
    connection,
    run: runs[0].id,
    item: items.items[0].id,
    key: stored!.id,
  };
});
afterAll(() => test.close());

/** Every value of a path parameter that leads to something foreign. */
function namesFor(parameter: string, path: string): string[] {
  const names: Record<string, string[]> = {
    connection: [foreign.connection, 'synthetic'],
    connectionId: [foreign.connection],
    runId: [foreign.run],
    itemId: [foreign.item],
    memoryId: [foreign.memory],
    namespace: ['foreign', 'own'],
    type: ['documents', 'chunks', 'memories'],
    containerTag: ['foreign'],
    provider: ['synthetic'],
    name: ['synthetic'],
    key: [`${foreign.document}.txt`],
    mergeId: [foreign.run],
  };
  if (parameter === 'id' && path.includes('/auth/')) return [foreign.key];
  if (parameter === 'id' && path.includes('/connectors/')) return [foreign.connection];
  if (parameter === 'id')
    return [foreign.document, 'foreign-id', ...(path.includes('/memories/') ? [foreign.memory] : [])];
  return names[parameter] ?? ['foreign'];
}

function* addresses(path: string): Iterable<string> {
  const parameter = /\{(\w+)\}/.exec(path);
  if (!parameter) return yield path;
  for (const name of namesFor(parameter[1]!, path)) yield* addresses(path.replace(parameter[0], name));
}

/** Those of the newer dialect have nothing in them that an operation does not know. */
const closedBodies = (ids: object): object[] => [
  { query: word, threshold: 0, include: { documents: true, related: true, forgotten: true } },
  { query: word, dryRun: false },
  { include: { forgotten: true } },
  { content: 'Written by a stranger.' },
  { content: 'Written by a stranger.', id: 'foreign-id' },
  { documents: [{ content: 'Written by a stranger.', id: 'foreign-id' }] },
  { supportingContext: 'Said by a stranger.' },
  { buckets: { stranger: 'Of a stranger.' } },
  { organizationalContext: 'Said by a stranger.' },
  { documentLimit: 1 },
  ids,
];

/** Bodies that name what is foreign in every way that any operation knows, and none at all. */
const bodies = (): object[] => {
  const common = {
    q: word,
    query: word,
    content: known,
    newContent: 'Nothing sings.',
    threshold: 0,
    documents: [{ content: 'Written by a stranger.', customId: 'foreign-id', containerTag: 'foreign' }],
    memories: [{ content: 'Written by a stranger.' }],
    conversationId: 'foreign-id',
    messages: [{ role: 'user', content: 'Written by a stranger.' }],
    name: 'stranger',
    targetContainerTag: 'own',
    approved: true,
    action: 'approve',
    resources: [],
    upserts: [{ id: 'item', text: 'Written by a stranger.' }],
    searchMode: 'hybrid',
    confirmation: 'local',
    include: { documents: true, relatedMemories: true, forgottenMemories: true },
  };
  const ids = { ids: [foreign.document, 'foreign-id', foreign.memory] };
  const { include: _, q, newContent, threshold, searchMode } = common;
  return [
    { ...common, containerTag: 'foreign' },
    { ...common, containerTags: ['foreign', 'own'] },
    { ...common, ...ids, query: undefined },
    { ...common, id: foreign.memory, containerTag: 'own' },
    { q, newContent, threshold, searchMode, docId: foreign.document, containerTag: 'own', query: 'everything' },
    { ...ids, containerTag: 'own', by: 'id' },
    ...closedBodies(ids),
    {},
  ];
};

it('9. Container isolation: no search, list, profile, get, delete, update, forget or MCP call with a scoped key ever returns or changes a foreign container’s data', async () => {
  const { paths } = (await test.call('GET', '/openapi.json', undefined, null)).body;
  const foreignRows = async () =>
    JSON.stringify(
      await test.database.query(sql`
        select d.id, d.xmin::text, c.xmin::text as content from documents d join document_contents c on c.document_id = d.id
        where container_tag = 'foreign'
        union all select id, xmin::text, memory from memories where container_tag = 'foreign'
        union all select id, xmin::text, status from connections where container_tag = 'foreign'
        union all select tag, entity_context, name from container_tags where tag = 'foreign' order by 1`),
    );
  const before = [await foreignRows(), await lastWrites(test.database, ['sync_items', 'sync_runs'])];
  const seen: string[] = [];
  let answered = 0;
  const call = async (method: string, url: string, body?: object) => {
    const response = await test.api.inject({
      method: method as 'POST',
      url,
      headers: { authorization: `Bearer ${key}`, accept: 'application/json, text/event-stream' },
      ...(body && { payload: body }),
    });
    answered += 1;
    if (response.statusCode >= 500 || response.body.includes(canary))
      seen.push(`${method} ${url} ${response.statusCode} ${response.body.slice(0, 200)}`);
    return response.body;
  };
  for (const [path, methods] of Object.entries<Record<string, { security?: unknown[]; requestBody?: object }>>(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.security?.length === 0 || path.endsWith('/events')) continue;
      for (const url of addresses(path)) {
        for (const body of operation.requestBody && !path.endsWith('/file') ? bodies() : [undefined])
          await call(method.toUpperCase(), url, body);
      }
    }
  }
  for (const containerTag of [undefined, 'own', 'foreign']) {
    const tools = {
      search_memory: { query: word, containerTag },
      add_memory: { content: known, action: 'forget', containerTag },
      listDocuments: { containerTag },
      getDocument: { documentId: foreign.document },
      listMemories: { containerTag },
      listSpaces: {},
      whoAmI: {},
      listConnections: { containerTag },
      syncConnection: { connectionId: foreign.connection },
    };
    for (const [name, args] of Object.entries(tools)) {
      const answer = await call('POST', '/mcp', {
        ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
        params: { name, arguments: args },
      });
      expect(answer).toContain('"result"');
    }
  }
  expect(seen).toEqual([]);
  expect([await foreignRows(), await lastWrites(test.database, ['sync_items', 'sync_runs'])]).toEqual(before);
  expect(answered).toBeGreaterThan(200);
});
