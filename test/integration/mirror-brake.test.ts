import { afterEach, describe, expect, it } from 'vitest';
import { createSyncItems } from '../../src/connections/item-service.ts';
import { finishListing, holdSweep, type HeldSweep } from '../../src/store/partitions.ts';
import { createTestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const idOf = (index: number) => `item-${String(index).padStart(2, '0')}`;
const ids = Array.from({ length: 60 }, (_, index) => idOf(index));

describe.each(engines)('the brake on %s', (engine) => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  /** Sixty mirrored items. */
  async function open(abilities: { incremental?: boolean } = {}) {
    opened = await openTestDatabase(engine);
    const { database } = opened;
    const clock = createTestClock();
    const source = createSyntheticSource({ pageSize: 100 });
    for (const id of ids) source.put(id, `text of ${id}`);
    const connector = source.connector({ ...abilities, lookup: true });
    const mirror = await createMirror({ database, clock, connector });
    await mirror.sync();
    const requestSync = async () => {
      await mirror.request();
      return undefined as never;
    };
    return {
      source,
      clock,
      mirror,
      service: createSyncItems({ database, clock, requestSync }),
      /** What the watch of a folder leads to: some items are looked up, and nothing else. */
      lookUp: (hinted: readonly string[]) => mirror.sync({ trigger: 'event', hints: { all: [...hinted] } }),
      count: async () => (await mirror.texts()).size,
      held: async () => (await mirror.partitions())[0]!.held_sweep,
    };
  }

  it('holds everything that look-ups do not find, until a listing some time later misses it too', async () => {
    const { source, clock, mirror, lookUp, count, held } = await open();
    source.items.clear();
    const run = await lookUp(ids);
    expect(run).toMatchObject({ status: 'completed', itemsDeleted: 0, warnings: [{ code: 'sweep_held' }] });
    expect(await count()).toBe(60);
    expect(await held()).toMatchObject({ count: 60, of: 60 });
    // Looking the same up again is no second look: that is for a listing.
    clock.advance(11 * minuteMs);
    await lookUp(ids);
    expect(await count()).toBe(60);
    await mirror.sync();
    expect(await count()).toBe(0);
    expect(await held()).toBeNull();
  });

  it('keeps an answer that somebody gave after the run had looked', async () => {
    const { source, clock, mirror, held, service } = await open();
    source.items.clear();
    await mirror.sync();
    // What a run reads before the answer, and writes after it.
    const looked = (await held()) as HeldSweep;
    await service.resolveHeldSweep(mirror.id, 'reject');
    const [partition] = await mirror.partitions();
    const key = { connectionId: mirror.id, partitionId: partition!.id as string };
    await holdSweep(opened.database, key, looked, clock.now());
    expect(await held()).toMatchObject({ count: 60, rejected: true });
    await opened.database.transaction((tx) => finishListing(tx, key, { heldSweep: looked, now: clock.now() }));
    expect(await held()).toMatchObject({ count: 60, rejected: true });
    await holdSweep(opened.database, key, { ...looked, digest: 'of other items' }, clock.now());
    expect(await held()).not.toHaveProperty('rejected');
  });

  it('is not released by a listing that did not see everything', async () => {
    const { source, clock, mirror, lookUp, count, held } = await open();
    source.items.clear();
    await lookUp(ids);
    clock.advance(11 * minuteMs);
    source.incomplete = 'a part of it did not answer';
    await mirror.sync();
    expect(await count()).toBe(60);
    expect(await held()).toMatchObject({ count: 60 });
  });

  it('lets everything stay that shows again, and reads none of it', async () => {
    const { source, mirror, lookUp, count, held } = await open();
    const before = new Map(source.items);
    source.items.clear();
    await lookUp(ids);
    for (const [id, item] of before) source.items.set(id, item);
    source.requests.length = 0;
    await lookUp(ids);
    expect(source.requests.filter((request) => request.startsWith('fetch'))).toEqual([]);
    expect(await held()).toBeNull();
    await mirror.sync();
    expect(await count()).toBe(60);
    expect((await mirror.items()).map((item) => item.state)).toEqual(ids.map(() => 'done'));
  });

  it('reads what shows again and was never read before', async () => {
    const { source, mirror, lookUp, count, held } = await open();
    source.put('unread', 'read at last');
    source.intercept((request) => {
      if (request === 'fetch unread') throw source.fail();
    });
    await mirror.sync();
    expect(await count()).toBe(60);
    const before = new Map(source.items);
    source.items.clear();
    await lookUp([...ids, 'unread']);
    // Nobody would lose what was never read.
    expect(await held()).toMatchObject({ count: 60 });
    for (const [id, item] of before) source.items.set(id, item);
    source.intercept(() => {});
    await lookUp([...ids, 'unread']);
    expect(await held()).toBeNull();
    expect((await mirror.texts()).get('unread')).toBe('read at last');
  });

  it('lists what it holds, and lets it go or stay as somebody decides', async () => {
    const { source, clock, mirror, service, lookUp, count, held } = await open();
    source.items.clear();
    await lookUp(ids);
    const pending = await service.pendingDeletes(mirror.id, { limit: 100 });
    expect(pending.partitions).toMatchObject([{ count: 60, of: 60, confirmed: false }]);
    expect(pending.items.entries.map(({ id }) => id)).toEqual(ids);
    await service.resolveHeldSweep(mirror.id, 'reject');
    clock.advance(hourMs);
    await mirror.sync();
    await lookUp(ids);
    expect(await count()).toBe(60);
    expect(await held()).toMatchObject({ rejected: true });
    source.put('new', 'shows that the source is there');
    source.remove('new');
    await lookUp(['new']);
    expect(await count()).toBe(60);
    await service.resolveHeldSweep(mirror.id, 'reject');
    const [partition] = await mirror.partitions();
    expect(partition!.held_sweep).toMatchObject({ count: 60 });
  });

  it('lets what it holds go when that is confirmed', async () => {
    const { source, mirror, service, lookUp, count } = await open();
    source.items.clear();
    await lookUp(ids);
    await service.resolveHeldSweep(mirror.id, 'confirm');
    await mirror.run();
    expect(await count()).toBe(0);
  });

  it('counts a slow drip over runs, whatever finds it, and forgets what is more than a day ago', async () => {
    const { source, clock, mirror, lookUp, count, held } = await open();
    for (let index = 0; index < 20; index++) {
      clock.advance(30 * minuteMs);
      source.remove(idOf(index));
      // Half of them by look-ups, the others by listings.
      if (index % 2 === 0) await lookUp([idOf(index)]);
      else await mirror.sync();
    }
    expect(await count()).toBe(40);
    source.remove(idOf(20));
    await lookUp([idOf(20)]);
    expect(await count()).toBe(40);
    expect(await held()).toMatchObject({ count: 1, of: 40 });
    source.put(idOf(20), `text of ${idOf(20)}`);
    await mirror.sync();
    expect(await held()).toBeNull();
    clock.advance(26 * hourMs);
    source.remove(idOf(20));
    await lookUp([idOf(20)]);
    expect(await count()).toBe(39);
  });

  it.each([40, 30, 25])('takes a confirmation for what was held, not for %i other items', async (others) => {
    const { source, clock, mirror, service, lookUp, count, held } = await open();
    const [first, second] = [ids.slice(0, 30), ids.slice(60 - others)];
    for (const id of first) source.remove(id);
    await lookUp(first);
    await service.resolveHeldSweep(mirror.id, 'confirm');
    clock.advance(minuteMs);
    // Before a run can act on it, the first ones are back and others are not found.
    for (const id of first) source.put(id, `text of ${id}`);
    for (const id of second) source.remove(id);
    await lookUp(ids);
    expect(await count()).toBe(60);
    expect(await held()).toMatchObject({ count: others });
    expect((await held())!.confirmed).toBeUndefined();
  });

  it('keeps a confirmation when some of what was held is back', async () => {
    const { source, clock, mirror, service, lookUp, count, held } = await open();
    for (const id of ids.slice(0, 30)) source.remove(id);
    await lookUp(ids);
    await service.resolveHeldSweep(mirror.id, 'confirm');
    clock.advance(minuteMs);
    source.put(idOf(0), 'back again');
    await lookUp([idOf(0)]);
    expect(await count()).toBe(31);
    expect(await held()).toBeNull();
  });

  it('is released by a listing that misses the same items, not by one that misses as many others', async () => {
    const { source, clock, mirror, count, held } = await open();
    const [first, second] = [ids.slice(0, 30), ids.slice(30)];
    for (const id of first) source.remove(id);
    await mirror.sync();
    expect(await held()).toMatchObject({ count: 30 });
    clock.advance(11 * minuteMs);
    for (const id of first) source.put(id, `text of ${id}`);
    for (const id of second) source.remove(id);
    await mirror.sync();
    expect(await count()).toBe(60);
    clock.advance(9 * minuteMs);
    await mirror.sync();
    expect(await count()).toBe(60);
    clock.advance(2 * minuteMs);
    await mirror.sync();
    expect([...(await mirror.texts()).keys()]).toEqual(first);
  });

  it('does not count what was confirmed once more', async () => {
    const { source, mirror, service, lookUp, count } = await open();
    for (const id of ids.slice(0, 30)) source.remove(id);
    await lookUp(ids.slice(0, 30));
    await service.resolveHeldSweep(mirror.id, 'confirm');
    await mirror.run();
    expect(await count()).toBe(30);
    source.remove(idOf(40));
    await lookUp([idOf(40)]);
    expect(await count()).toBe(29);
  });

  it('holds what a listing shows and nobody finds when it is to be read', async () => {
    const { source, mirror, count, held } = await open();
    for (const id of ids) source.put(id, 'edited');
    source.intercept((request) => {
      if (request.startsWith('fetch')) source.items.clear();
    });
    await mirror.sync();
    expect(await count()).toBe(60);
    expect(await held()).toMatchObject({ count: 60, of: 60 });
  });

  it('lets everything go that the source says was deleted', async () => {
    const { source, mirror, count, held } = await open({ incremental: true });
    for (const id of ids) source.remove(id);
    expect(await mirror.sync()).toMatchObject({ itemsDeleted: 60, warnings: [] });
    expect(await count()).toBe(0);
    expect(await held()).toBeNull();
  });
});
