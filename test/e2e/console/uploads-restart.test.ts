import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { buildConsole, describeWithBrowser, launchBrowser, openPage } from '../../support/browser.ts';
import { signIn, within } from '../../support/console-page.ts';
import { putEmptyDatabase, startDaemon } from '../../support/daemon.ts';
import { call } from '../../support/memory-of.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const count = 8;
const env = { MEMORYD_EMBEDDER_KIND: 'hashing' };
const files = Array.from({ length: count }, (_, index) => ({
  name: `note-${index}.md`,
  mimeType: 'text/markdown',
  buffer: Buffer.from(`Note number ${index} of the box.\n`),
}));

describeWithBrowser('uploads in the console in a browser while the daemon is started again', () => {
  it('go on by themselves, each of them once', { timeout: 180_000 }, async () => {
    const folder = await temporaryFolder('memoryd-uploads-');
    const dataDir = join(folder, 'data');
    await mkdir(dataDir, { mode: 0o700 });
    await putEmptyDatabase(dataDir);
    await buildConsole();
    let daemon = await startDaemon({ dataDir, env });
    const browser = await launchBrowser();
    const { page, faults } = await openPage(browser);
    try {
      await signIn(page, daemon.url, daemon.key);
      await page.goto(`${daemon.url}/#/documents/add`);
      // Two are there; the third one has been taken, and its answer is lost with the daemon.
      let taken = 0;
      await page.route('**/v3/documents/file', async (route) => {
        taken += 1;
        if (taken !== 3) return route.continue();
        await route.fetch();
        await daemon.stop();
        return route.abort('connectionreset');
      });
      await page.locator('input[type=file]').setInputFiles(files);
      await page.getByText('The daemon does not answer.').waitFor();
      daemon = await startDaemon({ dataDir, env, args: ['--port', new URL(daemon.url).port] });
      await page.getByText(`${count} of ${count} files uploaded`).waitFor({ timeout: 60_000 });
      expect(await page.getByText('failed').count()).toBe(0);
      const stored = async () =>
        (await call(daemon, 'POST', '/v3/documents/list', { limit: 100 })).memories
          .map(({ filepath }: { filepath: string }) => filepath)
          .toSorted();
      await expect.poll(stored, within).toEqual(files.map(({ name }) => name));
      expect(faults).toEqual([]);
    } finally {
      await browser.close();
      await daemon.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
