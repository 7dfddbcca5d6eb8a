import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  accessibilityViolations,
  buildConsole,
  describeWithBrowser,
  launchBrowser,
  openPage,
  type WatchedPage,
} from '../../support/browser.ts';
import { startDaemon, type Daemon } from '../../support/daemon.ts';
import { call } from '../../support/memory-of.ts';

describeWithBrowser('what the console says of a search', () => {
  let daemon: Daemon;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    await buildConsole();
    [daemon, browser] = await Promise.all([startDaemon(), launchBrowser()]);
    watched = await openPage(browser);
    ({ page } = watched);
    await page.goto(daemon.url);
    await page.getByLabel('API key').fill(daemon.key);
    await page.keyboard.press('Enter');
    await page.locator('nav').waitFor({ state: 'attached' });
  });
  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  it('asks once for all namespaces, and shows what words and meaning say of each result', async () => {
    const add = (content: string, containerTag: string, title: string) =>
      call(daemon, 'POST', '/v3/documents', { content, containerTag, metadata: { title } });
    const added = [
      await add('The signing key is rotated every 90 days.', 'work', 'Keys'),
      await add('A soup of lentils wants cumin and an hour.', 'work', 'Soup'),
      await add('The key of the shed hangs in the kitchen.', 'home', 'Shed'),
    ];
    const statuses = async () =>
      Promise.all(added.map(async ({ id }) => (await call(daemon, 'GET', `/v3/documents/${id}`)).status));
    await expect.poll(statuses, { timeout: 60_000 }).toEqual(['done', 'done', 'done']);
    const asked: string[] = [];
    page.on('request', (request) => request.url().endsWith('/v4/search') && asked.push(request.postData() ?? ''));
    await page.goto(`${daemon.url}/#/search?q=rotating+the+signing+key`);
    const hits = page.getByRole('list', { name: 'Search', exact: true }).getByRole('listitem');
    await hits.getByText(/match · words 100% · meaning \d+%/).waitFor();
    expect(asked).toHaveLength(1);
    expect(asked[0]).not.toContain('containerTag');
  });

  it('says of a document that is named by its title or id why it is not there', async () => {
    const field = page.getByRole('textbox', { name: 'Title, path or id' });
    const offered = page.getByRole('list', { name: 'Documents of this name' });
    const standing = page.getByRole('region', { name: 'Why not this one?' }).getByRole('status');
    const choose = async (named: string, title: string) => {
      await field.fill(named);
      await offered.getByRole('button', { name: title }).click();
    };
    await choose('keys', 'Keys');
    await standing.getByText('It is shown: result 1.').waitFor();
    await choose('sou', 'Soup');
    await standing.getByText(/It is not close enough: its best passage matches \d+%/).waitFor();
    const { memories } = await call(daemon, 'POST', '/v3/documents/list', { containerTag: 'home' });
    await choose(memories[0].id, 'Shed');
    await page.getByLabel('Namespace').selectOption('work');
    await standing.getByText('it is in another namespace').waitFor();
    await field.fill('nothing of this name');
    await standing.getByText('No document of this name is in memory.').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(watched.faults).toEqual([]);
  });
});
