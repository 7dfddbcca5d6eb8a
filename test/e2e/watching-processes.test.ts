import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { newEncryptionKey } from '../../src/base/encryption.ts';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { call, storedTexts } from '../support/memory-of.ts';
import { describeWithService } from '../support/services.ts';
import { stores, type OpenedStore } from '../support/stores.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A lease of 10 s, a look of 5 s, and a sync; with patience for a busy machine. */
const within = { timeout: 90_000, interval: 250 };

describeWithService('DATABASE_URL', 'two processes', () => {
  const daemons: Daemon[] = [];
  let folder: string;
  let opened: OpenedStore;
  afterEach(async () => {
    await Promise.all(daemons.splice(0).map((daemon) => daemon.kill()));
    await opened.close();
    await rm(folder, { recursive: true, force: true });
  });

  const put = (name: string, text: string) => writeFile(join(folder, name), text);

  const shared = stores.filter(({ name }) => name !== 'the embedded store');

  it.each(shared)(
    'watch what either connects, and one goes on when the other is killed at work: $name',
    async (store) => {
      folder = await temporaryFolder('memoryd-watched-');
      opened = await store.open();
      for (let index = 0; index < 20; index++) await put(`before-${index}.md`, `This was there before, as ${index}.`);
      const env = {
        ...opened.env,
        MEMORYD_EMBEDDER_KIND: 'hashing',
        MEMORYD_API_KEY: 'mk_watching_processes_key_of_the_test',
        MEMORYD_ENCRYPTION_KEY: newEncryptionKey(),
        MEMORYD_FOLDER_ROOTS: folder,
      };
      const start = async () => {
        const daemon = await startDaemon({ env });
        daemons.push(daemon);
        return daemon;
      };
      const [first, second] = [await start(), await start()];
      await call(first, 'POST', '/v3/connections/folder', { metadata: { path: folder } });
      const texts = async () => (await storedTexts(second)).size;
      await expect.poll(texts, within).toBe(20);

      for (let index = 0; index < 20; index++)
        await put(`during-${index}.md`, `This came while it ended, as ${index}.`);
      await first.kill();
      await put('after.md', 'This came after that.');
      await expect.poll(texts, within).toBe(41);
      await put('later.md', 'Only the other one can have seen this.');
      await expect.poll(texts, within).toBe(42);
    },
  );
});
