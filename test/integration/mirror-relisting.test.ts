import { afterEach, describe, expect, it } from 'vitest';
import { transient, type Page, type Partition } from '../../src/connector/contract.ts';
import { sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { scriptedConnector } from '../support/scripted-connector.ts';

const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
const minute = 60_000;
const hour = 60 * minute;

describe.each(engines)('a listing of what is mirrored, on %s', (engine) => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  /** Two items a page; `onPage` may throw, or change what the source has. */
  async function open() {
    opened = await openTestDatabase(engine);
    const clock = createTestClock();
    const source = {
      revs: new Map(ids.map((id) => [id, 'r1'])),
      asked: [] as (number | undefined)[],
      onPage: (_start: number) => {},
    };
    const connector = scriptedConnector({
      list(_: Partition, from: number | undefined): Page {
        source.asked.push(from);
        const start = from ?? 0;
        source.onPage(start);
        const refs = [...source.revs].slice(start, start + 2).map(([id, rev]) => ({ id, rev }));
        return { refs, ...(start + 2 < source.revs.size ? { next: start + 2 } : { done: true }) };
      },
    });
    const mirror = await createMirror({ database: opened.database, clock, connector });
    await mirror.sync();
    source.asked = [];
    const versions = () =>
      opened.database.query<{ id: string; version: string }>(
        sql`select ext_id as id, xmin::text as version from sync_items order by ext_id`,
      );
    return { clock, source, mirror, versions };
  }

  it('writes to no item that it shows as before', async () => {
    const { mirror, versions } = await open();
    const before = await versions();
    expect(await mirror.sync()).toMatchObject({ status: 'completed', itemsSeen: 6, itemsSkipped: 6, itemsAdded: 0 });
    expect(await versions()).toEqual(before);
  });

  it('writes to what changed and came, and to nothing else, where that is little', async () => {
    const { source, mirror, versions } = await open();
    const many = Array.from({ length: 30 }, (_, index) => `many-${index}`);
    for (const id of many) source.revs.set(id, 'r1');
    await mirror.sync();
    const before = await versions();
    source.revs.set('many-20', 'r2').set('new', 'r1');
    expect(await mirror.sync()).toMatchObject({ itemsSeen: 37, itemsAdded: 1 });
    const after = await versions();
    const unchanged = (rows: typeof after) => rows.filter(({ id }) => id !== 'many-20' && id !== 'new');
    expect(unchanged(after)).toEqual(unchanged(before));
    expect(after).toHaveLength(37);
  });

  it('goes on behind a page that differs, where most pages do', async () => {
    const { source, mirror, clock } = await open();
    source.revs.set('c', 'r2');
    source.onPage = (start) => {
      if (start === 4) throw transient('down');
    };
    await mirror.sync();
    source.onPage = () => {};
    source.asked = [];
    clock.advance(hour);
    expect(await mirror.run()).toMatchObject({ status: 'completed', itemsDeleted: 0 });
    expect(source.asked).toEqual([4]);
  });

  it('removes just what it does not show', async () => {
    const { source, mirror } = await open();
    source.revs.delete('d');
    expect(await mirror.sync()).toMatchObject({ itemsDeleted: 1, itemsSkipped: 5 });
    expect([...(await mirror.texts()).keys()]).toEqual(['a', 'b', 'c', 'e', 'f']);
    expect(await mirror.sync()).toMatchObject({ itemsDeleted: 0, itemsSkipped: 5 });
  });

  it('tells items that come twice from those that are there', async () => {
    const { source, mirror } = await open();
    source.onPage = (start) => {
      // What moves forward during the listing is shown again.
      if (start === 2) source.revs = new Map(['x', ...ids].map((id) => [id, 'r1']));
    };
    expect(await mirror.sync()).toMatchObject({ status: 'completed', itemsDeleted: 0 });
    source.onPage = () => {};
    await mirror.sync();
    expect([...(await mirror.texts()).keys()]).toEqual([...ids, 'x']);
  });

  it('removes what is gone also when an item shows twice, the second time with another rev', async () => {
    const { source, mirror } = await open();
    source.revs = new Map(['a', 'b', 'c', 'd', 'f', 'new', 'e'].map((id) => [id, 'r1']));
    source.onPage = (start) => {
      if (start !== 4) return;
      // The last page shows `e` and, changed, the `a` of the first page.
      for (const id of ['f', 'a']) source.revs.delete(id);
      source.revs.set('a', 'r2');
    };
    expect(await mirror.sync()).toMatchObject({ status: 'completed', itemsDeleted: 1 });
    expect([...(await mirror.texts()).keys()]).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('writes to no item while a deleted one can still be undone', async () => {
    const { source, mirror, versions } = await open();
    source.revs.delete('d');
    await mirror.sync();
    const before = await versions();
    expect(await mirror.sync()).toMatchObject({ itemsSkipped: 5, itemsDeleted: 0 });
    expect(await versions()).toEqual(before);
  });

  it.each([2, 4])('that ends early behind item %i removes nothing, in the run that goes on', async (at) => {
    const { source, mirror, clock } = await open();
    source.onPage = (start) => {
      if (start === at) throw transient('down');
    };
    await mirror.sync();
    source.onPage = () => {};
    clock.advance(minute);
    expect(await mirror.sync()).toMatchObject({ status: 'completed', itemsDeleted: 0 });
    expect([...(await mirror.texts()).keys()]).toEqual(ids);
  });

  it('that takes long goes on where it stopped, and knows what it had shown', async () => {
    const { source, mirror, clock } = await open();
    source.onPage = (start) => {
      if (start === 2) clock.advance(minute);
      if (start === 4) throw transient('down');
    };
    await mirror.sync();
    source.onPage = () => {};
    source.asked = [];
    clock.advance(hour);
    expect(await mirror.run()).toMatchObject({ status: 'completed', itemsDeleted: 0 });
    expect(source.asked).toEqual([2, 4]);
    source.revs.delete('a');
    expect(await mirror.sync()).toMatchObject({ itemsDeleted: 1 });
    expect([...(await mirror.texts()).keys()]).toEqual(['b', 'c', 'd', 'e', 'f']);
  });
});
