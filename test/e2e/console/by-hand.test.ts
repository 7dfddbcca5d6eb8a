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
    // Only one of them is in the namespace, below the path and of the day that the search asks for.
    const fits = { containerTag: 'pottery', filepath: '/kiln/door.md', documentDate: '2026-02-02T12:00:00Z' };
    const ids = [];
    for (const [where, more] of Object.entries({
      Mondays: {},
      Tuesdays: { containerTag: 'elsewhere' },
      Wednesdays: { filepath: '/notes/door.md' },
      Thursdays: { documentDate: '2026-03-03T12:00:00Z' },
    })) {
      const document = { ...fits, ...more, content: `The kiln's door is opened on ${where}.` };
      ids.push((await call<{ id: string }>(stage.daemon, 'POST', '/v3/documents', document)).id);
    }
    for (const id of ids) {
      const status = async () => (await call(stage.daemon, 'GET', `/v3/documents/${id}`)).status as string;
      await expect.poll(status, within).toBe('done');
    }
    const asked = { q: "kiln's door", mode: 'documents', ns: 'pottery', path: '/kiln/' };
    const days = { from: '2026-02-01', to: '2026-02-03' };
    await stage.show(page, `search?${new URLSearchParams({ ...asked, ...days }).toString()}`, 'Search');
    const hits = page.getByRole('list', { name: 'Search', exact: true }).getByRole('listitem');
    await expect.poll(() => hits.allInnerTexts(), within).toEqual([expect.stringContaining('on Mondays')]);
    const copied = async (name: string) => {
      await page.getByRole('button', { name }).click();
      await page.getByText('Copied to the clipboard.').waitFor();
      return page.evaluate<string>('navigator.clipboard.readText()');
    };
    const [command, program] = [await copied('Copy as curl'), await copied('Copy as code')];
    const env = { PATH: process.env['PATH'], MEMORYD_API_KEY: stage.daemon.key };
    const { stdout } = await run('sh', ['-c', command], { env });
    const print = `${program}\nconsole.log(JSON.stringify(results));`;
    const options = { env, cwd: projectFolder };
    const printed = await run(process.execPath, ['--input-type=module', '--eval', print], options);
    const found = [(JSON.parse(stdout) as { results: unknown }).results, JSON.parse(printed.stdout)];
    const same = [expect.objectContaining({ chunk: "The kiln's door is opened on Mondays." })];
    expect(found).toEqual([same, same]);
  });
});
