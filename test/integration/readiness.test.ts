import { expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { createStatus, trackModel } from '../../src/process-status.ts';
import { createInProcessQueue } from '../../src/queue/in-process.ts';
import { holdLease } from '../../src/store/leases.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase } from '../support/databases.ts';

it('says within three seconds which part does not work', async () => {
  const { database, close } = await openTestDatabase('pglite');
  const clock = createTestClock();
  const embedder = createHashingEmbedder();
  const model = trackModel(embedder, silentLogger);
  const queue = createInProcessQueue({ clock, log: silentLogger });
  const status = createStatus(
    { config: {} as never, clock },
    { database, embedder, queue, languageModel: null },
    model,
  );
  expect(await status.readiness()).toEqual({
    database: 'ok',
    queue: 'ok',
    embeddings: 'the model is loading',
    scheduler: 'no process schedules; start one with the role scheduler or all',
  });

  await model.open();
  const until = new Date(clock.now().getTime() + 60_000);
  await holdLease(database, 'scheduler', { holder: 'leader', until, now: clock.now() });
  expect(new Set(Object.values(await status.readiness()))).toEqual(new Set(['ok']));

  const held = Promise.withResolvers<void>();
  const holding = database.transaction(() => held.promise);
  const asked = status.readiness();
  clock.advance(3_000);
  expect(await asked).toMatchObject({ database: 'does not answer in time', queue: 'ok', embeddings: 'ok' });
  held.resolve();
  await holding;
  clock.advance(57_001);
  expect(await status.readiness()).toMatchObject({ database: 'ok', scheduler: expect.stringContaining('no process') });
  await queue.close();
  await close();
});
