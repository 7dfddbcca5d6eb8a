import { mkdir, chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { loadConfig } from '../../src/base/config.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { createStatus, trackModel } from '../../src/process-status.ts';
import { createInProcessQueue } from '../../src/queue/in-process.ts';
import { holdLease } from '../../src/store/leases.ts';
import { createTestClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { openTestDatabase } from '../support/databases.ts';

const alone = {
  ...{ role: 'all' as const, version: '1.2.3', host: 'here', pid: 4711 },
  ...{ startedAt: new Date(0), seenAt: new Date(0), isAlive: true, isThis: true },
};
const nothingElse = {
  connections: { list: async () => [] },
  plugins: { installed: ['folder'], broken: [] },
  warnings: () => [],
  processes: async () => [alone],
};

it('says within three seconds which part does not work', async () => {
  const { database, close } = await openTestDatabase('pglite');
  const clock = createTestClock();
  const embedder = createHashingEmbedder();
  const model = trackModel(embedder, silentLogger);
  const queue = createInProcessQueue({ clock, log: silentLogger });
  const parts = { database, embedder, queue, languageModel: null, ...nothingElse };
  const status = createStatus({ config: {} as never, clock }, parts, model);
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

it('checks the machine and what runs on it, and says what to do', async () => {
  const { database, close } = await openTestDatabase('pglite');
  const clock = createTestClock();
  const embedder = createHashingEmbedder();
  const queue = createInProcessQueue({ clock, log: silentLogger });
  const dataDir = await temporaryFolder('memoryd-checks-');
  const { config } = loadConfig({ configFile: undefined, flags: { dataDir }, env: {}, cwd: dataDir });
  const connection = { id: 'one', status: 'needs_reauth', statusReason: 'Sign in again.', problems: [] };
  const parts = { database, embedder, queue, languageModel: null, ...nothingElse };
  const look = async (changed: object) => {
    const status = createStatus({ config, clock }, { ...parts, ...changed }, trackModel(embedder, silentLogger));
    return Object.fromEntries((await status.checks()).map(({ name, ...finding }) => [name, finding]));
  };
  await holdLease(database, 'scheduler', {
    holder: 'leader',
    until: new Date(clock.now().getTime() + 60_000),
    now: clock.now(),
  });
  const good = await look({});
  expect(Object.values(good).filter(({ ok }) => !ok)).toEqual([]);
  expect(Object.keys(good)).toEqual([
    'node',
    'configuration',
    'data directory',
    'database',
    'queue',
    'schedule',
    'workers',
    'connectors',
    'model',
    'language model',
    'connections',
  ]);

  await mkdir(join(dataDir, 'models'));
  await chmod(join(dataDir, 'models'), 0o755);
  clock.advance(60_001);
  const bad = await look({
    plugins: { installed: [], broken: [{ plugin: './mine.mjs', provider: null, reason: 'It cannot be loaded.' }] },
    connections: { list: async () => [connection] },
    processes: async () => [
      { ...alone, role: 'api' },
      { ...alone, role: 'worker', isAlive: false },
    ],
    embedder: { ...embedder, verify: () => Promise.reject(new Error('a secret')) },
  });
  expect(bad).toMatchObject({
    'data directory': { ok: false, remedy: expect.stringContaining('chmod') },
    schedule: { ok: false, remedy: expect.stringContaining('role scheduler') },
    workers: { ok: false, remedy: expect.stringContaining('role worker') },
    connectors: { ok: false, detail: './mine.mjs: It cannot be loaded.' },
    connections: { ok: false, detail: 'one: Sign in again.' },
    model: { ok: false, detail: 'It could not be looked at (unknown).', remedy: null },
    database: { ok: true },
  });
  await queue.close();
  await close();
});
