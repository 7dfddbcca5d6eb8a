/**
 * Makes the pictures of the console in docs/console: fills a daemon of its own from fixtures/, signs
 * in with a browser and takes each screen, light, dark and narrow, as far down as one wants to read.
 *
 *   node scripts/console-screenshots.ts            those of the documentation
 *   node scripts/console-screenshots.ts --png DIR  the same as PNG, to be looked at before
 */
import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { buildConsole, launchBrowser, openPage, type PageOptions } from '../test/support/browser.ts';
import { startDaemon, type Daemon } from '../test/support/daemon.ts';
import { call } from '../test/support/memory-of.ts';
import { readArguments } from './read-arguments.ts';

const projectFolder = join(import.meta.dirname, '..');
const { values } = readArguments(import.meta.filename, { options: { png: { type: 'string' } } });
const target = values.png ?? join(projectFolder, 'docs/console');
const [format, quality] = values.png === undefined ? (['webp', 80] as const) : (['png', undefined] as const);

interface Look extends PageOptions {
  width: number;
  /** Pixels; what is further down is not in the picture. */
  mostHeight: number;
}
const looks: Record<string, Look> = {
  light: { colorScheme: 'light', width: 1080, mostHeight: 1_500 },
  dark: { colorScheme: 'dark', width: 1080, mostHeight: 1_500 },
  narrow: { colorScheme: 'light', width: 320, mostHeight: 2_000 },
};

/** Where it waits until something is so, it asks this often, and gives up after so many times. */
const [askEveryMs, mostAsks] = [200, 300];

/** Of the page, by the names of their pictures. */
type Places = Record<string, string>;

await buildConsole();
const folder = join(tmpdir(), 'fernhill');
await rm(folder, { recursive: true, force: true });
const daemon = await startDaemon();
const browser = await launchBrowser();
/** Names of the machine that the pictures are made on, and those that stand for them. */
const names: [string, string][] = [
  [folder, '/srv/fernhill'],
  [daemon.dataDir, '/var/lib/memoryd'],
  [process.execPath, '/usr/bin/node'],
  [projectFolder, '/opt/memoryd'],
  [daemon.url, 'http://127.0.0.1:6767'],
  [`${hostname()}, `, 'fernhill, '],
];

/** Runs in the page. */
const rename = `(names) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    for (const [from, to] of names) texts.currentNode.data = texts.currentNode.data.replaceAll(from, to);
  }
}`;

try {
  const places = await fill(daemon);
  await mkdir(target, { recursive: true });
  for (const [look, options] of Object.entries(looks)) await takeAll(browser, places, look, options);
} finally {
  await browser.close();
  await daemon.stop();
  await rm(folder, { recursive: true, force: true });
}

