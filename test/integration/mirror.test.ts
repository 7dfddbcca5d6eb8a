import { afterEach, describe, expect, it } from 'vitest';
import { ConnectorError } from '../../src/connector/contract.ts';
import { removeDocuments } from '../../src/engine/remove.ts';
import { suppressItemsOfDocuments } from '../../src/store/sync-items.ts';
import { createTestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

describe.each(engines)('the mirror on %s', (engine) => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  async function open(
    abilities: { incremental?: boolean; lookup?: boolean } = {},
    more: { onSourceDelete?: 'keep'; settings?: object } = {},
  ) {
    opened = await openTestDatabase(engine);
    const clock = createTestClock();
    const source = createSyntheticSource();
    const connector = source.connector(abilities);
    const mirror = await createMirror({ database: opened.database, clock, connector, ...more });
    const fill = (count: number) => {
      for (let index = 0; index < count; index++) source.put(`item-${String(index).padStart(2, '0')}`, `text ${index}`);
    };
    return { source, mirror, clock, fill };
  }

  for (const abilities of [{}, { incremental: true }]) {
    const kind = abilities.incremental ? 'head + changes' : 'list + fetch';

    it(`${kind}: every create, edit and delete arrives`, async () => {
      const { source, mirror, fill } = await open(abilities);
      fill(10);
      expect(await mirror.sync()).toMatchObject({ status: 'completed', itemsAdded: 10, itemsFailed: 0 });
      expect(await mirror.texts()).toEqual(source.texts());
      source.put('item-03', 'edited');
      source.put('new', 'added');
      source.remove('item-07');
      expect(await mirror.sync()).toMatchObject({ itemsAdded: 1, itemsUpdated: 1, itemsDeleted: 1 });
      expect(await mirror.texts()).toEqual(source.texts());
    });

    it(`${kind}: a second sync without changes fetches nothing and writes no document`, async () => {
      const { source, mirror, fill } = await open(abilities);
      fill(7);
      await mirror.sync();
      const rows = await mirror.rows();
      source.requests.length = 0;
      await mirror.sync();
      expect(source.requests.filter((request) => request.startsWith('fetch'))).toEqual([]);
      expect(await mirror.rows()).toEqual(rows);
      if (abilities.incremental) expect(source.requests).toEqual(['changes']);
    });

    it(`${kind}: a rename keeps the document and its content is not processed again`, async () => {
      const { source, mirror, fill } = await open(abilities);
      fill(8);
      await mirror.sync();
      const before = await mirror.documentIds();
      source.rename('item-02', 'zz-renamed');
      source.rename('item-05', 'aa-renamed');
      await mirror.sync();
      const after = await mirror.documentIds();
      expect(await mirror.texts()).toEqual(source.texts());
      expect(after.get('zz-renamed')).toBe(before.get('item-02'));
      expect(after.get('aa-renamed')).toBe(before.get('item-05'));
      expect((await mirror.rows()).every((row) => row.revision === 1)).toBe(true);
    });

    it(`${kind}: edits during the listing are there after the sync or the next one`, async () => {
      const { source, mirror, fill } = await open(abilities);
      fill(9);
      let listed = 0;
      source.intercept((request) => {
        if (request !== 'list' || ++listed !== 2) return;
        source.put('item-00', 'edited behind the listing');
        source.put('item-08', 'edited before the listing');
        source.remove('item-01');
        source.put('aaa', 'added behind the listing');
      });
      await mirror.sync();
      if (!abilities.incremental) await mirror.sync();
      expect(await mirror.texts()).toEqual(source.texts());
    });

    it(`${kind}: what changes behind an interrupted listing is there after the next sync`, async () => {
      const { source, mirror, fill } = await open(abilities);
      fill(9);
      const stop = new AbortController();
      let listed = 0;
      source.intercept((request) => {
        if (request === 'list' && ++listed === 2) stop.abort();
      });
      await mirror.sync({}, stop.signal);
      expect(listed).toBe(2);
      source.intercept(() => {});
      source.put('item-00', 'edited behind the listing');
      source.put('aaa', 'added behind the listing');
      source.remove('item-01');
      await mirror.sync();
      expect(await mirror.texts()).toEqual(source.texts());
    });

    it(`${kind}: a crash after any request resumes to the same state and repeats at most one page`, async () => {
      const { source, mirror, fill } = await open(abilities);
      fill(8);
      for (let crashAt = 1; crashAt <= 30; crashAt++) {
        const stop = new AbortController();
        let seen = 0;
        source.intercept(() => {
          if (++seen === crashAt) stop.abort();
        });
        const run = await mirror.sync({}, stop.signal);
        if (run.status === 'completed') break;
      }
      source.intercept(() => {});
      await mirror.sync();
      expect(await mirror.texts()).toEqual(source.texts());
      expect((await mirror.items()).every((item) => item.state === 'done')).toBe(true);
    });
  }

  it('a copy with the same fingerprint is a document of its own', async () => {
    const { source, mirror } = await open();
    source.put('a', 'same');
    await mirror.sync();
    source.items.set('b', { ...source.items.get('a')! });
    await mirror.sync();
    expect(await mirror.texts()).toEqual(source.texts());
    expect(new Set((await mirror.documentIds()).values()).size).toBe(2);
  });

  it('items with the same fingerprint that are renamed in one sync each take one document along', async () => {
    const { source, mirror } = await open();
    source.put('a', 'same');
    source.items.set('b', { ...source.items.get('a')! });
    await mirror.sync();
    const before = [...(await mirror.documentIds()).values()];
    source.rename('a', 'c');
    source.rename('b', 'd');
    await mirror.sync();
    expect(await mirror.texts()).toEqual(source.texts());
    expect([...(await mirror.documentIds()).values()].toSorted()).toEqual(before.toSorted());
  });

  it('a listing whose cursor expires again and again fails, and nothing is removed', async () => {
    const { source, mirror, fill } = await open();
    fill(8);
    await mirror.sync();
    source.remove('item-00');
    let listed = 0;
    source.intercept((request) => {
      if (request === 'list' && ++listed % 2 === 0) throw new ConnectorError('cursor_expired', 'the cursor expired');
    });
    expect(await mirror.sync()).toMatchObject({ status: 'failed', itemsDeleted: 0 });
    expect((await mirror.texts()).size).toBe(8);
    source.intercept(() => {});
    expect(await mirror.sync()).toMatchObject({ status: 'completed', itemsDeleted: 1 });
  });

  it('an expired cursor leads to a new listing, nothing is lost and nothing processed again', async () => {
    const { source, mirror, fill } = await open({ incremental: true });
    fill(6);
    await mirror.sync();
    source.put('item-01', 'edited');
    source.remove('item-02');
    source.expirePositions();
    expect(await mirror.sync()).toMatchObject({ status: 'completed' });
    expect(await mirror.texts()).toEqual(source.texts());
    const revisions = (await mirror.rows()).map((row) => row.revision);
    expect(revisions.filter((revision) => revision === 2)).toHaveLength(1);
  });

  it('an item that cannot be fetched holds nothing else up and is tried again by itself', async () => {
    const { source, mirror, clock, fill } = await open();
    fill(5);
    source.intercept((request) => {
      if (request === 'fetch item-02') throw source.fail();
    });
    const run = await mirror.sync();
    expect(run).toMatchObject({ status: 'completed', itemsAdded: 4, itemsFailed: 1 });
    expect(run.failures).toMatchObject([{ customId: 'synthetic:item-02', error: 'the source failed' }]);
    source.intercept(() => {});
    await mirror.sync({ trigger: 'cron' });
    expect((await mirror.texts()).has('item-02')).toBe(false);
    clock.advance(31_000);
    await mirror.sync({ trigger: 'cron' });
    expect(await mirror.texts()).toEqual(source.texts());
  });

  it('an item that failed is tried again at once by a sync that somebody asks for', async () => {
    const { source, mirror, fill } = await open();
    fill(5);
    source.intercept((request) => {
      if (request === 'fetch item-02') throw source.fail();
    });
    await mirror.sync();
    source.intercept(() => {});
    await mirror.sync({ trigger: 'manual' });
    expect(await mirror.texts()).toEqual(source.texts());
  });

  it('a failed listing page never deletes anything', async () => {
    const { source, mirror, fill } = await open();
    fill(9);
    await mirror.sync();
    const texts = await mirror.texts();
    for (let failAt = 1; failAt <= 3; failAt++) {
      let listed = 0;
      source.intercept((request) => {
        if (request === 'list' && ++listed === failAt) throw source.fail();
      });
      expect(await mirror.sync()).toMatchObject({ status: 'failed', errorCode: 'provider_unavailable' });
      expect(await mirror.texts()).toEqual(texts);
      source.intercept(() => {});
      expect(await mirror.sync()).toMatchObject({ status: 'completed', itemsDeleted: 0 });
    }
  });

  it('a listing that says it is incomplete removes nothing', async () => {
    const { source, mirror, fill } = await open();
    fill(6);
    await mirror.sync();
    source.remove('item-03');
    source.incomplete = 'a folder could not be read';
    await mirror.sync();
    expect((await mirror.texts()).size).toBe(6);
    source.incomplete = undefined;
    await mirror.sync();
    expect(await mirror.texts()).toEqual(source.texts());
  });

  it('an incomplete listing stays incomplete when it is interrupted and goes on', async () => {
    const { source, mirror, fill, clock } = await open();
    fill(9);
    await mirror.sync();
    source.remove('item-08');
    source.incomplete = 'a folder could not be read';
    let listed = 0;
    source.intercept((request) => {
      if (request !== 'list' || ++listed < 2) return;
      source.incomplete = undefined;
      if (listed === 2) throw source.fail();
    });
    expect(await mirror.sync()).toMatchObject({ status: 'failed' });
    clock.advance(3_600_000);
    expect(await mirror.run()).toMatchObject({ status: 'completed', itemsDeleted: 0 });
    expect((await mirror.texts()).has('item-08')).toBe(true);
  });

  it('an incomplete listing takes nothing that it does not show for renamed', async () => {
    const { source, mirror } = await open();
    source.put('a', 'same');
    await mirror.sync();
    source.items.set('b', { ...source.items.get('a')! });
    source.hidden.add('a');
    source.incomplete = 'a folder could not be read';
    await mirror.sync();
    expect(await mirror.texts()).toEqual(source.texts());
  });

  it('a source that disappears as a whole keeps its documents', async () => {
    const { source, mirror, fill } = await open();
    fill(4);
    await mirror.sync();
    source.missing = true;
    expect(await mirror.sync()).toMatchObject({ status: 'failed', error: 'the source is not there' });
    expect((await mirror.texts()).size).toBe(4);
    source.missing = false;
    expect(await mirror.sync()).toMatchObject({ status: 'completed', itemsDeleted: 0 });
  });

  it('the brake holds a sweep of everything until a later listing misses the same items', async () => {
    const { source, mirror, clock, fill } = await open();
    fill(5);
    await mirror.sync();
    source.items.clear();
    await mirror.sync();
    expect((await mirror.texts()).size).toBe(5);
    expect((await mirror.partitions())[0]!.held_sweep).toMatchObject({ count: 5, of: 5 });
    await mirror.sync();
    expect((await mirror.texts()).size).toBe(5);
    clock.advance(10 * 60_000);
    await mirror.sync();
    expect((await mirror.texts()).size).toBe(0);
    expect((await mirror.partitions())[0]!.held_sweep).toBeNull();
  });

  it('items that come back release the brake without a deletion', async () => {
    const { source, mirror, clock, fill } = await open();
    fill(5);
    await mirror.sync();
    const before = new Map(source.items);
    source.items.clear();
    await mirror.sync();
    for (const [id, item] of before) source.items.set(id, item);
    clock.advance(10 * 60_000);
    await mirror.sync();
    expect(await mirror.texts()).toEqual(source.texts());
    expect((await mirror.partitions())[0]!.held_sweep).toBeNull();
  });

  it('hints look up just the named items', async () => {
    const { source, mirror, fill } = await open({ lookup: true });
    fill(9);
    await mirror.sync();
    source.requests.length = 0;
    source.put('item-01', 'edited');
    source.put('brand-new', 'added');
    source.remove('item-02');
    source.rename('item-05', 'moved');
    const ids = ['item-01', 'item-02', 'item-05', 'moved', 'brand-new'];
    const before = await mirror.documentIds();
    await mirror.sync({ trigger: 'event', hints: { all: ids } });
    expect(source.requests.filter((request) => request === 'list')).toEqual([]);
    expect(await mirror.texts()).toEqual(source.texts());
    expect((await mirror.documentIds()).get('moved')).toBe(before.get('item-05'));
  });

  it('a document that the user deleted stays deleted until the source changes it', async () => {
    const { source, mirror, fill } = await open();
    fill(3);
    await mirror.sync();
    const id = (await mirror.documentIds()).get('item-01')!;
    await opened.database.transaction(async (tx) => {
      await suppressItemsOfDocuments(tx, [id], new Date());
      await removeDocuments(tx, [id], new Date());
    });
    await mirror.sync();
    expect((await mirror.texts()).has('item-01')).toBe(false);
    source.put('item-01', 'changed at the source');
    await mirror.sync();
    expect((await mirror.texts()).get('item-01')).toBe('changed at the source');
  });

  it('with onSourceDelete keep, a document outlives its item', async () => {
    const { source, mirror, fill } = await open({}, { onSourceDelete: 'keep' });
    fill(3);
    await mirror.sync();
    source.remove('item-01');
    await mirror.sync();
    expect((await mirror.texts()).has('item-01')).toBe(true);
    expect((await mirror.rows()).filter((row) => row.connection_id === null)).toHaveLength(1);
  });

  it('two connections to one source share its documents; the last one to lose an item deletes it', async () => {
    const { source, mirror, clock, fill } = await open();
    const second = await createMirror({ database: opened.database, clock, connector: source.connector() });
    fill(3);
    await mirror.sync();
    await second.sync();
    expect((await mirror.texts()).size).toBe(3);
    source.remove('item-01');
    await mirror.sync();
    expect((await mirror.texts()).has('item-01')).toBe(true);
    await second.sync();
    expect((await mirror.texts()).has('item-01')).toBe(false);
  });
});
