import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recoverAlone } from '../../src/open-engine.ts';
import { claimDocuments, redriveDocuments, renewLeases } from '../../src/store/processing.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { crashingAt } from '../support/crashing-at.ts';
import { filterRows, nested } from '../support/filter-rows.ts';
import { isAllowed, recordedMoves, recordStatuses } from '../support/status-history.ts';

/** Section 27 of the API's contract: each title is a row of it. */

/** Pages that wait until they are let go. */
async function startPages() {
  const waiting: ServerResponse[] = [];
  const server = createServer((request, response) => {
    const status = Number(/\d+/.exec(request.url!)?.[0] ?? 200);
    if (request.url!.startsWith('/held')) waiting.push(response);
    else response.writeHead(status, { 'content-type': 'text/plain' }).end('A page of the web.');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    waiting,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

let test: TestApi;
let pages: Awaited<ReturnType<typeof startPages>>;
beforeAll(async () => {
  pages = await startPages();
  test = await startTestApi();
  await recordStatuses(test.database);
});
afterAll(async () => {
  await test.close();
  await pages.close();
});

const add = async (body: object): Promise<{ id: string; status: string }> => {
  const answer = await test.call('POST', '/v3/documents', body);
  expect(answer.status).toBe(200);
  return answer.body;
};
const get = async (id: string) => (await test.call('GET', `/v3/documents/${id}`)).body;
const list = async (containerTag: string, more: object = {}) =>
  (await test.call('POST', '/v3/documents/list', { containerTag, ...more })).body.memories as any[];
const search = async (body: object) =>
  (await test.call('POST', '/v4/search', { searchMode: 'documents', threshold: 0, ...body })).body.results as any[];

it('1. Add with customId twice: same id, one document in the list, second content wins, search no longer finds the first text', async () => {
  const first = await add({ content: 'The kiln burns at dawn.', containerTag: 'row1', customId: 'kiln' });
  await test.process();
  const second = await add({ content: 'The orchard blooms in May.', containerTag: 'row1', customId: 'kiln' });
  await test.process();
  expect(second.id).toBe(first.id);
  expect(await list('row1', { includeContent: true })).toMatchObject([{ content: 'The orchard blooms in May.' }]);
  const found = await search({ q: 'kiln burns dawn', containerTag: 'row1' });
  expect(found.map((one) => one.chunk)).toEqual(['The orchard blooms in May.']);
});

it('2. Second add while the first is processing: nothing lost, ends done with the second content', async () => {
  const { id } = await add({ content: `${pages.url}/held`, containerTag: 'row2', customId: 'plan' });
  const processing = test.process();
  await expect.poll(() => pages.waiting.length).toBe(1);
  expect((await get(id)).status).toBe('extracting');
  const again = await add({ content: 'The second plan.', containerTag: 'row2', customId: 'plan' });
  expect(again).toEqual({ id, status: 'queued' });
  await add({ content: 'And a third part.', containerTag: 'row2', customId: 'plan', updateMode: 'append' });
  pages.waiting.pop()!.end('The first plan.');
  await processing;
  await test.process();
  expect(await get(id)).toMatchObject({ status: 'done', content: 'The second plan.\n\nAnd a third part.' });
  const found = await search({ q: 'plan', containerTag: 'row2' });
  expect(found.map((one) => one.chunk).join('\n')).not.toContain('first');
});

it('3. dreaming: "instant": on the first poll that shows done, POST /v4/search and POST /v4/profile show the memories', async () => {
  const content = 'My name is Mira. I live in Porto.';
  const { id } = await add({ content, containerTag: 'row3', dreaming: 'instant' });
  const processing = test.process();
  await expect.poll(async () => (await get(id)).status, { interval: 1 }).toBe('done');
  const found = await search({ q: 'Where does Mira live?', containerTag: 'row3', searchMode: 'memories' });
  expect(found.map((one) => one.memory)).toContain('Mira lives in Porto.');
  const { body } = await test.call('POST', '/v4/profile', { containerTag: 'row3' });
  expect(body.profile.static).toContain('Mira lives in Porto.');
  await processing;
});

it('4. /ns/{ns}/document/{id}: by id and by customId; chunks/memories keys absent, then [], then filled, per include; other namespace 404; scoped key 403; bad namespace 400; no key 401', async () => {
  const { id } = await add({
    content: 'My name is Ada. I live in Lyon.',
    containerTag: 'row4',
    customId: 'ada',
    dreaming: 'instant',
  });
  await add({ content: 'Elsewhere.', containerTag: 'row4_other' });
  const read = async (name: string, include?: string, key?: string | null) =>
    test.call('GET', `/ns/row4/document/${name}${include === undefined ? '' : `?include=${include}`}`, undefined, key);
  const both = 'chunks,memories';
  expect(Object.keys((await read(id)).body).sort()).toEqual([
    'content',
    'id',
    'metadata',
    'summary',
    'system',
    'title',
    'type',
  ]);
  expect((await read('ada', both)).body).toMatchObject({ id, chunks: [], memories: [], system: { status: 'queued' } });
  await test.process();
  for (const name of [id, 'ada']) {
    const { body } = await read(name, both);
    expect(body).toMatchObject({ id, chunks: [{ position: 0 }], system: { status: 'done' } });
    expect(body.memories.map((one: any) => one.memory)).toContain('Ada lives in Lyon.');
    expect((await read(name, 'chunks')).body).not.toHaveProperty('memories');
    expect((await read(name, 'memories')).body).not.toHaveProperty('chunks');
  }
  expect((await test.call('GET', `/ns/row4_other/document/${id}`)).status).toBe(404);
  expect((await read(id, undefined, await test.newKey({ containerTags: ['row4_other'] }))).status).toBe(403);
  expect((await test.call('GET', `/ns/row%204/document/${id}`)).status).toBe(400);
  expect((await read(id, 'everything')).status).toBe(400);
  expect((await read(id, undefined, null)).status).toBe(401);
});

it('5. Same customId in two containers: two documents; /v3/documents/{customId} is 409, both /ns forms work', async () => {
  const left = await add({ content: 'Left.', containerTag: 'row5_left', customId: 'shared' });
  const right = await add({ content: 'Right.', containerTag: 'row5_right', customId: 'shared' });
  expect(left.id).not.toBe(right.id);
  const ambiguous = await test.call('GET', '/v3/documents/shared');
  expect(ambiguous).toMatchObject({ status: 409, headers: { 'x-should-retry': 'false' } });
  expect((await test.call('GET', '/ns/row5_left/document/shared')).body.id).toBe(left.id);
  expect((await test.call('GET', '/ns/row5_right/document/shared')).body.id).toBe(right.id);
});

/** What happens to documents, in any order; each knows its documents by number. */
const happenings: Record<string, (name: string) => Promise<unknown>> = {
  add: (name) =>
    test.call('POST', '/v3/documents', { content: `One of ${name}.`, containerTag: 'row6', customId: name }),
  replace: (name) =>
    test.call('POST', '/v3/documents', { content: `Two of ${name}.`, containerTag: 'row6', customId: name }),
  append: (name) =>
    test.call('POST', '/v3/documents', {
      content: 'More.',
      containerTag: 'row6',
      customId: name,
      updateMode: 'append',
    }),
  goneAddress: (name) =>
    test.call('POST', '/v3/documents', { content: `${pages.url}/404`, containerTag: 'row6', customId: name }),
  illAddress: (name) =>
    test.call('POST', '/v3/documents', { content: `${pages.url}/503`, containerTag: 'row6', customId: name }),
  describe: (name) => test.call('PATCH', `/v3/documents/${name}`, { metadata: { seen: true } }),
  move: (name) => test.call('PATCH', `/v3/documents/${name}`, { containerTag: 'row6_moved' }),
  talk: (name) =>
    test.call('POST', '/v4/conversations', {
      conversationId: name,
      containerTag: 'row6',
      messages: [{ role: 'user', content: `Hello ${name}` }],
    }),
  remember: (name) =>
    test.call('POST', '/v4/memories', { containerTag: 'row6', memories: [{ content: `${name} is known.` }] }),
  retry: (name) => test.call('POST', `/v3/documents/${name}/retry`),
  delete: (name) => test.call('DELETE', `/v3/documents/${name}`),
  process: () => test.process(),
  redrive: () => redriveDocuments(test.database, test.clock.now()),
  wait: async () => test.clock.advance(60_000),
  loseWorker: async () => dieIn((['extracting', 'chunking', 'embedding', 'indexing'] as const)[workersLost++ % 4]!),
};
let workersLost = 0;
/** A worker lost in each state, and another one that takes over; and a page that is not there. */
const everyLoss = ['replace', 'append', 'replace', 'append'].flatMap((change): [string, string][] => [
  ['goneAddress', 'b'],
  ['process', ''],
  [change, 'a'],
  ['loseWorker', ''],
  ['wait', ''],
]);

/** Leaves everything that waits as a worker does that was killed in this state. */
async function dieIn(status: 'extracting' | 'chunking' | 'embedding' | 'indexing'): Promise<string[]> {
  const now = test.clock.now();
  const lease = { leaseToken: `dead worker ${workersLost}`, leaseUntil: new Date(now.getTime() + 30_000) };
  const claimed = await claimDocuments(test.database, { limit: 10, now, ...lease });
  if (claimed.length > 0)
    await renewLeases(
      test.database,
      claimed.map(({ id }) => ({ id, status })),
      lease,
    );
  return claimed.map(({ id }) => id);
}

it('6. Status history of many documents contains only the transitions of 7.2 (property test)', async () => {
  const happening = fc.tuple(fc.constantFrom(...Object.keys(happenings)), fc.constantFrom('a', 'b', 'c'));
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { minLength: 5, maxLength: 12 }), async (program) => {
      for (const [what, name] of program) await happenings[what]!(name);
      expect((await recordedMoves(test.database)).filter((move) => !isAllowed(move))).toEqual([]);
    }),
    { numRuns: 12, examples: [[everyLoss]] },
  );
  const reached = new Set((await recordedMoves(test.database)).map(({ after }) => after));
  expect([...reached].sort()).toEqual(['chunking', 'done', 'embedding', 'extracting', 'failed', 'indexing', 'queued']);
});

