import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeWithBrowser, launchBrowser, openPage, type WatchedPage } from '../../support/browser.ts';
import { signIn, within } from '../../support/console-page.ts';
import { putEmptyDatabase, startDaemon, type Daemon } from '../../support/daemon.ts';
import { call } from '../../support/memory-of.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const files = 2_000;
const env = { MEMORYD_EMBEDDER_KIND: 'hashing' };

describeWithBrowser('the console in a browser while the daemon is started again', () => {
  it('goes on by itself on each screen, signed in, with what has changed', { timeout: 180_000 }, async () => {
    const folder = await temporaryFolder('memoryd-console-');
    const [dataDir, notes] = [join(folder, 'data'), join(folder, 'notes')];
    await Promise.all([mkdir(dataDir, { mode: 0o700 }), mkdir(notes)]);
    await putEmptyDatabase(dataDir);
    for (let index = 0; index < files; index++) {
      await writeFile(
        join(notes, `note-${index}.md`),
        `# Note ${index}\n\nThe kiln number ${index} is fired on Mondays.\n`,
      );
    }
    let daemon: Daemon = await startDaemon({ dataDir, env });
    const browser = await launchBrowser();
    const watched: WatchedPage = await openPage(browser);
    try {
      const source = watched.page;
      await signIn(source, daemon.url, daemon.key);
      const open = async (hash: string): Promise<Page> => {
        const page = await source.context().newPage();
        await page.goto(`${daemon.url}/#/${hash}`);
        return page;
      };
      const [documents, home] = [await open('documents'), await open('')];
      const pages = [source, documents, home];
      for (const page of pages) await page.evaluate('window.wasNotLoadedAgain = true');
      const { id } = await call(daemon, 'POST', '/v3/connections/folder', { metadata: { path: notes } });
      await source.goto(`${daemon.url}/#/sources/${id}`);
      // In the middle of its first sync, which is told by events.
      await source.getByText('Live').waitFor();
      await daemon.kill();
      for (const page of pages) await page.getByText('The daemon does not answer.').waitFor();
      daemon = await startDaemon({ dataDir, env, args: ['--port', new URL(daemon.url).port] });
      for (const page of pages) await page.getByText('The daemon does not answer.').waitFor({ state: 'detached' });

      await source.getByText('Up to date').waitFor({ timeout: 120_000 });
      const mirrored = source.locator('.counters').getByText(files.toLocaleString('en'), { exact: true });
      await mirrored.waitFor({ timeout: 60_000 });
      await source.getByRole('list', { name: 'Items' }).getByText('note-1.md').waitFor();
      await call(daemon, 'POST', '/v3/documents', { content: '# Written after the start\n\nThe kiln is cold.' });
      const news = documents.getByRole('button', { name: 'Show what is new' });
      const written = documents.getByRole('list', { name: 'Documents' }).getByText('Written after the start');
      const look = async () => {
        // Unless it was written before the list was read again.
        if (await news.isVisible()) await news.click();
        return written.count();
      };
      await expect.poll(look, within).toBe(1);
      await home
        .getByText(`${files.toLocaleString('en')} documents`)
        .first()
        .waitFor();
      for (const page of pages) {
        expect(await page.getByRole('alert').allTextContents()).toEqual([]);
        expect(await page.evaluate('window.wasNotLoadedAgain')).toBe(true);
      }
      expect(watched.faults).toEqual([]);
    } finally {
      await browser.close();
      await daemon.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
