import { afterEach, describe, expect, it } from 'vitest';
import type { Connector } from '../../src/connector/contract.ts';
import type { RunSettings } from '../../src/sync/run.ts';
import { createTestClock } from '../support/clock.ts';
import { createCrashingDatabase } from '../../src/connector-kit/crashing-database.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

const minuteMs = 60_000;
const idOf = (index: number) => `item-${String(index).padStart(2, '0')}`;
const ids = Array.from({ length: 60 }, (_, index) => idOf(index));

describe.each(engines)('listings that leave items out, on %s', (engine) => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  /** Sixty items at the source. */
  async function open(
    options: { incremental?: boolean; settings?: Partial<RunSettings>; verbs?: Partial<Connector<any, any>> } = {},
  ) {
    opened = await openTestDatabase(engine);
    const { database } = opened;
    const clock = createTestClock();
    const source = createSyntheticSource({ pageSize: 20 });
    for (const id of ids) source.put(id, `text of ${id}`);
    const { settings = {}, incremental = true, verbs } = options;
    const connector = { ...source.connector({ incremental, partial: true }), ...verbs };
    const mirror = await createMirror({ database, clock, connector, settings });
    const asked = (verb: string) => source.requests.filter((request) => request.startsWith(verb)).length;
    return {
      ...{ source, clock, mirror, database, asked },
      leaveOut: (left: readonly string[]) => (source.leavesOut = (id) => left.includes(id)),
      partition: async () => (await mirror.partitions())[0]!,
      count: async () => (await mirror.texts()).size,
    };
  }

  it('lists a first time twice when the second listing agrees, and once later', async () => {
    const { mirror, asked, source, count } = await open();
    await mirror.sync();
    expect(asked('list')).toBe(6);
    expect(await count()).toBe(60);
    source.requests.length = 0;
    await mirror.sync({ mode: 'full' });
    expect(asked('list')).toBe(3);
    expect(asked('lookup')).toBe(0);
  });

  it('repeats a first listing until two in a row bring nothing new', async () => {
    const { source, mirror, asked, count } = await open();
    // The first listing leaves out every third item, the second every sixth, the next ones none.
    source.leavesOut = (id) => {
      const listing = Math.ceil(asked('list') / 3);
      return listing <= 2 && Number(id.slice(5)) % (3 * listing) === 0;
    };
    const run = await mirror.sync();
    expect(run).toMatchObject({ status: 'completed', warnings: [] });
    expect(await count()).toBe(60);
    expect(asked('list')).toBe(5 * 3);
  });

  it('gives up repeating with a reason when each listing brings something new', async () => {
    const { source, mirror, asked, count } = await open({ settings: { maxListings: 4 } });
    source.leavesOut = (id) => Number(id.slice(5)) >= 10 * Math.ceil(asked('list') / 3);
    const run = await mirror.sync();
    expect(run).toMatchObject({ status: 'completed', warnings: [{ code: 'listing_unsteady' }] });
    expect(asked('list')).toBe(12);
    expect(await count()).toBe(40);
    source.leavesOut = () => false;
    await mirror.sync({ mode: 'full' });
    expect(await count()).toBe(60);
  });

  it('goes on with the listing of a first load at which it was killed, and reads no more than its page again', async () => {
    const { source, clock, mirror, asked, database, count } = await open();
    const process = createCrashingDatabase(database);
    let lists = 0;
    source.intercept((request) => {
      if (request === 'list' && ++lists === 6) process.crash();
    });
    await mirror.request();
    await mirror.run(undefined, process).catch(() => {});
    const read = asked('list');
    expect(read).toBe(6);
    clock.advance(2 * minuteMs);
    await mirror.run();
    expect(asked('list') - read).toBeLessThanOrEqual(2);
    expect(await count()).toBe(60);
  });

  it('keeps what a listing left out and a look-up finds, and says how many', async () => {
    const { source, mirror, leaveOut, asked, count } = await open();
    await mirror.sync();
    leaveOut(ids.slice(0, 57));
    const run = await mirror.sync({ mode: 'full' });
    expect(run).toMatchObject({ itemsDeleted: 0, warnings: [{ code: 'listing_left_out' }] });
    expect(run.warnings[0]!.message).toContain('57 items');
    expect(await count()).toBe(60);
    source.requests.length = 0;
    await mirror.sync();
    expect(asked('lookup') + asked('list') + asked('fetch')).toBe(0);
  });

  it('takes the ref that a look-up finds when it changed', async () => {
    const { source, mirror, leaveOut } = await open();
    await mirror.sync();
    source.put(ids[7]!, 'edited in a gap of the feed');
    source.expirePositions();
    leaveOut([ids[7]!]);
    await mirror.sync();
    expect((await mirror.texts()).get(ids[7]!)).toBe('edited in a gap of the feed');
  });

  it('removes only what look-ups do not find', async () => {
    const { source, mirror, leaveOut } = await open({ incremental: false });
    await mirror.sync();
    source.remove(ids[3]!);
    leaveOut(ids.slice(0, 12));
    const run = await mirror.sync();
    expect(run.itemsDeleted).toBe(1);
    expect([...(await mirror.texts()).keys()]).toEqual(ids.filter((id) => id !== ids[3]));
  });

  it('asks about items that content leads to and no listing shows, once, and repeats a listing that shows one late', async () => {
    const document = (id: string) => ({ text: `text of ${id}`, leadsTo: [ids[58]!, ids[59]!, 'not there', ids[1]!] });
    const { source, mirror, asked, count } = await open({
      verbs: { fetch: async (_context, _partition, { id }) => document(id) },
    });
    // The listings of the first load show one of them from the second one on.
    source.leavesOut = (id) => id === ids[59] || (id === ids[58] && asked('list') <= 3);
    await mirror.sync();
    expect(asked('list')).toBe(4 * 3);
    await mirror.sync();
    expect(await count()).toBe(60);
    source.requests.length = 0;
    expect(await mirror.sync()).toMatchObject({ status: 'completed', warnings: [] });
    expect(source.requests).toEqual(['changes']);
  });

  it('removes at once what look-ups find outside, however much it is', async () => {
    const outside = ids.slice(5);
    const { mirror, leaveOut, count } = await open({
      verbs: { lookup: async (_context, _partition, asked) => ({ refs: [], outside: asked }) },
    });
    await mirror.sync();
    leaveOut(outside);
    expect(await mirror.sync({ mode: 'full' })).toMatchObject({ itemsDeleted: 55, warnings: [] });
    expect(await count()).toBe(5);
  });

  it('spreads look-ups over runs, and keeps what was not asked about yet', async () => {
    const { source, mirror, partition, leaveOut, asked, count } = await open({ settings: { lookUpsPerRun: 20 } });
    await mirror.sync();
    source.items.delete(ids[55]!);
    leaveOut(ids);
    source.requests.length = 0;
    await mirror.sync({ mode: 'full' });
    expect(asked('lookup')).toBe(1);
    expect(await partition()).toMatchObject({ unconfirmed: 40 });
    expect(await count()).toBe(60);
    await mirror.sync();
    expect(await partition()).toMatchObject({ unconfirmed: 20 });
    await mirror.sync();
    expect(await partition()).toMatchObject({ unconfirmed: 0 });
    expect(await count()).toBe(59);
    expect(asked('list')).toBe(3);
    source.requests.length = 0;
    await mirror.sync();
    expect(source.requests).toEqual(['changes']);
  });

  it('holds what look-ups suddenly do not find until they miss it after another listing', async () => {
    const { source, clock, mirror, partition, count } = await open({ incremental: false });
    await mirror.sync();
    source.items.clear();
    const held = await mirror.sync({ mode: 'full' });
    expect(held).toMatchObject({ itemsDeleted: 0, warnings: [{ code: 'sweep_held' }] });
    expect(await partition()).toMatchObject({ held_sweep: { count: 60, of: 60 } });
    clock.advance(11 * minuteMs);
    await mirror.sync({ mode: 'full' });
    expect(await count()).toBe(0);
  });

  it('does not release what is held by a listing that misses it, when the look-ups are not through', async () => {
    const { source, clock, mirror, partition, count } = await open({ settings: { lookUpsPerRun: 25 } });
    await mirror.sync();
    // Nothing in the feed tells of these.
    for (const id of ids.slice(0, 45)) source.items.delete(id);
    await mirror.sync({ mode: 'full' });
    await mirror.sync({ mode: 'incremental' });
    expect(await partition()).toMatchObject({ held_sweep: { count: 45 }, unconfirmed: 0 });
    clock.advance(11 * minuteMs);
    await mirror.sync({ mode: 'full' });
    expect(await partition()).toMatchObject({ held_sweep: { count: 45 }, unconfirmed: 20 });
    expect(await count()).toBe(60);
  });

  it('keeps what a look-up does not answer for', async () => {
    const lookup = async () => ({ refs: [], gone: [], done: true });
    const { mirror, leaveOut, count } = await open({ verbs: { lookup } });
    await mirror.sync();
    // So few that the brake would let them go.
    leaveOut(ids.slice(0, 3));
    await mirror.sync({ mode: 'full' });
    expect(await count()).toBe(60);
  });

  it('says in a dry run what would go, and not what was only left out', async () => {
    const { source, mirror, leaveOut } = await open();
    await mirror.sync();
    source.remove(ids[3]!);
    leaveOut(ids.slice(0, 30));
    const run = await mirror.sync({ mode: 'full', dryRun: true });
    expect(run.report?.deleted).toEqual({ count: 1, ids: [ids[3]] });
  });
});
