import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
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

const samples = join(import.meta.dirname, '../../../fixtures/documents');
const within = { timeout: 60_000, interval: 100 };

/** What runs in a page that takes texts of others for its own. */
const hostile = {
  markup: '<img src=x onerror=alert(1)><script>alert(2)</script>',
  link: 'javascript:alert(3)',
  backwards: 'invoice‮fdp.exe',
};

describeWithBrowser('the console in a browser', () => {
  let daemon: Daemon;
  let browser: Browser;
  let folder: string;
  const opened: WatchedPage[] = [];

  const open = async (options?: Parameters<typeof openPage>[1]) => {
    const watched = await openPage(browser, options);
    opened.push(watched);
    return watched.page;
  };
  const show = async (page: Page, hash: string, title: string | RegExp) => {
    await page.goto(`${daemon.url}/#/${hash}`);
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    await opened.find((each) => each.page === page)!.settle();
  };
  const signInWith = async (page: Page, key: string) => {
    await page.goto(daemon.url);
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('nav').waitFor({ state: 'attached' });
  };
  const connectionId = async (): Promise<string> => {
    const connections = await call(daemon, 'POST', '/v3/connections/list', { provider: 'folder' });
    return connections[0].id as string;
  };

  beforeAll(async () => {
    await buildConsole();
    folder = await temporaryFolder('memoryd-console-');
    await writeFile(join(folder, 'keys.md'), '# Keys\n\nRotate the signing key every 90 days.\n');
    await copyFile(join(samples, 'broken.pdf'), join(folder, 'broken.pdf'));
    [daemon, browser] = await Promise.all([startDaemon(), launchBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  let page: Page;

  it('signs in by a link that works once', async () => {
    const { url } = await call(daemon, 'POST', '/console/links');
    page = await open();
    const refused: string[] = [];
    page.on('response', (response) => response.status() >= 400 && refused.push(response.url()));
    await page.goto(url);
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    await page.getByText('Nothing is remembered yet').waitFor();
    expect(page.url()).not.toContain('sign-in');
    expect(refused).toEqual([]);

    const stranger = await open();
    await stranger.goto(url);
    await stranger.getByText('This link was used already').waitFor();
    await stranger.context().close();
  });

  it('adds a folder by a form, and fills while one looks', async () => {
    await page.getByRole('link', { name: 'Add a source' }).click();
    await page.getByRole('link', { name: /^Folder/ }).click();
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.getByText('Fill this in.').waitFor();
    await page.getByLabel(/^Folder/).fill(folder);
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: folder }).waitFor();
    await page.getByText('Up to date').waitFor();
    await page.getByRole('list', { name: 'Items' }).getByText('keys.md').waitFor();
    await page.getByText('2 items new').waitFor();

    const items = page.getByRole('list', { name: 'Items' });
    await page.getByLabel('Name or path').fill('KEYS');
    await items.getByText('broken.pdf').waitFor({ state: 'detached' });
    await items.getByText('keys.md').waitFor();
    await page.getByLabel('Name or path').fill('nowhere');
    await page.getByText('No item of this name was seen').waitFor();
    await page.getByLabel('Name or path').fill('');
    await items.getByText('broken.pdf').waitFor();
  });

  it('says why a file could not be read', async () => {
    const causes = page.getByRole('region', { name: 'What failed' });
    await causes.getByText('The PDF file is damaged').waitFor();
    await causes.getByText('Could not be read · 1').waitFor();
    await page.getByRole('list', { name: 'Items' }).getByRole('link', { name: 'broken.pdf' }).click();
    await page.getByRole('alert').getByText('The PDF file is damaged').waitFor();
  });

  it('finds a document, with the words marked, and shows its text', async () => {
    await page.keyboard.press('/');
    await page.getByRole('searchbox', { name: 'Search memory' }).fill('signing keys');
    await page.keyboard.press('Enter');
    const hit = page.getByRole('listitem').filter({ hasText: 'Rotate the signing key every 90 days' });
    await expect.poll(() => hit.locator('mark').allTextContents(), within).toContain('signing');
    await page.getByLabel('As known on').fill('2100-01-01');
    await expect.poll(() => page.url(), within).toContain('asOf=2100');
    await hit.getByText('match').waitFor();
    await page.getByLabel('Dated until').fill('2000-01-01');
    await page.getByText('Nothing matches').waitFor();
    await page.getByLabel('Dated until').fill('');
    await page.getByLabel('Dated from').fill('2000-01-01');
    await expect.poll(() => page.url(), within).toContain('from=2000');
    await hit.getByText('match').waitFor();
    expect(await page.getByRole('alert').allTextContents()).toEqual([]);
    await hit.getByText('keys.md').waitFor();
    await hit.getByRole('link', { name: 'Keys' }).click();
    await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
    await page.getByRole('tabpanel').getByText('every 90 days').waitFor();
    await page.getByRole('tab', { name: 'Passages' }).click();
    await page.getByText('Passage 1').waitFor();
  });

  it('shows held deletions, and keeps them', async () => {
    const id = await connectionId();
    await rm(join(folder, 'keys.md'));
    await rm(join(folder, 'broken.pdf'));
    await show(page, `sources/${id}`, folder);
    await page.getByRole('button', { name: 'Sync now' }).click();
    const held = page.getByRole('region', { name: 'Held deletions' });
    await held.getByRole('list').getByText('keys.md').waitFor();
    await held.getByRole('button', { name: 'Keep them' }).click();
    await held.waitFor({ state: 'detached' });
    const { memories } = await call(daemon, 'POST', '/v3/documents/list', {});
    expect(memories.map(({ filepath }: { filepath: string }) => filepath)).toContain('keys.md');
  });

  it('remembers, corrects and shows the profile', async () => {
    await show(page, 'memories', 'Memories');
    await page.getByLabel('Fact').fill('Mira prefers tea.');
    await page.getByRole('button', { name: 'Remember' }).click();
    const memory = page.getByRole('list', { name: 'What is remembered' }).getByRole('listitem');
    await memory.getByText('Mira prefers tea.').first().waitFor();
    await page.getByRole('button', { name: 'Correct: Mira prefers tea.' }).click();
    await page.getByRole('dialog').getByLabel('Fact').fill('Mira prefers coffee.');
    await page.getByRole('button', { name: 'Save' }).click();
    await memory.getByText('Mira prefers coffee.').first().waitFor();
    await memory.getByText('2 versions').click();
    await memory.getByText('Mira prefers tea.').first().waitFor();
    await page.getByRole('region', { name: 'Profile' }).getByText('Mira prefers coffee.').first().waitFor();
  });

  it('makes a key that is shown once, and uploads files', async () => {
    await show(page, 'keys', 'Keys');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('laptop');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('shown only this once').waitFor();
    expect(await page.getByRole('region', { name: 'New key' }).textContent()).toMatch(/^sm_/);

    await show(page, 'documents/add', 'Add documents');
    await page
      .getByLabel('or choose files')
      .setInputFiles([join(samples, 'runbook.md'), join(samples, 'handbook.txt')]);
    await expect.poll(() => page.getByText('uploaded', { exact: true }).count(), within).toBe(2);
    await page.getByRole('link', { name: 'Open document' }).first().click();
    await page.getByRole('button', { name: 'Open the file' }).waitFor();
  });

  it('shows a key that may only read nothing to write with', async () => {
    const body = { containerTag: 'sm_project_default', permission: 'read', name: 'reader' };
    const { key, id: keyId } = await call(daemon, 'POST', '/v3/auth/scoped-key', body);
    const reader = await open();
    await signInWith(reader, key);
    await reader.getByText('Read only').waitFor();
    const menu = await reader.getByRole('navigation').getByRole('link').allTextContents();
    expect(menu).toContain('Documents');
    expect(menu.filter((name) => ['Keys', 'Hooks'].includes(name))).toEqual([]);
    const verbs = /add|sync|pause|disconnect|full|dry|try again|delete|keep|correct|forget|remember|create|turn/i;
    const id = await connectionId();
    for (const [hash, title] of [
      ['', 'Home'],
      ['sources', 'Sources'],
      [`sources/${id}`, folder],
      ['documents', 'Documents'],
      ['memories', 'Memories'],
      ['namespaces', 'Namespaces'],
      ['keys', 'Keys'],
    ] as const) {
      await show(reader, hash, title);
      const controls = reader.locator('main').getByRole('button', { name: verbs });
      expect(await controls.allTextContents(), hash).toEqual([]);
      expect(await reader.locator('main a[href*="add"]').count(), hash).toBe(0);
    }

    // What the session may do is what its key may do at that moment.
    await call(daemon, 'DELETE', `/v3/auth/scoped-key/${keyId}`);
    await show(reader, '', 'Sign in to memoryd');
    await reader.getByText('Your session ended.').waitFor();
    await reader.reload();
    await reader.getByText('Your session ended.').waitFor();
    await reader.context().close();
  });

  it('runs nothing that stands in titles, paths, contents, addresses and memories', async () => {
    const evil = join(folder, 'evil');
    await mkdir(evil);
    await writeFile(join(evil, `${hostile.markup.replaceAll('/', '')}.md`), hostile.markup);
    await writeFile(join(evil, `${hostile.backwards}.md`), `${hostile.backwards} signing\n${'long '.repeat(200_000)}`);
    await copyFile(join(samples, 'broken.pdf'), join(evil, '<img src=x onerror=alert(4)>.pdf'));
    const { id } = await call(daemon, 'POST', '/v3/connections/push', { metadata: {} });
    const pushed = {
      id: 'evil',
      title: hostile.markup,
      url: hostile.link,
      path: hostile.markup,
      markdown: `signing ${hostile.markup}`,
    };
    await call(daemon, 'POST', `/v3/connections/${id}/push`, { upserts: [pushed] });
    const memories = [{ content: `${hostile.markup} signing [x](${hostile.link})` }];
    await call(daemon, 'POST', '/v4/memories', { containerTag: 'sm_project_default', memories });
    const folderId = await connectionId();
    const evilDocuments = async () => {
      const { memories: all } = await call(daemon, 'POST', '/v3/documents/list', { limit: 100 });
      return all.filter(
        (one: { title: string; status: string }) => /img|invoice.fdp/.test(one.title) && one.status !== 'queued',
      );
    };
    await expect.poll(async () => (await evilDocuments()).length, within).toBeGreaterThanOrEqual(3);
    const ids = (await evilDocuments()).map((one: { id: string }) => `documents/${one.id}`);
    for (const hash of [
      '',
      'sources',
      'sources?all=yes',
      `sources/${folderId}`,
      `sources/${id}`,
      'search?q=signing',
      'documents',
      ...ids,
      'memories',
    ]) {
      await show(page, hash, /./);
      expect(await page.locator('#console img, #console script, #console iframe').count(), hash).toBe(0);
      expect(await page.locator('a:not([href^="#"]):not([href^="http"])').count(), hash).toBe(0);
    }
    await show(page, 'documents', 'Documents');
    await page.getByRole('list', { name: 'Documents' }).getByText('<img src=x onerror').first().waitFor();
  });

  it('can be used by everybody on each screen, light and dark, wide and narrow', async () => {
    const id = await connectionId();
    const { memories } = await call(daemon, 'POST', '/v3/documents/list', { limit: 1 });
    const screens = [
      '',
      'sources',
      'sources?all=yes',
      'sources/add/imap',
      'sources/add/google-drive',
      `sources/${id}`,
      'search?q=signing+keys',
      'documents',
      `documents/${memories[0].id}`,
      'documents/add',
      'memories',
      'namespaces',
      'keys',
      'hooks',
      'system',
      'connect',
    ];
    const found: string[] = [];
    for (const options of [{}, { colorScheme: 'dark', width: 320 }] as const) {
      const looked = await open(options);
      const look = async (name: string) => {
        found.push(...(await accessibilityViolations(looked)).map((violation) => `${name}: ${violation}`));
        const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
        if ((await looked.evaluate(overflow)) !== 0) found.push(`${name} is wider than the window`);
      };
      await looked.goto(daemon.url);
      await looked.getByRole('heading', { level: 1 }).waitFor();
      await look('sign-in');
      await signInWith(looked, daemon.key);
      for (const hash of screens) {
        await show(looked, hash, /./);
        await look(hash);
      }
      for (const [hash, button] of [
        ['keys', /^Create a key/],
        ['keys', /^Delete/],
        ['connect', /^Make a key/],
        ['namespaces', /^Delete/],
        ['memories', /^Forget by topic/],
        ['memories', /^Forget: /],
        ['memories', /^Correct: /],
        [`documents/${memories[0].id}`, /^Delete/],
        [`sources/${id}`, /^Disconnect/],
      ] as const) {
        await show(looked, hash, /./);
        await looked.getByRole('main').getByRole('button', { name: button }).first().click();
        await looked.getByRole('dialog').waitFor();
        await look(`dialog of ${hash}, ${button.source}`);
        await looked.keyboard.press('Escape');
        await looked.getByRole('dialog').waitFor({ state: 'detached' });
      }
      await looked.context().close();
    }
    expect(found).toEqual([]);
  });

  it('threw no error, opened no dialog and kept its policy all the while', () => {
    expect(opened.length).toBeGreaterThan(3);
    expect(opened.flatMap(({ faults }) => faults)).toEqual([]);
  });
});
