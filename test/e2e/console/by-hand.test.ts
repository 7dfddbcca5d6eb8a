import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { accessibilityViolations, describeWithBrowser } from '../../support/browser.ts';
import { useConsole, within } from '../../support/console-page.ts';
import { call } from '../../support/memory-of.ts';

const projectFolder = join(import.meta.dirname, '../../..');
const run = promisify(execFile);

describeWithBrowser('the console in a browser, by keyboard and clipboard', () => {
  const stage = useConsole(() => ({ env: { MEMORYD_EMBEDDER_KIND: 'hashing' } }));
  let page: Page;
  beforeAll(async () => {
    page = await stage.openSignedIn();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  });

  it('goes everywhere by two keys, and lists them', async () => {
    await stage.show(page, '', 'Home');
    for (const [key, title] of [
      ['s', 'Sources'],
      ['d', 'Documents'],
      ['m', 'Memories'],
      ['n', 'Namespaces'],
      ['k', 'Keys'],
      ['y', 'System'],
      ['c', 'Connect an assistant'],
      ['h', 'Home'],
    ] as const) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
    }
    await page.keyboard.press('?');
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await list.getByText('Connect an assistant').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    // Where a dialog is open, keys are its own.
    await page.keyboard.press('/');
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'detached' });
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await page.keyboard.press('/');
    const search = page.locator('input[type=search]:focus');
    await search.waitFor();
    // What is typed into a field leads nowhere.
    await page.keyboard.type('gs/?');
    expect(await search.inputValue()).toBe('gs/?');
    await page.getByRole('heading', { level: 1, name: 'Search' }).waitFor();
  });

  it('opens its menu on a narrow screen', async () => {
    const narrow = await stage.openSignedIn({ width: 320, colorScheme: 'dark' });
    await narrow.getByRole('button', { name: 'Menu' }).click();
    await narrow.getByRole('button', { name: 'Sign out', exact: true }).waitFor();
    expect(await accessibilityViolations(narrow)).toEqual([]);
    await narrow.getByRole('link', { name: 'System' }).click();
    await narrow.getByRole('heading', { level: 1, name: 'System' }).waitFor();
    await narrow.getByRole('link', { name: 'Keys' }).waitFor({ state: 'hidden' });
    await narrow.context().close();
  });

  it('copies a search as a command and as a program, which find the same', async () => {
    const content = "The kiln's door is opened on Mondays.";
    const { id } = await call<{ id: string }>(stage.daemon, 'POST', '/v3/documents', { content });
    const status = async () => (await call(stage.daemon, 'GET', `/v3/documents/${id}`)).status as string;
    await expect.poll(status, within).toBe('done');
    await stage.show(page, `search?q=${encodeURIComponent("kiln's door")}&mode=documents`, 'Search');
    await page.getByRole('list', { name: 'Search', exact: true }).getByText('on Mondays').waitFor();
    const copied = async (name: string) => {
      await page.getByRole('button', { name }).click();
      await page.getByText('Copied to the clipboard.').waitFor();
      return page.evaluate<string>('navigator.clipboard.readText()');
    };
    const [command, program] = [await copied('Copy as curl'), await copied('Copy as code')];
    const env = { PATH: process.env['PATH'], MEMORYD_API_KEY: stage.daemon.key };
    const { stdout } = await run('sh', ['-c', command], { env });
    expect(stdout).toContain("The kiln's door is opened on Mondays.");
    const print = `${program}\nconsole.log(JSON.stringify(results));`;
    const options = { env, cwd: projectFolder };
    const printed = await run(process.execPath, ['--input-type=module', '--eval', print], options);
    expect(printed.stdout).toContain("The kiln's door is opened on Mondays.");
  });
});
