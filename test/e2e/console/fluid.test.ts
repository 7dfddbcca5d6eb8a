import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page, Request } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithBrowser } from '../../support/browser.ts';
import { longestTaskMs, traced } from '../../support/browser-trace.ts';
import { useConsole, within } from '../../support/console-page.ts';
import { call } from '../../support/memory-of.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const count = 10_000;
/** What a page may do at once before somebody feels it. */
const mostMs = 100;

/** Runs in the page: adds up how far things moved that nobody moved. */
const watchShifts = `
  window.shifted = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
  }).observe({ type: 'layout-shift', buffered: true });`;

// Times are those that the page's own thread worked, which other programs on the machine do not lengthen.
describeWithBrowser('the console in a browser while a sync of 10,000 items streams', () => {
  const stage = useConsole(() => ({ env: { MEMORYD_EMBEDDER_KIND: 'hashing' } }));
  let folder: string;
  let page: Page;
  let id: string;
  beforeAll(async () => {
    folder = await temporaryFolder('memoryd-fluid-');
    for (let index = 0; index < count; index += 100) {
      const part = join(folder, `part-${index / 100}`);
      await mkdir(part);
      const names = Array.from({ length: 100 }, (_, each) => index + each);
      await Promise.all(names.map((each) => writeFile(join(part, `note-${each}.md`), `Kiln ${each} is cold.\n`)));
    }
    page = await stage.openSignedIn();
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const mirrored = (items: number) =>
    page.locator('.counters').getByText(items.toLocaleString('en'), { exact: true }).first();

  it('shows its first content with few requests and little work, and moves nothing afterwards', async ({
    annotate,
  }) => {
    await page.addInitScript(watchShifts);
    const requests: string[] = [];
    const note = (request: Request) => requests.push(new URL(request.url()).pathname);
    page.on('request', note);
    const trace = await traced(page, async () => {
      await page.goto(stage.daemon.url);
      await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    });
    page.off('request', note);
    const firstContentMs = await page.evaluate<number>(
      `performance.getEntriesByName('first-contentful-paint')[0].startTime`,
    );
    await annotate(
      `first content after ${Math.round(firstContentMs)} ms, ${requests.length} requests: ${requests.join(' ')}`,
    );
    // The page, its script and its style; then who is signed in, and what Home reads.
    expect(requests.length).toBeLessThanOrEqual(10);
    expect(trace.workBeforeFirstContentMs).toBeGreaterThan(0);
    expect(trace.workBeforeFirstContentMs).toBeLessThan(1_000);
    expect(longestTaskMs(trace)).toBeLessThan(mostMs);
    expect(await page.evaluate('window.shifted')).toBeLessThan(0.05);
  });

  it('is seen to work long, and to move, where it does', async () => {
    const other = await page.context().newPage();
    await other.addInitScript(watchShifts);
    await other.goto(stage.daemon.url);
    await other.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    const trace = await traced(other, async () => {
      await other.evaluate(`new Promise((done) => setTimeout(() => {
        let worked = 0;
        for (let times = 0; times < 300_000_000; times++) worked += Math.sqrt(times);
        // A task is in the trace once it is over.
        setTimeout(() => done(worked));
      }))`);
    });
    expect(longestTaskMs(trace)).toBeGreaterThan(mostMs);
    // Only what was painted where it stood before counts as moved.
    const shifted = () =>
      other.evaluate(`new Promise((done) => {
        const { style } = document.querySelector('h1');
        style.marginTop = style.marginTop === '' ? '300px' : '';
        requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(window.shifted))));
      })`);
    await expect.poll(shifted, within).toBeGreaterThan(0.05);
    await other.close();
  });

  it('never works long at once while items stream in', { timeout: 600_000 }, async () => {
    const body = { metadata: { path: folder, watch: false } };
    ({ id } = await call<{ id: string }>(stage.daemon, 'POST', '/v3/connections/folder', body));
    const trace = await traced(page, async () => {
      await stage.show(page, `sources/${id}`, folder);
      await page.getByText('Live').waitFor();
      await mirrored(count).waitFor({ timeout: 500_000 });
    });
    expect(longestTaskMs(trace)).toBeLessThan(mostMs);
    expect(await page.evaluate('window.shifted')).toBeLessThan(0.05);
  });

  it('scrolls through all of them, drawing only what is in sight', async () => {
    const trace = await traced(page, async () => {
      await stage.show(page, 'documents', 'Documents');
      const list = page.getByRole('list', { name: 'Documents' });
      const rows = list.getByRole('listitem');
      await page.getByText('10,000 documents').waitFor();
      for (const reached of [200, 1_000, 2_000]) {
        const atEnd = async () => {
          await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
          const last = await rows.last().getAttribute('aria-posinset');
          return Number(last);
        };
        await expect.poll(atEnd, { timeout: 60_000, interval: 20 }).toBeGreaterThanOrEqual(reached);
        expect(await rows.count()).toBeLessThan(80);
      }
    });
    expect(longestTaskMs(trace)).toBeLessThan(mostMs);
  });
});
