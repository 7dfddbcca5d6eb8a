import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startDaemon } from '../support/daemon.ts';
import { storedFiles } from '../support/memory-of.ts';
import { redisServerProgram, startPrivateRedis } from '../support/redis-server.ts';
import { describeWhen } from '../support/services.ts';
import { stores } from '../support/stores.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const onPostgres = stores.find((store) => store.name === 'PostgreSQL alone');
const needed = redisServerProgram === undefined ? undefined : onPostgres;

describeWhen(needed, 'redis-server or DATABASE_URL is missing', 'an import whose Redis loses everything', (store) => {
  const files = 600;

  it('is complete all the same', { timeout: 180_000 }, async () => {
    await using redis = await startPrivateRedis({ appendOnly: false });
    const opened = await store.open();
    const folder = await temporaryFolder('memoryd-flush-');
    await mkdir(folder, { recursive: true });
    for (let index = 0; index < files; index++) {
      await writeFile(join(folder, `note-${index}.txt`), `Note ${index} is about subject ${index}.`);
    }
    const daemon = await startDaemon({
      args: [folder],
      env: { ...opened.env, MEMORYD_REDIS_URL: redis.url, MEMORYD_EMBEDDER_KIND: 'hashing' },
    });
    const done = async () => [...(await storedFiles(daemon)).values()].filter((file) => file.status === 'done').length;

    for (const share of [0, 0.1, 0.3, 0.6]) {
      await expect.poll(done, { timeout: 60_000, interval: 20 }).toBeGreaterThanOrEqual(files * share);
      await redis.command('flushall');
    }
    await redis.kill();
    await redis.start();
    await expect.poll(done, { timeout: 120_000, interval: 200 }).toBe(files);
    await writeFile(join(folder, 'late.txt'), 'Added after Redis had forgotten everything.');
    await expect.poll(done, { timeout: 60_000, interval: 200 }).toBe(files + 1);

    expect(await daemon.stop()).toBe(0);
    await opened.close();
    await rm(folder, { recursive: true, force: true });
  });
});
