import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page, Request } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accessibilityViolations, describeWithBrowser } from '../../support/browser.ts';
import { useConsole, within } from '../../support/console-page.ts';
import { call } from '../../support/memory-of.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** More than one page of them; as many as a namespace may have of one provider. */
const count = 120;
const ofNamespace = 20;

describeWithBrowser('the console in a browser with many sources', () => {
  const stage = useConsole(() => ({ env: { MEMORYD_EMBEDDER_KIND: 'hashing' } }));
  let folder: string;
  let page: Page;
  const requests: string[] = [];
  beforeAll(async () => {
    folder = await temporaryFolder('memoryd-many-');
    for (let index = 0; index < count; index++) {
      const containerTag = `space_${Math.floor(index / ofNamespace)}`;
      const path = join(folder, `notes-${index % ofNamespace}`);
      await mkdir(path, { recursive: true });
      const body = { containerTag, paused: true, metadata: { path } };
      await call(stage.daemon, 'POST', '/v3/connections/folder', body);
    }
    page = await stage.openSignedIn();
    page.on('request', (request: Request) => requests.push(new URL(request.url()).pathname));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const ofProgress = () => requests.filter((path) => path.endsWith('/progress'));

  it('asks on the first page for all of them at once, and shows some', async () => {
    await stage.show(page, '', 'Home');
    await page.getByRole('link', { name: 'All sources' }).waitFor();
    expect(await page.getByRole('region', { name: 'Healthy' }).getByRole('listitem').count()).toBe(20);
    expect(ofProgress()).toEqual([]);
  });

  it('lists some with what can be connected, and all of them on a page that is drawn as it is scrolled', async () => {
    await page.getByRole('link', { name: 'All sources' }).click();
    await page.getByRole('region', { name: 'What can be connected' }).waitFor();
    const connected = page.getByRole('region', { name: 'Connected', exact: true }).getByRole('listitem');
    await expect.poll(() => connected.count(), within).toBe(50);
    await page.getByRole('link', { name: 'Show all sources' }).click();
    const rows = page.getByRole('list', { name: 'Sources' }).getByRole('listitem');
    const last = async () => {
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      return Number(await rows.last().getAttribute('aria-posinset'));
    };
    await expect.poll(last, within).toBe(count);
    expect(await rows.count()).toBeLessThan(60);
    expect(ofProgress()).toEqual([]);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('link', { name: 'What can be connected' }).click();
    await connected.first().waitFor();
  });
});
