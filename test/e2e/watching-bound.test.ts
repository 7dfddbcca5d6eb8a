import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { newEncryptionKey } from '../../src/base/encryption.ts';
import { createRandom } from '../../src/connector-kit/setup.ts';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { call, storedTexts } from '../support/memory-of.ts';
import { describeWithService } from '../support/services.ts';
import { stores, type OpenedStore } from '../support/stores.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const processes = 4;
const rounds = 8;
/** The bound is in docs/production.md; the patience is for a busy machine. */
const within = { timeout: 60_000, interval: 100 };
/** The first syncs, and a round that takes all of its patience. */
const testTimeoutMs = 300_000;

describeWithService('DATABASE_URL', 'four processes that only watch', () => {
  const daemons: Daemon[] = [];
  let folder: string;
  let opened: OpenedStore;
  afterEach(async () => {
    await Promise.all(daemons.splice(0).map((daemon) => daemon.kill()));
    await opened.close();
    await rm(folder, { recursive: true, force: true });
  });

  it(
    'catch up with random changes',
    async () => {
      folder = await temporaryFolder('memoryd-bound-');
      opened = await stores.find(({ name }) => name === 'PostgreSQL alone')!.open();
      const random = createRandom(7);
      const files = new Map<string, string>();
      const put = async (name: string, text: string) => {
        await writeFile(join(folder, name), text);
        files.set(name, text);
      };
      await mkdir(join(folder, 'sub'));
      for (let index = 0; index < 30; index++) await put(`sub/before-${index}.md`, `There before, as ${index}.`);
      const env = {
        ...opened.env,
        MEMORYD_EMBEDDER_KIND: 'hashing',
        MEMORYD_API_KEY: 'mk_watching_bound_key_of_the_test',
        MEMORYD_ENCRYPTION_KEY: newEncryptionKey(),
        MEMORYD_FOLDER_ROOTS: folder,
      };
      for (let index = 0; index < processes; index++) daemons.push(await startDaemon({ env }));
      await call(daemons[0]!, 'POST', '/v3/connections/folder', { metadata: { path: folder } });
      const stored = async () => Object.fromEntries(await storedTexts(daemons[1]!));
      const expected = () => Object.fromEntries(files);
      await expect.poll(stored, within).toEqual(expected());

      let worstMs = 0;
      for (let round = 0; round < rounds; round++) {
        for (let change = 0; change <= random.below(6); change++) {
          const name = random.pick([...files.keys()]);
          // Few removals: what the brake would hold is another matter.
          if (random.chance(0.15)) {
            await rm(join(folder, name));
            files.delete(name);
          } else if (random.chance(0.5)) await put(name, `Edited in round ${round}, change ${change}.`);
          else await put(`new-${round}-${change}.md`, `Made in round ${round}, change ${change}.`);
        }
        const started = performance.now();
        await expect.poll(stored, within).toEqual(expected());
        worstMs = Math.max(worstMs, performance.now() - started);
      }
      console.log(`The slowest of ${rounds} rounds took ${(worstMs / 1_000).toFixed(1)} s.`);
    },
    testTimeoutMs,
  );
});
