import { afterEach, describe, expect, it } from 'vitest';
import type { Context, Json, Partition } from '../../src/connector/contract.ts';
import { readRecords } from '../../src/store/partitions.ts';
import { sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { createCrashingDatabase } from '../support/crashing-database.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { pageOf, scriptedConnector, type Script } from '../support/scripted-connector.ts';

describe.each(engines)('records of a partition on %s', (engine) => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  async function open(script: Script) {
    opened = await openTestDatabase(engine);
    const mirror = await createMirror({
      database: opened.database,
      clock: createTestClock(),
      connector: scriptedConnector(script),
    });
    const stored = (partitionId = 'all') => readRecords(opened.database, { connectionId: mirror.id, partitionId }, '');
    return { mirror, stored };
  }

  it('are stored with pages of listings and changes, read back, replaced and removed', async () => {
    const read: Record<string, Json>[] = [];
    const odd = { 'a "quoted" \\ name': [1, { deep: null }, 'ü\n'], __proto: true };
    const { mirror, stored } = await open({
      list: (_, from) =>
        from === undefined
          ? { refs: [{ id: 'a', rev: '1' }], next: 2, records: { 'box/1': 'one', 'box/2': odd, other: 0 } }
          : { refs: [], done: true, records: { 'box/1': 'newer', missing: null } },
      head: () => 1,
      async changes(partition: Partition, from: number, ctx: Context) {
        read.push(
          await ctx.records(partition),
          await ctx.records(partition, 'box/'),
          await ctx.records({ id: 'else' }),
        );
        return { ...pageOf(), gone: [], next: from + 1, records: { other: null, 'box/2': false } };
      },
    });
    await mirror.sync();
    expect(read).toEqual([{ 'box/1': 'newer', 'box/2': odd, other: 0 }, { 'box/1': 'newer', 'box/2': odd }, {}]);
    expect(await stored()).toEqual({ 'box/1': 'newer', 'box/2': false });
    await mirror.sync({ mode: 'full' });
    expect(await stored()).toEqual({ 'box/1': 'newer', 'box/2': false });
  });

  it('belong to their partition, and go with the connection', async () => {
    const { mirror, stored } = await open({
      partitions: () => [{ id: 'one' }, { id: 'two' }],
      list: ({ id }) => ({ ...pageOf(id), records: { name: id } }),
    });
    await mirror.sync();
    expect([await stored('one'), await stored('two')]).toEqual([{ name: 'one' }, { name: 'two' }]);
    await opened.database.execute(sql`delete from partitions where id = 'one'`);
    expect([await stored('one'), await stored('two')]).toEqual([{}, { name: 'two' }]);
    await opened.database.execute(sql`delete from connections where id = ${mirror.id}`);
    expect(await stored('two')).toEqual({});
  });

  it('are never told apart from the page that they came with, wherever the process dies', async () => {
    let version = 0;
    const { mirror, stored } = await open({
      list: () => ({ refs: [{ id: 'a', rev: String(version) }], done: true, records: { version } }),
      head: () => version,
      changes: (_, from: number) =>
        from === version
          ? { ...pageOf(), next: version }
          : { refs: [{ id: 'a', rev: String(version) }], next: version, done: true, records: { version } },
    });
    await mirror.sync();
    for (let statements = 0, isOver = false; !isOver; statements++) {
      version += 1;
      const process = createCrashingDatabase(opened.database);
      let seen = 0;
      const count = () => void (++seen > statements && process.crash());
      const counted = {
        ...process,
        query: (statement: Parameters<typeof process.query>[0]) => (count(), process.query(statement)),
        transaction: (work: Parameters<typeof process.transaction>[0]) =>
          process.transaction((tx) => work({ ...tx, execute: (statement) => (count(), tx.execute(statement)) })),
      } as typeof process;
      await mirror.sync({}, undefined, counted).catch(() => {});
      isOver = seen <= statements;
      const [item] = await mirror.items();
      expect(await stored(), `after ${statements} statements`).toEqual({ version: Number(item!['want_rev']) });
      expect(statements).toBeLessThan(100);
      await opened.database.execute(sql`update connections set lease_until = null, lease_token = null`);
    }
  });

  it('of a dry run are not stored', async () => {
    const { mirror, stored } = await open({ list: () => ({ ...pageOf('a'), records: { name: 1 } }) });
    await mirror.sync({ dryRun: true });
    expect(await stored()).toEqual({});
  });

  it('that cannot be kept are refused with everything else of their page', async () => {
    const { mirror, stored } = await open({ list: () => ({ ...pageOf('a'), records: { fine: 1, name: new Date() } }) });
    const run = await mirror.sync();
    expect(run.warnings[0]?.message).toContain('The record "name" of list is not JSON');
    expect([await stored(), await mirror.items()]).toEqual([{}, []]);
  });
});
