import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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
import { temporaryFolder } from '../../support/temporary-folder.ts';

const within = { timeout: 60_000, interval: 100 };

describeWithBrowser('a source that is looked at before it is mirrored', () => {
  let daemon: Daemon;
  let browser: Browser;
  let folder: string;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    await buildConsole();
    folder = await temporaryFolder('memoryd-choose-');
    await mkdir(join(folder, 'drafts'));
    for (const name of ['plan.md', 'kiln.md', 'drafts/old.md']) await writeFile(join(folder, name), `About ${name}.\n`);
    await writeFile(join(folder, 'big.txt'), 'x'.repeat(2_000_000));
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
    await rm(folder, { recursive: true, force: true });
  });

  const titles = async () => {
    const { memories } = await call(daemon, 'POST', '/v3/documents/list', {});
    return memories.map(({ title }: { title: string }) => title).toSorted();
  };

  it('counts what filters take, and mirrors nothing before it is started', async () => {
    await page.goto(`${daemon.url}/#/sources/add/folder`);
    await page.getByLabel(/^Folder/).fill(folder);
    await page.getByText('More settings').click();
    await page.getByLabel('How often it is looked at').selectOption('Every hour');
    await page.getByText(/After the first sync: .*\(in 1 hour\)|\(in 60 minutes\)/).waitFor();
    await page.getByLabel('How often it is looked at').selectOption('Another schedule …');
    await page.getByLabel('Schedule', { exact: true }).fill('often');
    await page.getByText(/neither an interval nor a cron expression/).waitFor();
    await page.getByLabel('Schedule', { exact: true }).fill('2h');
    await page.getByText(/After the first sync/).waitFor();
    await page.getByRole('button', { name: 'Connect, but choose first' }).click();
    const start = page.getByRole('region', { name: 'Not started yet' });
    await start.getByText('4 of 4 items, 2 MB').waitFor();
    await start.getByLabel('Not these').fill('drafts/');
    await start.getByText('3 of 4 items, 2 MB').waitFor();
    await start.getByLabel('At most so many MB each').fill('1');
    await start.getByText(/2 of 4 items, \d+ bytes/).waitFor();
    await start.getByText('drafts/old.md').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    // Nothing is said of syncs before there was one, and there is one way to begin.
    for (const name of ['Runs', 'Items', /^What failed/])
      expect(await page.getByRole('region', { name }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Resume' }).count()).toBe(0);
    expect(await titles()).toEqual([]);
    await start.getByRole('button', { name: 'Start' }).click();
    await page.getByText('Up to date').waitFor();
    await expect.poll(titles, within).toEqual(['kiln.md', 'plan.md']);
  });

  it('changes schedule and filters later', async () => {
    const settings = page.getByRole('region', { name: 'Settings' });
    await settings.getByText('Every 2 hours').waitFor();
    await settings.getByRole('button', { name: 'Change schedule and filters' }).click();
    await settings.getByLabel('Not these').fill('');
    await settings.getByText('3 of 4 items').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await settings.getByLabel('How often it is looked at').selectOption('Only when I ask for it');
    await settings.getByText('Nothing happens by itself').waitFor();
    await settings.getByRole('button', { name: 'Save' }).click();
    await settings.getByText('Only when I ask for it').waitFor();
    await settings.getByText('At most so many MB each: 1').waitFor();
    await expect.poll(titles, within).toEqual(['kiln.md', 'old.md', 'plan.md']);
    const plot = page.getByRole('region', { name: 'Throughput' }).getByRole('img');
    await plot.locator('canvas').waitFor();
    expect(await plot.getAttribute('aria-label')).toMatch(/^\d+ items a minute at last/);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(watched.faults).toEqual([]);
  });
});
