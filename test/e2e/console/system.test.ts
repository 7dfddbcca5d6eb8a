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

describeWithBrowser('what the console says of the daemon', () => {
  let daemon: Daemon;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;
  const refused: string[] = [];

  beforeAll(async () => {
    await buildConsole();
    [daemon, browser] = await Promise.all([startDaemon(), launchBrowser()]);
    watched = await openPage(browser);
    ({ page } = watched);
    // While the model loads, the daemon says that it is not ready, and the page shows it.
    const isAnswer = (url: string) => url.endsWith('/ready');
    page.on('response', (response) => {
      if (response.status() >= 400 && !isAnswer(response.url())) refused.push(response.url());
    });
    await page.goto(daemon.url);
    await page.getByLabel('API key').fill(daemon.key);
    await page.keyboard.press('Enter');
    await page.locator('nav').waitFor({ state: 'attached' });
  });
  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  it('shows what is in order, and what the log warns of', async () => {
    await page.goto(`${daemon.url}/#/system`);
    const checks = page.getByRole('list', { name: 'Checks' });
    await checks.getByText('Data directory').waitFor();
    await checks.getByText('GiB free').waitFor();
    await checks.getByText('Embedding model').waitFor();
    expect(await checks.getByText('look here').count()).toBe(0);
    await page.getByRole('region', { name: 'Warnings of the log' }).waitFor();
    const about = page.getByRole('region', { name: 'About' });
    await about.getByText(/^[\d.,]+ ms$/).waitFor();
    await about.getByText('nothing', { exact: true }).waitFor();
    const processes = page.getByRole('region', { name: 'Processes' });
    await processes
      .getByRole('listitem')
      .filter({ hasText: `${daemon.pid}` })
      .getByText('this one')
      .waitFor();
    expect(await processes.getByText('1 process', { exact: true }).count()).toBe(3);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(refused).toEqual([]);
    expect(watched.faults).toEqual([]);
  });
});