async function fill(to: Daemon): Promise<Places> {
  const [handbook, archive] = [join(folder, 'handbook'), join(folder, 'archive')];
  await cp(join(projectFolder, 'fixtures/documents'), handbook, { recursive: true });
  const older = ['kunden.txt', 'letter.docx', 'montageanleitung.md', 'newsletter.html', 'sites.tsv', 'stock.xlsx'];
  for (const name of older) await cp(join(projectFolder, 'fixtures/documents', name), join(archive, name));
  const connect = async (path: string, containerTag: string) => {
    const body = { metadata: { path }, containerTag };
    const { id } = await call<{ id: string }>(to, 'POST', '/v3/connections/folder', body);
    await until(async () => {
      const { run, documents } = await call(to, 'GET', `/v3/connections/${id}/progress`);
      return run?.status === 'completed' && documents.done > 0 && documents.waiting === 0;
    });
    return id;
  };
  const id = await connect(handbook, 'fernhill');
  // A second run, so that there is a course to draw.
  await writeFile(join(handbook, 'visit.md'), '# Visit\n\nThe inspector of the gateways comes on 4 May 2026.\n');
  await call(to, 'POST', `/v3/connections/${id}/sync`, {});
  await until(async () => {
    const { memories } = await call(to, 'POST', '/v3/documents/list', { q: 'visit.md' });
    return memories[0]?.status === 'done';
  });
  const archived = await connect(archive, 'archive');
  await talk(to);
  await call(to, 'POST', '/v3/auth/scoped-key', { containerTag: 'fernhill', permission: 'read', name: 'reading list' });
  await call(to, 'POST', '/v3/auth/scoped-key', { containerTag: 'user_mira', name: 'laptop', expiresInDays: 90 });
  // A folder that is empty all at once: its deletions are held.
  for (const name of await readdir(archive)) await rm(join(archive, name), { recursive: true });
  await call(to, 'POST', `/v3/connections/${archived}/sync`, {});
  await until(async () => (await call(to, 'GET', `/v3/connections/${archived}/progress`)).heldDeletes > 0);
  const { results } = await call(to, 'POST', '/v4/search', {
    q: 'signing keys',
    searchMode: 'documents',
    containerTag: 'fernhill',
  });
  const document = results[0].sources[0].documentId as string;
  return {
    home: '',
    sources: 'sources',
    'add-source': 'sources/add/imap',
    source: `sources/${id}`,
    held: `sources/${archived}`,
    search: 'search?q=how+do+we+rotate+the+signing+keys',
    documents: 'documents?ns=fernhill',
    document: `documents/${document}?q=signing+keys`,
    'add-documents': 'documents/add',
    memories: 'memories?ns=user_mira',
    namespaces: 'namespaces',
    keys: 'keys',
    hooks: 'hooks',
    system: 'system',
    connect: 'connect',
  };
}

/** The conversations of the README. */
async function talk(to: Daemon): Promise<void> {
  const says = [
    'I live in Porto and I work at Nordwind as a data engineer. I prefer short written updates. I’m allergic to peanuts.',
    'By the way, I moved to Lisbon last month. And I left Nordwind, I started at Acme.',
  ];
  for (const [index, content] of says.entries()) {
    const messages = [{ role: 'user', content }];
    const body = { conversationId: `chat-${index}`, messages, containerTag: 'user_mira', dreaming: 'instant' };
    const { id } = await call<{ id: string }>(to, 'POST', '/v4/conversations', body);
    await until(async () => (await call(to, 'GET', `/v3/documents/${id}`)).status === 'done');
  }
  const memories = () => call(to, 'POST', '/v4/memories/list', { containerTag: 'user_mira' });
  await until(async () => (await memories()).memoryEntries.length > 3);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let asked = 0; asked < mostAsks; asked++) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, askEveryMs));
  }
  throw new Error('What the pictures show did not come to be.');
}

async function takeAll(by: Browser, places: Places, name: string, look: Look): Promise<void> {
  const { page, faults, settle, close } = await openPage(by, look);
  const take = async (screen: string) => {
    await settle();
    // Its settings and the security log are at its end.
    await resize(page, screen === 'system' ? { ...look, mostHeight: 3 * look.mostHeight } : look);
    await settle();
    await page.evaluate(`(${rename})(${JSON.stringify(names)})`);
    await shoot(page, `${screen}-${name}`);
  };
  await page.goto(daemon.url);
  await page.getByLabel('API key').waitFor();
  await take('sign-in');
  await page.getByLabel('API key').fill(daemon.key);
  await page.keyboard.press('Enter');
  await page.locator('nav').waitFor({ state: 'attached' });
  for (const [screen, place] of Object.entries(places)) {
    await page.setViewportSize({ width: look.width, height: 720 });
    await page.goto(`${daemon.url}/#/${place}`);
    await take(screen);
  }
  await close();
  for (const fault of faults) console.error(fault);
}

/** As high as what is shown. */
async function resize(page: Page, { width, mostHeight }: Look): Promise<void> {
  const height = await page.evaluate<number>('document.documentElement.scrollHeight');
  await page.setViewportSize({ width, height: Math.min(Math.max(height, 720), mostHeight) });
}

async function shoot(page: Page, name: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format, ...(quality !== undefined && { quality }) });
  await writeFile(join(target, `${name}.${format}`), Buffer.from(data, 'base64'));
  await session.detach();
  console.log(name);
}
