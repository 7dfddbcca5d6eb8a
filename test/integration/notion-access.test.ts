import { afterEach, describe, expect, it } from 'vitest';
import notion from '../../connectors/notion/index.ts';
import { deliveryOf } from '../../fixtures/servers/notion/notion-world.ts';
import { idFor, type Workspace } from '../../fixtures/servers/notion/workspace.ts';
import type { RawHook } from '../../src/connector/contract.ts';
import { createNotionFixture, type NotionFixture } from './notion-fixture.ts';

let fixture: NotionFixture | undefined;
afterEach(async () => {
  await fixture?.close();
  fixture = undefined;
});

const minute = 60_000;

function oldPages(workspace: Workspace, count: number, given: object = {}): void {
  const at = Date.parse('2026-01-01T10:00:00.000Z');
  for (let index = 1; index <= count; index++) {
    const edits = [at + index * 20 * minute];
    workspace.addPage(`page ${index}`, { text: `Text ${index}.`, createdAt: edits[0]!, edits, ...given });
  }
}

const statuses = (results: { name: string; status: string }[]) => results.map(({ name, status }) => [name, status]);

describe('the check', () => {
  it('says that nothing is shared, and what to do about it', async () => {
    fixture = await createNotionFixture();
    const results = await fixture.withContext((ctx) => notion.check(ctx));
    expect(statuses(results)).toEqual([
      ['credential', 'ok'],
      ['pages', 'failed'],
    ]);
    expect(results[1]!.remedy).toContain('Connections');
    expect(results[0]!.detail).toBe('The workspace is Acme.');
    expect(await fixture.mirror.sync()).toMatchObject({ status: 'completed', itemsSeen: 0 });
  });

  it('says that the token was revoked', async () => {
    fixture = await createNotionFixture();
    fixture.revoke();
    const results = await fixture.withContext((ctx) => notion.check(ctx));
    expect(statuses(results)).toEqual([['credential', 'failed']]);
  });
});

describe('the picker', () => {
  it('shows pages and databases without rows, and below a page what is in it', async () => {
    fixture = await createNotionFixture({
      fill(all) {
        all.addPage('top', { text: 'Top.' });
        all.addPage('below', { text: 'Below.', parent: { type: 'page', id: idFor('top') } });
        const source = all.addSource('Tasks');
        all.addPage('row', { text: 'Row.', parent: { type: 'source', id: source.id } });
      },
    });
    const first = await fixture.withContext((ctx) => notion.resources!(ctx));
    const shown = first.resources.map(({ name, kind }) => `${kind} ${name}`);
    expect(shown.toSorted()).toEqual(['database Tasks', 'page below', 'page top']);
    const below = await fixture.withContext((ctx) => notion.resources!(ctx, idFor('top')));
    expect(below.resources.map(({ name }) => name)).toEqual(['below']);
  });

  it('is followed: only what lies in the chosen database or page is mirrored', async () => {
    fixture = await createNotionFixture({
      selection: [{ id: idFor('source Tasks'), name: 'Tasks' }],
      fill(all) {
        oldPages(all, 3);
        const source = all.addSource('Tasks');
        all.addPage('row', { text: 'Row.', parent: { type: 'source', id: source.id } });
        all.addPage('in the row', { text: 'Below.', parent: { type: 'page', id: idFor('row') } });
      },
    });
    await fixture.mirror.sync();
    expect([...(await fixture.mirror.texts()).values()].toSorted()).toEqual(['Below.', 'Row.']);
  });

  it('takes what is left out of memory at once, however much it is', async () => {
    fixture = await createNotionFixture({
      fill(all) {
        oldPages(all, 40);
        all.addPage('below', { text: 'Below.', parent: { type: 'page', id: idFor('page 7') } });
      },
    });
    await fixture.mirror.sync();
    await fixture.choose([{ id: idFor('page 7'), name: 'page 7' }]);
    const run = await fixture.mirror.sync();
    expect(run.warnings).toEqual([]);
    expect([...(await fixture.mirror.texts()).values()].toSorted()).toEqual(['Below.', 'Text 7.']);
  });

  it('holds back what lies in a chosen page that is suddenly not shown', async () => {
    const root = { id: idFor('root'), name: 'root' };
    fixture = await createNotionFixture({
      selection: [root],
      fill(all) {
        all.addPage('root', { text: 'The root.' });
        all.addPage('branch', { text: 'A branch.', parent: { type: 'page', id: root.id } });
        oldPages(all, 40, { parent: { type: 'page', id: idFor('branch') } });
      },
    });
    const { mirror, workspace, clock } = fixture;
    await mirror.sync();
    for (const id of [root.id, idFor('branch')]) workspace.change(id, { isHidden: true });
    clock.advance(25 * 60 * minute);
    const run = await mirror.sync();
    expect(run.warnings).toMatchObject([{ code: 'sweep_held' }]);
    expect((await mirror.texts()).size).toBe(42);
  });

  it('may be used again after a sync that failed in between: what it left out stays', async () => {
    fixture = await createNotionFixture({
      fill(all) {
        for (const name of ['first', 'second', 'third']) all.addPage(name, { text: name });
      },
    });
    const { mirror, choose, intercept } = fixture;
    await mirror.sync();
    const documents = await mirror.documentIds();
    await choose([{ id: idFor('first'), name: 'first' }]);
    let searches = 0;
    intercept(({ path }) => (path === '/v1/search' && ++searches > 1 ? { status: 500 } : undefined));
    await mirror.sync();
    intercept(undefined);
    await choose([]);
    await mirror.sync();
    expect(await mirror.documentIds()).toEqual(documents);
  });
});

