import { afterAll, beforeAll, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { createPresence } from '../../src/process-status.ts';
import { createCleanUp } from '../../src/schedule/scheduler.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase();
});
afterAll(() => opened.close());

it('processes know of each other while they run, and a day long of those that ended without a word', async () => {
  const { database } = opened;
  const clock = createTestClock();
  const presenceOf = (role: 'api' | 'worker') =>
    createPresence({ database, clock, log: silentLogger, holder: `the ${role}`, role, version: '1.2.3' });
  const [api, worker] = [presenceOf('api'), presenceOf('worker')];
  await api.begin();
  clock.advance(1_000);
  await worker.begin();
  const stop = new AbortController();
  const running = api.keepRunning(stop.signal);
  const seen = async (by = api) => (await by.list()).map(({ role, isAlive, isThis }) => ({ role, isAlive, isThis }));
  expect(await seen()).toEqual([
    { role: 'api', isAlive: true, isThis: true },
    { role: 'worker', isAlive: true, isThis: false },
  ]);

  // The worker says nothing more, the other one goes on.
  for (let minute = 0; minute < 2; minute++) {
    clock.advance(60_000);
    const seenAt = async () => (await api.list()).find(({ isThis }) => isThis)?.seenAt;
    await expect.poll(seenAt).toEqual(clock.now());
  }
  expect(await seen()).toEqual([
    { role: 'api', isAlive: true, isThis: true },
    { role: 'worker', isAlive: false, isThis: false },
  ]);

  const cleanUp = createCleanUp({ database, clock, log: silentLogger });
  await cleanUp(stop.signal);
  expect(await seen()).toHaveLength(2);
  stop.abort();
  await running;
  expect(await seen(worker)).toEqual([{ role: 'worker', isAlive: false, isThis: true }]);
  clock.advance(24 * 60 * 60_000);
  await cleanUp(new AbortController().signal);
  expect(await seen()).toEqual([]);
});