describe('7. Kill the process in each processing state: after restart every document reaches done', () => {
  const restart = async () => {
    await recoverAlone(test.database, test.clock);
    await test.process();
  };

  it.each(['queued', 'extracting', 'chunking', 'embedding', 'indexing'] as const)('%s', async (state) => {
    const { id } = await add({ content: `Killed while ${state}.`, containerTag: 'row7', dreaming: 'instant' });
    if (state !== 'queued') expect(await dieIn(state)).toContain(id);
    expect((await get(id)).status).toBe(state);
    await restart();
    expect(await get(id)).toMatchObject({ status: 'done', content: `Killed while ${state}.` });
  });

  it('and between any two statements', async () => {
    await restart();
    let isOver = false;
    for (let statement = 1; !isOver; statement++) {
      const content = `I live in town ${statement}. The mill of town ${statement} turns.`;
      const { id } = await add({ content, containerTag: 'row7', customId: 'mill', dreaming: 'instant' });
      isOver = await test.process(crashingAt(test.database, statement)).then(
        () => true,
        () => false,
      );
      await restart();
      expect(await get(id)).toMatchObject({ status: 'done', content, error: null });
      const found = await search({ q: 'mill turns', containerTag: 'row7', docId: id });
      expect(found.map((one) => one.chunk)).toEqual([content]);
      expect(statement).toBeLessThan(60);
    }
  });
});

