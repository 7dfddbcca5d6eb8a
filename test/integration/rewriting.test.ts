import { expect, it } from 'vitest';
import { createRewriting } from '../../src/account/erasures.ts';
import { createLogger } from '../../src/base/log.ts';
import { endRemoving, findErasure, insertErasure } from '../../src/store/erasures.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase } from '../support/databases.ts';

it('files are rewritten for at most a fifth of the time, for all that was erased meanwhile', async () => {
  const { database, close } = await openTestDatabase('pglite');
  const time = createTestClock();
  const slept: number[] = [];
  const clock = { ...time, sleep: async (ms: number) => void slept.push(ms) };
  // Told when all is rewritten: ten seconds have gone by then.
  const log = createLogger('info', { write: () => time.advance(10_000) });
  const rewriting = createRewriting({ database, clock, log, holder: 'test' });
  const erase = async (id: string) => {
    await insertErasure(database, { id, target: { deleted: true }, rewrite: true }, clock.now());
    await database.transaction((tx) => endRemoving(tx, id, clock.now()));
  };
  const { signal } = new AbortController();

  await erase('first');
  await rewriting.run(signal);
  expect((await findErasure(database, 'first'))?.status).toBe('completed');
  expect(slept.every((ms) => ms <= 0)).toBe(true);
  await Promise.all(['second', 'third'].map(erase));
  await rewriting.run(signal);
  expect(slept.at(-1)).toBe(40_000);
  for (const id of ['second', 'third']) expect((await findErasure(database, id))?.status).toBe('completed');
  await rewriting.close();
  await close();
});
