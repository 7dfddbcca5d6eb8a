import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawSql } from '../../src/store/sql.ts';
import { forgetOutdated } from '../../src/schedule/scheduler.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

const told = { author: null, trust: 'told' };

describe('memories', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
  });
  afterAll(() => test.close());

  const add = async (containerTag: string, content: string, more: object = {}) => {
    const { body } = await test.call('POST', '/v3/documents', { containerTag, content, dreaming: 'instant', ...more });
    await test.process();
    return body.id as string;
  };
  const list = async (containerTag: string, more: object = {}) =>
    (
      await test.call('POST', '/v4/memories/list', { containerTags: [containerTag], order: 'asc', ...more })
    ).body.memoryEntries.filter(({ kind }: { kind: string }) => kind === 'fact');
  const texts = async (containerTag: string) => (await list(containerTag)).map((one: { memory: string }) => one.memory);
  const profile = async (containerTag: string, more: object = {}) =>
    (await test.call('POST', '/v4/profile', { containerTag, ...more })).body;

  it('of an instant document are there when it is done, and those of others after dreaming', async () => {
    const id = await add('instant', 'I live in Porto. I like coffee.');
    expect((await test.call('GET', `/v3/documents/${id}`)).body).toMatchObject({
      status: 'done',
      dreamingStatus: 'done',
    });
    expect(await texts('instant')).toEqual(['The user lives in Porto.', 'The user likes coffee.']);
    const later = await add('dynamic', 'I live in Porto.', { dreaming: 'dynamic' });
    expect((await test.call('GET', `/v3/documents/${later}`)).body).toMatchObject({
      status: 'done',
      dreamingStatus: 'dreaming',
    });
    expect(await texts('dynamic')).toEqual([]);
    await test.dream();
    expect((await test.call('GET', `/v3/documents/${later}`)).body.dreamingStatus).toBe('done');
    expect(await texts('dynamic')).toEqual(['The user lives in Porto.']);
  });

  it('are not made of superrag documents', async () => {
    await add('rag', 'I live in Porto.', { taskType: 'superrag' });
    await test.dream();
    expect(await texts('rag')).toEqual([]);
  });

  it('have versions when a later document says otherwise, and one row when it says the same', async () => {
    await add('chain', 'I live in Porto.');
    await add('chain', 'I now live in Porto!');
    const moved = await add('chain', 'I moved to Berlin.');
    const [entry, ...others] = await list('chain');
    expect(others).toEqual([]);
    expect(entry).toMatchObject({ memory: 'The user moved to Berlin.', version: 2, isLatest: true, sourceCount: 1 });
    expect(entry.history).toMatchObject([{ memory: 'The user lives in Porto.', version: 1, isLatest: false }]);
    expect(entry.memoryRelations).toEqual({ [entry.history[0].id]: 'updates' });
    await test.call('DELETE', `/v3/documents/${moved}`);
    const [left] = await list('chain');
    expect(left).toMatchObject({ memory: 'The user lives in Porto.', version: 1, isLatest: true, sourceCount: 2 });
  });

  it('that a changed document no longer says are forgotten, others keep their ids', async () => {
    await add('changed', 'Alice prefers tea. Bob works at Acme.', { customId: 'note' });
    const before = await list('changed');
    await add('changed', 'Alice prefers tea. Carol lives in Rome.', { customId: 'note' });
    const after = await list('changed', { includeForgotten: true });
    expect(after).toMatchObject([
      { id: before[0].id, memory: 'Alice prefers tea.', isForgotten: false },
      { id: before[1].id, isForgotten: true, forgetReason: 'source changed' },
      { memory: 'Carol lives in Rome.', isForgotten: false },
    ]);
  });

  it('are written, found, changed and forgotten by callers', async () => {
    const created = await test.call('POST', '/v4/memories', {
      containerTag: 'mira',
      memories: [
        { content: "Mira's time zone is Europe/Berlin", isStatic: true },
        { content: 'Mira prefers short written updates', metadata: { channel: 'slack' } },
        { content: "mira's time zone is  Europe/Berlin", metadata: { again: true } },
      ],
    });
    expect(created.status).toBe(201);
    const [zone, updates, same] = created.body.memories;
    expect(same).toMatchObject({ id: zone.id, metadata: { again: true } });
    const found = await test.call('POST', '/v4/search', { q: 'short written updates', containerTag: 'mira' });
    expect(found.body.results[0]).toMatchObject({ id: updates.id, memory: 'Mira prefers short written updates' });
    const change = { containerTag: 'mira', id: updates.id, newContent: 'Mira prefers short written updates, one page' };
    const changed = await test.call('PATCH', '/v4/memories', change);
    expect(changed.body).toMatchObject({ version: 2, parentMemoryId: updates.id, metadata: { channel: 'slack' } });
    expect((await test.call('PATCH', '/v4/memories', change)).body.id).toBe(changed.body.id);
    expect(await profile('mira', { q: 'updates' })).toMatchObject({
      profile: {
        static: ["Mira's time zone is Europe/Berlin"],
        dynamic: ['Mira prefers short written updates, one page'],
        buckets: { preferences: ['Mira prefers short written updates, one page'] },
      },
    });
    const choice = { containerTag: 'mira', content: 'Mira prefers short written updates, one page' };
    expect((await test.call('DELETE', '/v4/memories', choice)).body).toEqual({ id: changed.body.id, forgotten: true });
    const again = await test.call('DELETE', '/v4/memories', choice);
    expect(again).toMatchObject({ status: 409, body: { error: 'Memory already forgotten' } });
    expect(again.headers['x-should-retry']).toBe('false');
    expect((await test.call('PATCH', '/v4/memories', change)).status).toBe(404);
    expect(await texts('mira')).toEqual(["Mira's time zone is Europe/Berlin"]);
  });

  it('say who said them, when, how far to trust them and where they come from, wherever they are shown', async () => {
    const containerTag = 'cited';
    const document = { content: 'Nadia lives in Porto.', containerTag, dreaming: 'instant' };
    const { id: documentId } = (
      await test.call('POST', '/v3/documents', {
        ...{ ...document, metadata: { title: 'Notes' }, filepath: '/notes.md', documentDate: '2026-02-03' },
      })
    ).body;
    await test.process();
    const date = '2026-02-03T00:00:00.000Z';
    const source = { documentId, title: 'Notes', type: 'text', url: null, filepath: '/notes.md' };
    const whence = { kind: 'fact', author: null, trust: 'told', sources: [{ ...source, ...told, date }] };
    const { body: found } = await test.call('POST', '/v4/search', { q: 'Nadia lives in Porto', containerTag });
    const isFact = ({ kind }: { kind: string }) => kind === 'fact';
    expect(found.results.filter(isFact)).toMatchObject([{ ...whence, memory: document.content, containerTag }]);
    const { body: listed } = await test.call('POST', '/v4/memories/list', { containerTag });
    expect(listed.memoryEntries.filter(isFact)).toMatchObject([{ ...whence, memory: document.content }]);
    const { profile: shown, facts: cited } = await profile(containerTag);
    expect([...shown.static, ...shown.dynamic]).toEqual([document.content]);
    expect(cited).toMatchObject([
      { ...whence, id: listed.memoryEntries.find(isFact).id, memory: document.content, version: 1 },
    ]);
    expect((await test.call('GET', `/v3/container-tags/${containerTag}/profile`)).body.facts).toEqual(cited);
    const part = await profile(containerTag, { include: ['dynamic'] });
    expect(part.facts.map(({ memory }: { memory: string }) => memory)).toEqual(part.profile.dynamic);
  });

  it('are shown with their dates where they are found', async () => {
    await test.call('POST', '/v4/memories', {
      containerTag: 'dates',
      memories: [{ content: 'The trip to Rome', metadata: { k: 1 }, temporalContext: { documentDate: '2026-03-01' } }],
    });
    const search = async (path: string, more: object = {}) =>
      (await test.call('POST', path, { q: 'trip to Rome', containerTag: 'dates', threshold: 0, ...more })).body;
    const metadata = { k: 1, temporalContext: { documentDate: '2026-03-01T00:00:00.000Z' } };
    expect((await search('/v4/search')).results).toMatchObject([{ memory: 'The trip to Rome', metadata }]);
    expect((await search('/v4/profile')).searchResults.results).toMatchObject([{ metadata }]);
    expect(await search('/v4/profile', { q: '' })).not.toHaveProperty('searchResults');
  });

  it('of a document with filterByMetadata are compared with those that fit it, and its own', async () => {
    const of = (team: string | string[]) => ({ filterByMetadata: { team }, metadata: { team: [team].flat()[0]! } });
    await add('filtered', 'I live in Porto.', of('a'));
    await add('filtered', 'I live in Berlin.', of('b'));
    expect(await texts('filtered')).toEqual(['The user lives in Porto.', 'The user lives in Berlin.']);
    await add('filtered', 'I moved to Rome.', { filterByMetadata: { team: ['b', 'c'], floor: 1 } });
    expect((await texts('filtered')).length).toBe(3);
    await add('filtered', 'I moved to Oslo.', { ...of(['b', 'c']), customId: 'own' });
    expect(await texts('filtered')).toEqual([
      'The user lives in Porto.',
      'The user moved to Rome.',
      'The user moved to Oslo.',
    ]);
    await add('filtered', 'I moved to Kyiv.', { ...of('d'), customId: 'own' });
    expect((await texts('filtered')).at(-1)).toBe('The user moved to Kyiv.');
  });

  it('are forgotten when their time has come, also before the sweep', async () => {
    const forgetAfter = new Date(test.clock.now().getTime() + 60_000).toISOString();
    await test.call('POST', '/v4/memories', {
      containerTag: 'leave',
      memories: [{ content: 'Mira is away', forgetAfter }],
    });
    expect(await texts('leave')).toEqual(['Mira is away']);
    test.clock.advance(60_000);
    expect(await texts('leave')).toEqual([]);
    expect((await profile('leave')).profile.dynamic).toEqual([]);
    await forgetOutdated(test, new AbortController().signal);
    expect(await list('leave', { includeForgotten: true })).toMatchObject([
      { isForgotten: true, forgetReason: 'expired' },
    ]);
  });

  it('are forgotten by what they are about', async () => {
    await test.call('POST', '/v4/memories', {
      containerTag: 'about',
      memories: [{ content: 'Mira is on leave until spring' }, { content: 'The crane lifts containers' }],
    });
    const request = { containerTag: 'about', query: 'forget everything about the leave' };
    const dry = await test.call('POST', '/v4/memories/forget-matching', { ...request, dryRun: true });
    expect(dry.body).toMatchObject({
      dryRun: true,
      count: 1,
      forgetBatchId: null,
      summary: 'Would forget 1 memory about "the leave".',
    });
    expect((await texts('about')).length).toBe(2);
    const done = await test.call('POST', '/v4/memories/forget-matching', request);
    expect(done.body.forgotten).toMatchObject([{ memory: 'Mira is on leave until spring' }]);
    expect(await texts('about')).toEqual(['The crane lifts containers']);
  });

  it('refuses bad input and foreign containers', async () => {
    const bad = (body: object, method: 'POST' | 'PATCH' | 'DELETE', path = '/v4/memories') =>
      test.call(method, path, body);
    expect((await bad({ containerTag: 'x', memories: [] }, 'POST')).status).toBe(400);
    const past = { containerTag: 'x', memories: [{ content: 'a', forgetAfter: '2001-01-01T00:00:00Z' }] };
    expect((await bad(past, 'POST')).body.error[0].path).toEqual(['memories', 0, 'forgetAfter']);
    const never = '2031-06-30T23:59:60Z';
    const leap = { containerTag: 'x', memories: [{ content: 'a', forgetAfter: never }] };
    expect((await bad(leap, 'POST')).body.error[0].path).toEqual(['memories', 0, 'forgetAfter']);
    for (const forgetAfter of [never, '9999-12-31T23:59:59-01:00', '2031-02-30T00:00:00Z']) {
      const change = { containerTag: 'x', id: 'none', newContent: 'a', forgetAfter };
      expect([forgetAfter, (await bad(change, 'PATCH')).body.error[0].path]).toEqual([forgetAfter, ['forgetAfter']]);
    }
    expect((await bad({ containerTag: 'x', newContent: 'a' }, 'PATCH')).status).toBe(400);
    expect((await bad({ containerTag: 'x', id: 'none' }, 'DELETE')).status).toBe(404);
    expect((await bad({ containerTag: 'x' }, 'POST', '/v4/memories/forget-matching')).status).toBe(400);
    expect((await bad({ containerTags: ['x', 'y'], memories: [{ content: 'a' }] }, 'POST')).body).toEqual({
      error: expect.stringMatching(/^Use containerTag .* COMPAT=plural-tags/),
    });
    const key = await test.newKey({ containerTags: ['own'] });
    expect((await test.call('POST', '/v4/profile', { containerTag: 'mira' }, key)).status).toBe(403);
    expect((await profile('nowhere')).profile).toEqual({ static: [], dynamic: [], buckets: { preferences: [] } });
  });

  it('of hidden documents are not shown', async () => {
    const id = await add('hidden', 'I live in Porto.');
    await test.database.execute(rawSql(`update documents set deleted_at = now() where id = '${id}'`));
    expect(await texts('hidden')).toEqual([]);
    expect((await profile('hidden')).profile.static).toEqual([]);
  });
});