describe('8. Filters: table-driven test of each operator with negate and ignoreCase, present and missing keys, 8 levels accepted, 9 rejected, 201 conditions rejected', () => {
  const stored: Record<string, object> = {
    text: { key: 'Paid' },
    list: { key: ['Paid', 'urgent'] },
    number: { key: 7 },
    digits: { key: '7' },
    flag: { key: true },
    missing: { other: 'Paid' },
  };
  beforeAll(async () => {
    for (const [customId, metadata] of Object.entries(stored))
      await add({ content: `Filtered ${customId}.`, containerTag: 'row8', customId, metadata });
    await test.process();
  });

  it.each(filterRows)(
    '$filterType $numericOperator $value negate $negate ignoreCase $ignoreCase',
    async ({ found, ...condition }) => {
      const filters = { AND: [{ key: 'key', ...condition }] };
      const listed = await list('row8', { filters, limit: 100 });
      expect(listed.map((one): string => one.customId).sort()).toEqual(found.toSorted());
      const searched = await search({ q: 'Filtered', containerTag: 'row8', filters: JSON.stringify(filters) });
      expect(new Set(searched.map((one) => one.chunk))).toEqual(new Set(found.map((name) => `Filtered ${name}.`)));
    },
  );

  it.each([
    ['8 levels', nested(8), 200],
    ['9 levels', nested(9), 400],
    ['200 conditions', { OR: Array.from({ length: 200 }, () => ({ key: 'key', value: 'x' })) }, 200],
    ['201 conditions', { OR: Array.from({ length: 201 }, () => ({ key: 'key', value: 'x' })) }, 400],
    ['a bare condition', { key: 'key', value: 'x' }, 400],
  ])('%s', async (_, filters, status) => {
    for (const url of ['/v3/documents/list', '/v4/search', '/v4/profile', '/v4/memories/list']) {
      const body = { q: 'x', containerTag: 'row8', filters };
      expect([url, (await test.call('POST', url, body)).status]).toEqual([url, status]);
    }
  });
});

// Rows 9 to 14 have worlds of their own.
describe('with a key of another container', async () => {
  await import('./acceptance-checklist-access.ts');
});
describe('with sources', async () => {
  await import('./acceptance-checklist-sources.ts');
});