describe('requests', () => {
  it('are one for each page, two lists for each hundred of a first sync, and two when nothing happens', async () => {
    fixture = await createNotionFixture({ fill: (all) => oldPages(all, 250) });
    await fixture.mirror.sync();
    // The head, three lists twice, the search and the trash after it, the names of users.
    expect(fixture.countRequests()).toBe(250 + 1 + 2 * 3 + 2 + 1);
    await fixture.mirror.sync();
    expect(fixture.takeRequests()).toEqual(['POST /v1/search', 'POST /v1/search']);
    fixture.clock.advance(10 * minute);
    for (const index of [1, 2, 3]) fixture.workspace.edit(idFor(`page ${index}`), { text: 'Edited.' });
    fixture.clock.advance(5 * minute);
    await fixture.mirror.sync();
    expect(fixture.countRequests()).toBe(3 + 2 + 1);
    fixture.clock.advance(24 * 60 * minute);
    const texts = await fixture.mirror.texts();
    await fixture.mirror.sync();
    const daily = fixture.takeRequests();
    expect(daily.filter((line) => line === 'POST /v1/search')).toHaveLength(2 + 3 + 2);
    // Two per cent are read again each day.
    expect(daily.filter((line) => line.endsWith('/markdown')).length).toBeLessThan(250 * 0.06);
    expect(await fixture.mirror.texts()).toEqual(texts);
  });

  it('are one more for each database', async () => {
    fixture = await createNotionFixture({
      fill(all) {
        for (const name of ['A', 'B', 'C']) all.addSource(name);
        const [first] = all.sources.keys();
        oldPages(all, 120, { parent: { type: 'source', id: first } });
      },
    });
    await fixture.mirror.sync();
    fixture.takeRequests();
    await fixture.mirror.sync();
    expect(fixture.takeRequests()).toHaveLength(2 + 3);
  });

  it('wait as long as Notion says, also for more than a minute, and when it is overloaded', async () => {
    for (const [status, code] of [
      [429, 'rate_limited'],
      [529, 'service_overload'],
    ] as const) {
      fixture = await createNotionFixture({ fill: (all) => oldPages(all, 3) });
      const json = {
        object: 'error',
        status,
        code,
        message: 'Too much.',
        additional_data: { rate_limit_reason: 'workspace' },
      };
      fixture.intercept(() => ({ status, headers: { 'retry-after': '900' }, json }));
      const run = await fixture.mirror.sync();
      expect([run.errorCode, fixture.countRequests()]).toEqual(['rate_limited', 1]);
      fixture.clock.advance(880_000);
      await fixture.mirror.sync();
      expect(fixture.countRequests()).toBe(0);
      fixture.intercept(undefined);
      fixture.clock.advance(30_000);
      expect((await fixture.mirror.sync()).status).toBe('completed');
      await fixture.close();
      fixture = undefined;
    }
  });
});

describe('two connections of one account', () => {
  it('mirror the same pages into their own containers', async () => {
    fixture = await createNotionFixture({ fill: (all) => oldPages(all, 3) });
    const other = await fixture.mirrorOf('other');
    await fixture.mirror.sync();
    await other.sync();
    expect(await other.texts()).toEqual(await fixture.mirror.texts());
    fixture.workspace.edit(idFor('page 1'), { inTrash: true });
    await other.sync();
    expect([(await fixture.mirror.texts()).size, (await other.texts()).size]).toEqual([3, 2]);
  });
});

describe('a webhook', () => {
  const secret = 'secret_verification';
  const receive = (raw: RawHook) => notion.hooks!.receive(raw, secret);
  const handshake = (token: string): RawHook => ({
    ...deliveryOf({ type: 'page', id: 'x' }, secret),
    headers: {},
    body: Buffer.from(JSON.stringify({ verification_token: token })),
  });

  it('names the page that was edited, or that was commented', async () => {
    const page = idFor('page 1');
    expect(await receive(deliveryOf({ type: 'page', id: page }, secret))).toMatchObject({
      hints: [{ partition: 'pages', ids: [page] }],
      deliveryId: expect.any(String),
    });
    const comment = deliveryOf({ type: 'comment', id: idFor('remark') }, secret, { data: { page_id: page } });
    expect(await receive(comment)).toMatchObject({ hints: [{ ids: [page] }] });
    const source = deliveryOf({ type: 'data_source', id: idFor('source Tasks') }, secret);
    expect(await receive(source)).toMatchObject({ hints: [{ partition: 'pages' }] });
  });

  it('is answered in the handshake for the token that was set, and for no other', async () => {
    expect(await receive(handshake(secret))).toEqual({ respond: { status: 200 } });
    await expect(receive(handshake('secret_of_a_stranger'))).rejects.toMatchObject({ kind: 'forbidden' });
  });

  it('brings a page that was edited without the lists being read', async () => {
    fixture = await createNotionFixture({ fill: (all) => oldPages(all, 5) });
    await fixture.mirror.sync();
    fixture.takeRequests();
    fixture.workspace.edit(idFor('page 2'), { text: 'Edited.' });
    await fixture.mirror.sync({ trigger: 'event', hints: { pages: [idFor('page 2')] } });
    expect((await fixture.mirror.texts()).get(idFor('page 2'))).toBe('Edited.');
    expect(fixture.takeRequests()).toEqual([
      `GET /v1/pages/${idFor('page 2')}`,
      `GET /v1/pages/${idFor('page 2')}/markdown`,
      'GET /v1/users',
    ]);
  });
});
