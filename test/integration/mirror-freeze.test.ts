import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { RequestedSync } from '../../src/store/connections.ts';
import { sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createFreezingDatabase } from '../support/freezing-database.ts';
import { sized } from '../support/length.ts';
import { createMirror } from '../support/mirror.ts';
import { pagesOfSixty } from '../support/pages-of-sixty.ts';
import { rescope } from '../support/rescope.ts';
import { describeWithService } from '../support/services.ts';
import type { StoppedRunnerTask } from '../support/stopped-runner.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

const never = new AbortController().signal;
const leaseMs = 30_000;
const texts = (count: number) => Array.from({ length: count }, (_, index) => `item-${String(index).padStart(2, '0')}`);

interface Situation {
  incremental: boolean;
  what: Partial<RequestedSync>;
  limit?: number;
}

/** Everything that is stored about a connection. */
async function everything({ database }: TestDatabase, id: string, tag: string): Promise<unknown> {
  return {
    connection: await database.query(sql`select * from connections where id = ${id}`),
    runs: await database.query(sql`select * from sync_runs where connection_id = ${id} order by id`),
    partitions: await database.query(sql`select * from partitions where connection_id = ${id} order by id`),
    items: await database.query(sql`select * from sync_items where connection_id = ${id} order by ext_id`),
    documents: await database.query(sql`select * from documents where container_tag = ${tag} order by id`),
  };
}

const situations: Record<string, Situation> = {
  'a listing': { incremental: false, what: {} },
  'a listing of a source with changes': { incremental: true, what: { mode: 'full' } },
  changes: { incremental: true, what: {} },
  'look-ups': {
    incremental: true,
    what: { trigger: 'event', hints: { all: ['item-01', 'item-02', 'item-03', 'new-1', 'renamed'] } },
  },
  'a document limit': { incremental: false, what: {}, limit: 6 },
};

describe.each(engines)('a process that is stopped and goes on after another took over, on %s', (engine) => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  /** A connection that was synced and whose source has changed since. */
  async function prepare({ incremental, limit }: Situation, tag: string) {
    const clock = createTestClock();
    const source = createSyntheticSource();
    for (const id of texts(12)) source.put(id, `text of ${id}`);
    const connector = source.connector({ incremental, lookup: true });
    const { database } = opened;
    const mirror = await createMirror({ database, clock, connector, containerTag: tag });
    if (limit !== undefined) await rescope(database, mirror.id, { documentLimit: limit });
    await mirror.sync();
    source.put('item-01', 'edited');
    source.put('new-1', 'new');
    source.remove('item-02');
    source.rename('item-03', 'renamed');
    return { clock, source, mirror };
  }

  it.each(Object.keys(situations))('changes nothing, wherever it stops: %s', async (name) => {
    opened = await openTestDatabase(engine);
    const situation = situations[name]!;
    const { database } = opened;
    let hasEnded = false;
    let stops = 0;
    // The first step takes the lease. What differs by the engine is how a transaction waits, not where runs can stop.
    const stride = engine === 'pglite' ? sized(5, 1) : sized(9, 4);
    for (let freezeAt = 2; !hasEnded; freezeAt += stride) {
      const tag = `freeze-${freezeAt}`;
      const { clock, source, mirror } = await prepare(situation, tag);
      const process = createFreezingDatabase(database, freezeAt);
      await mirror.request(situation.what);
      const running = mirror.run(never, process).then(() => void (hasEnded = !process.isFrozen));
      await Promise.race([running, expect.poll(() => process.isFrozen, { interval: 5 }).toBe(true)]);
      if (hasEnded) break;
      stops += 1;
      clock.advance(leaseMs + 1_000);
      source.put('new-1', 'newer');
      source.put('new-2', 'of the other');
      source.remove('item-05');
      // Twice, so that the other one also begins listings of its own.
      await mirror.sync();
      const last = await mirror.sync();
      expect(last, `stopped at ${freezeAt}`).toMatchObject({ status: 'completed', warnings: [] });
      const before = await everything(opened, mirror.id, tag);
      process.thaw();
      await running;
      expect(await everything(opened, mirror.id, tag), `stopped at ${freezeAt}`).toEqual(before);
      if (situation.limit === undefined) expect(await mirror.texts()).toEqual(source.texts());
    }
    expect(stops * stride).toBeGreaterThan(12);
  });
});

describeWithService('DATABASE_URL', 'a process that the system stops and lets go on', (serverUrl) => {
  let child: ChildProcess | undefined;
  afterEach(() => child?.kill('SIGKILL'));

  it.each(['transaction', 'listing'] as const)('in the middle of a %s changes nothing', async (stopsIn) => {
    const opened = await openTestDatabase('postgres');
    const settings = { connectionLeaseMs: 60_000 };
    const source = { rev: 'r1' };
    const mirror = await createMirror({ ...opened, clock: systemClock, connector: pagesOfSixty(source), settings });
    await mirror.sync();
    source.rev = 'r2';
    const [name] = await opened.database.query<{ name: string }>(sql`select current_database() as name`);
    const databaseUrl = Object.assign(new URL(serverUrl), { pathname: `/${name!.name}` }).href;
    const task: StoppedRunnerTask = { databaseUrl, connectionId: mirror.id, rev: source.rev, stopsIn };
    await mirror.request({ mode: 'full' });
    child = fork(new URL('../support/stopped-runner.ts', import.meta.url), [JSON.stringify(task)]);
    expect((await once(child, 'message'))[0]).toBe('stopping');

    // The other process tries again and again, as the schedule makes it, until the lease is free.
    const completed = async () => (await mirror.sync({ mode: 'full' })).status;
    await expect.poll(completed, { timeout: 30_000 }).toBe('completed');
    const before = await everything(opened, mirror.id, 'mirror');
    const ended = once(child, 'exit');
    child.kill('SIGCONT');
    await ended;
    expect(await everything(opened, mirror.id, 'mirror')).toEqual(before);
    expect((await mirror.texts()).size).toBe(60);
    await opened.close();
  });
});
