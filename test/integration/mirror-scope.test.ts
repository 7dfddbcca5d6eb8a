import { afterEach, describe, expect, it } from 'vitest';
import { purgeDeleted } from '../../src/engine/remove.ts';
import { missingGraceMs } from '../../src/sync/partitions.ts';
import { sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { rescope, type ScopeChange } from '../support/rescope.ts';
import { createScopedSource } from '../support/scoped-source.ts';

const dayMs = 86_400_000;

describe.each(engines)('the scope of a mirror on %s', (engine) => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  async function open(abilities: { incremental?: boolean; tree?: boolean } = {}) {
    opened = await openTestDatabase(engine);
    const clock = createTestClock();
    const source = createScopedSource();
    const connector = source.connector(abilities);
    const { database } = opened;
    const mirror = await createMirror({ database, clock, connector });
    return {
      source,
      clock,
      connector,
      mirror,
      ids: async () => [...(await mirror.texts()).keys()],
      rescope: (change: ScopeChange, id = mirror.id) => rescope(database, id, change),
      /** Ids and revisions of every document row, hidden ones too. */
      async documents() {
        const rows = await mirror.rows();
        return rows.map(({ id, custom_id, revision, deleted_at }) => ({ id, custom_id, revision, deleted_at }));
      },
      reasons: async () =>
        Object.fromEntries((await mirror.items()).map((item) => [item.ext_id, item.error_class ?? item.state])),
    };
  }

  for (const incremental of [false, true]) {
    const kind = incremental ? 'head + changes' : 'list + fetch';

    it(`${kind}: filters hold in listings and in changes`, async () => {
      const { source, mirror, rescope, ids, reasons } = await open({ incremental });
      await rescope({ filters: { include: ['docs/'], excludeLabels: ['secret'], maxBytes: 20 } });
      source.put('s', 'a', { text: 'in', path: 'docs/a' });
      source.put('s', 'b', { text: 'out', path: 'drafts/b' });
      source.put('s', 'c', { text: 'out', path: 'docs/c', labels: ['Secret'] });
      source.put('s', 'd', { text: 'x'.repeat(21), path: 'docs/d' });
      expect(await mirror.sync()).toMatchObject({ itemsAdded: 1, itemsSkipped: 3, itemsFailed: 0 });
      expect(await ids()).toEqual(['a']);
      expect(source.fetches()).toEqual(['fetch a']);
      expect(await reasons()).toEqual({ a: 'done', b: 'filtered', c: 'filtered', d: 'filtered' });

      source.change('s', 'a', { labels: ['secret'] });
      source.change('s', 'b', { path: 'docs/b' });
      source.put('s', 'e', { text: 'out', path: 'e' });
      expect(await mirror.sync()).toMatchObject({ itemsAdded: 1, itemsDeleted: 1 });
      expect(await ids()).toEqual(['b']);
      expect(source.fetches()).toEqual(['fetch a', 'fetch b']);
      const wait = await mirror.items();
      expect(wait.find((item) => item.ext_id === 'e')).toMatchObject({
        state: 'skipped',
        error: 'The filter "include" leaves it out.',
        document_id: null,
      });
    });

    it(`${kind}: changed filters remove what falls out and add what comes in, without reading again what stays`, async () => {
      const { source, mirror, rescope, ids, documents } = await open({ incremental });
      for (const id of ['a.md', 'b.md', 'c.txt', 'd.txt']) source.put('s', id, { text: id, path: id });
      await rescope({ filters: { include: ['*.md'] } });
      await mirror.sync();
      const before = await documents();
      source.requests.length = 0;
      await rescope({ filters: { include: ['b.md', '*.txt'] } });
      expect(await mirror.sync()).toMatchObject({ itemsAdded: 2, itemsDeleted: 1 });
      expect(await ids()).toEqual(['b.md', 'c.txt', 'd.txt']);
      expect(source.fetches().sort()).toEqual(['fetch c.txt', 'fetch d.txt']);
      source.requests.length = 0;
      await rescope({ filters: {} });
      expect(await mirror.sync()).toMatchObject({ itemsAdded: 1, itemsDeleted: 0 });
      expect(await ids()).toHaveLength(4);
      expect(source.fetches()).toEqual([]);
      expect(await documents()).toEqual(expect.arrayContaining(before));
    });

    it(`${kind}: items grow too old without a change at the source`, async () => {
      const { source, clock, mirror, rescope, ids } = await open({ incremental });
      const at = (days: number) => new Date(clock.now().getTime() - days * dayMs).toISOString();
      source.put('s', 'young', { text: '1', updatedAt: at(1) });
      source.put('s', 'older', { text: '2', updatedAt: at(6) });
      source.put('s', 'old', { text: '3', updatedAt: at(8) });
      source.put('s', 'unknown', { text: '4' });
      await rescope({ filters: { updatedWithinDays: 7 } });
      await mirror.sync();
      expect(await ids()).toEqual(['older', 'unknown', 'young']);
      clock.advance(2 * dayMs);
      source.requests.length = 0;
      expect(await mirror.sync()).toMatchObject({ itemsDeleted: 1 });
      expect(await ids()).toEqual(['unknown', 'young']);
      source.change('s', 'old', { updatedAt: at(0), text: 'touched' });
      await mirror.sync();
      expect(await ids()).toEqual(['old', 'unknown', 'young']);
      expect(source.fetches()).toEqual(['fetch old']);
    });

    it(`${kind}: unselecting removes, reselecting brings back without reading`, async () => {
      const { source, mirror, rescope, ids, documents } = await open({ incremental });
      for (const id of ['a', 'b', 'c', 'd']) source.put(id < 'c' ? 'one' : 'two', id, { text: id });
      await mirror.sync();
      const before = await documents();
      await rescope({ selection: [{ id: 'one' }] });
      expect(await mirror.sync()).toMatchObject({ itemsDeleted: 2 });
      expect(await ids()).toEqual(['a', 'b']);
      expect((await mirror.partitions()).map((row) => row.id)).toEqual(['one']);
      source.requests.length = 0;
      await rescope({ selection: [{ id: 'two' }] });
      await mirror.sync();
      expect(await ids()).toEqual(['c', 'd']);
      await rescope({ selection: [] });
      await mirror.sync();
      expect(await ids()).toEqual(['a', 'b', 'c', 'd']);
      expect(source.fetches()).toEqual([]);
      expect(await documents()).toEqual(before);
    });

    it(`${kind}: an item that comes back with its revision is there again with its document, unread`, async () => {
      const { source, mirror, clock, ids, documents } = await open({ incremental });
      for (const id of ['a', 'b', 'c', 'd', 'e']) source.put('s', id, { text: id });
      await mirror.sync();
      const before = await documents();
      const trashed = source.remove('s', 'b')!;
      await mirror.sync();
      expect(await ids()).toEqual(['a', 'c', 'd', 'e']);
      clock.advance(6 * dayMs);
      source.requests.length = 0;
      source.put('s', 'b', trashed);
      expect(await mirror.sync()).toMatchObject({ itemsAdded: 1 });
      expect(await ids()).toEqual(['a', 'b', 'c', 'd', 'e']);
      expect(source.fetches()).toEqual([]);
      expect(await documents()).toEqual(before);
    });

    it(`${kind}: with a document limit the newest are mirrored, and others move up`, async () => {
      const { source, mirror, rescope, ids, reasons } = await open({ incremental });
      for (let day = 1; day <= 9; day++) {
        source.put('s', `item-${day}`, { text: `text ${day}`, updatedAt: `2026-01-0${day}T00:00:00.000Z` });
      }
      await rescope({ documentLimit: 3 });
      await mirror.sync();
      expect(await ids()).toEqual(['item-7', 'item-8', 'item-9']);
      expect((await reasons())['item-6']).toBe('over_limit');
      source.remove('s', 'item-8');
      await mirror.sync();
      expect(await ids()).toEqual(['item-6', 'item-7', 'item-9']);
      source.change('s', 'item-2', { updatedAt: '2026-02-01T00:00:00.000Z' });
      await mirror.sync();
      expect(await ids()).toEqual(['item-2', 'item-7', 'item-9']);
      source.requests.length = 0;
      await rescope({ documentLimit: 5 });
      await mirror.sync();
      expect(await ids()).toEqual(['item-2', 'item-5', 'item-6', 'item-7', 'item-9']);
      expect(source.fetches()).toEqual(['fetch item-5']);
      await rescope({ documentLimit: 1 });
      expect(await mirror.sync()).toMatchObject({ itemsDeleted: 4 });
      expect(await ids()).toEqual(['item-2']);
      await rescope({ documentLimit: null });
      await mirror.sync();
      expect(await ids()).toHaveLength(8);
    });
  }

  it('reads no more than twice the limit however the source orders its listing', async () => {
    const { source, mirror, rescope, ids } = await open();
    for (let index = 10; index < 60; index++) {
      source.put('s', `item-${index}`, { text: `${index}`, updatedAt: new Date(index * dayMs).toISOString() });
    }
    await rescope({ documentLimit: 5 });
    await mirror.sync();
    expect(await ids()).toEqual(['item-55', 'item-56', 'item-57', 'item-58', 'item-59']);
    expect(source.fetches().length).toBeLessThanOrEqual(10);
  });

  it('lets the next item move up when one turns out not to be readable', async () => {
    const { source, mirror, rescope, ids } = await open();
    source.put('s', 'a', { text: 'a', updatedAt: '2026-01-01T00:00:00Z' });
    source.put('s', 'b', { text: 'b', updatedAt: '2026-01-02T00:00:00Z', mimeType: 'video/mp4' });
    await rescope({ documentLimit: 1 });
    await mirror.sync();
    expect(await ids()).toEqual(['a']);
  });

  it('the same content under a new revision needs no new processing when it comes back', async () => {
    const { source, mirror, documents } = await open();
    source.put('s', 'a', { text: 'same' });
    for (const id of ['b', 'c', 'd', 'e']) source.put('s', id, { text: id });
    await mirror.sync();
    const before = await documents();
    source.remove('s', 'a');
    await mirror.sync();
    source.put('s', 'a', { text: 'same' });
    expect(await mirror.sync()).toMatchObject({ itemsAdded: 1, itemsUpdated: 0 });
    expect(await documents()).toEqual(before);
    source.remove('s', 'a');
    await mirror.sync();
    source.put('s', 'a', { text: 'other' });
    await mirror.sync();
    const [first, ...rest] = await documents();
    expect(first).toEqual({ ...before[0], revision: 2 });
    expect(rest).toEqual(before.slice(1));
    expect((await mirror.texts()).get('a')).toBe('other');
  });

  it('deletes for good what was removed before a time, and reads it again when it comes back', async () => {
    const { source, mirror, clock, ids, documents } = await open();
    for (const id of ['a', 'b', 'c', 'd', 'e']) source.put('s', id, { text: id });
    await mirror.sync();
    const trashed = source.remove('s', 'a')!;
    await mirror.sync();
    const week = () => new Date(clock.now().getTime() - 7 * dayMs);
    clock.advance(7 * dayMs);
    expect(await purgeDeleted(opened.database, { before: week(), batch: 10, now: clock.now() })).toBe(0);
    clock.advance(1);
    expect(await purgeDeleted(opened.database, { before: week(), batch: 10, now: clock.now() })).toBe(1);
    expect(await documents()).toHaveLength(4);
    source.requests.length = 0;
    source.put('s', 'a', trashed);
    await mirror.sync();
    expect(source.fetches()).toEqual(['fetch a']);
    expect(await ids()).toHaveLength(5);
  });

  it('a partition that vanishes by itself keeps its documents for the time of grace', async () => {
    const { source, mirror, clock, ids } = await open({ incremental: true });
    for (const id of ['a', 'b']) source.put(`shelf-${id}`, id, { text: id });
    await mirror.sync();
    source.lost.add('shelf-b');
    await mirror.sync();
    expect(await ids()).toEqual(['a', 'b']);
    const paused = (await mirror.partitions()).find((row) => row.id === 'shelf-b');
    expect(paused).toMatchObject({ state: 'paused', state_reason: expect.stringContaining('2026-03-08') });
    clock.advance(missingGraceMs - 1);
    source.lost.clear();
    source.change('shelf-b', 'b', { text: 'changed meanwhile' });
    await mirror.sync();
    expect((await mirror.texts()).get('b')).toBe('changed meanwhile');
    expect((await mirror.partitions()).map((row) => [row.state, row.missing_since])).toEqual([
      ['delta', null],
      ['delta', null],
    ]);
    source.lost.add('shelf-b');
    await mirror.sync();
    clock.advance(missingGraceMs);
    await mirror.sync();
    expect(await ids()).toEqual(['a']);
  });

  it('a removal of a partition that was interrupted goes on, or begins anew when it is selected again', async () => {
    const { source, mirror, rescope, ids } = await open({ incremental: true });
    for (const id of ['a', 'b']) source.put(`shelf-${id}`, id, { text: id });
    await mirror.sync();
    const { database } = opened;
    const interrupted = () =>
      database.execute(sql`
        update partitions set state = 'removing', missing_since = '2026-03-01', remove_at = '2026-03-01'
        where id = 'shelf-b'`);
    await interrupted();
    await database.execute(sql`delete from sync_items where partition_id = 'shelf-b'`);
    source.requests.length = 0;
    await mirror.sync();
    expect(source.requests.filter((request) => request.startsWith('list'))).toEqual(['list shelf-b']);
    expect(await ids()).toEqual(['a', 'b']);
    await interrupted();
    await rescope({ selection: [{ id: 'shelf-a' }] });
    await mirror.sync();
    expect(await ids()).toEqual(['a']);
    expect((await mirror.partitions()).map((row) => row.id)).toEqual(['shelf-a']);
  });

  it('loss of access is no deletion', async () => {
    const { source, mirror, ids } = await open({ incremental: true });
    for (const id of ['a', 'b']) source.put('s', id, { text: id });
    await mirror.sync();
    source.forbidden.add('s');
    await mirror.sync();
    await mirror.sync({ mode: 'full' });
    expect(await ids()).toEqual(['a', 'b']);
  });

  it('folders: what moves out is removed, what moves in is there again, with the whole subtree', async () => {
    const { source, mirror, rescope, ids, reasons } = await open({ incremental: true, tree: true });
    const folder = (id: string, parent?: string) =>
      source.put('s', id, { text: '', kind: 'container', ...(parent === undefined ? {} : { parent }) });
    folder('work');
    folder('private');
    folder('deep', 'work');
    source.put('s', 'a', { text: 'a', parent: 'work' });
    source.put('s', 'b', { text: 'b', parent: 'deep' });
    source.put('s', 'c', { text: 'c', parent: 'private' });
    source.put('s', 'd', { text: 'd' });
    await rescope({ selection: [{ id: 'work' }] });
    await mirror.sync();
    expect(await ids()).toEqual(['a', 'b']);
    expect(source.fetches().sort()).toEqual(['fetch a', 'fetch b']);
    expect(await reasons()).toMatchObject({ c: 'out_of_scope', d: 'out_of_scope' });

    source.requests.length = 0;
    source.change('s', 'deep', { parent: 'private' });
    expect(await mirror.sync()).toMatchObject({ itemsDeleted: 1 });
    expect(await ids()).toEqual(['a']);
    source.change('s', 'private', { parent: 'work' });
    await mirror.sync();
    expect(await ids()).toEqual(['a', 'b', 'c']);
    expect(source.fetches()).toEqual(['fetch c']);

    source.remove('s', 'private');
    await mirror.sync();
    expect(await ids()).toEqual(['a']);
    folder('private', 'work');
    await mirror.sync();
    expect(await ids()).toEqual(['a', 'b', 'c']);
    await rescope({ selection: [{ id: 'deep' }, { id: 'd' }] });
    await mirror.sync();
    expect(await ids()).toEqual(['b', 'd']);
    await rescope({ selection: [] });
    await mirror.sync();
    expect(await ids()).toEqual(['a', 'b', 'c', 'd']);
    expect(source.fetches()).toEqual(['fetch c', 'fetch d']);
  });

  it('folders that lie in each other do no harm', async () => {
    const { source, mirror, rescope, ids } = await open({ tree: true });
    source.put('s', 'x', { text: '', kind: 'container', parent: 'y' });
    source.put('s', 'y', { text: '', kind: 'container', parent: 'x' });
    source.put('s', 'a', { text: 'a', parent: 'y' });
    await rescope({ selection: [{ id: 'x' }] });
    await mirror.sync();
    expect(await ids()).toEqual(['a']);
  });

  describe('two connections that share an item', () => {
    async function share() {
      const world = await open();
      const second = await createMirror({
        database: opened.database,
        clock: world.clock,
        connector: world.connector,
      });
      for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) world.source.put('s', id, { text: id });
      await world.mirror.sync();
      await second.sync();
      return { ...world, second };
    }
    const owner = async (customId: string) => {
      const [row] = await opened.database.query<{ owner: string }>(
        sql`select connection_id as owner from documents where custom_id = ${customId} and deleted_at is null`,
      );
      return row?.owner;
    };

    for (const order of ['first', 'second'] as const) {
      it(`the last owner deletes: the ${order} one loses it before the other`, async () => {
        const { mirror, second, rescope, ids } = await share();
        const [before, after] = order === 'first' ? [mirror, second] : [second, mirror];
        await rescope({ filters: { exclude: ['a'] } }, before.id);
        await before.sync();
        expect(await ids()).toContain('a');
        expect(await owner('scoped:a')).toBe(after.id);
        await rescope({ filters: { exclude: ['a'] } }, after.id);
        await after.sync();
        expect(await ids()).not.toContain('a');
        await rescope({ filters: {} }, before.id);
        await before.sync();
        expect(await owner('scoped:a')).toBe(before.id);
      });
    }

    it('an item that one of them cannot read any more stays with the other', async () => {
      const { source, mirror, second, ids } = await share();
      source.change('s', 'a', { mimeType: 'video/mp4' });
      await mirror.sync();
      expect(await ids()).toContain('a');
      await second.sync();
      expect(await ids()).not.toContain('a');
    });

    it('both at once leave no document without an owner and none twice', async () => {
      const { source, mirror, second, clock } = await share();
      for (let round = 0; round < 6; round++) {
        const trashed = ['a', 'b'].map((id) => source.remove('s', id)!);
        await Promise.all([mirror.sync(), second.sync()]);
        for (const [index, id] of ['a', 'b'].entries()) source.put('s', id, trashed[index]!);
        clock.advance(60_000);
        await Promise.all([mirror.sync(), second.sync()]);
      }
      expect((await mirror.texts()).size).toBe(6);
      const visible = await opened.database.query(sql`select id from documents where deleted_at is null`);
      expect(visible).toHaveLength(6);
      const lost = await opened.database.query(sql`
        select ext_id from sync_items i where state = 'done' and not exists (
          select 1 from documents d where d.id = i.document_id and d.deleted_at is null)`);
      expect(lost).toEqual([]);
    });
  });
});
