/**
 * Makes the pictures of the console in docs/console: fills a daemon of its own from fixtures/, signs
 * in with a browser and takes each screen, light, dark and narrow.
 *
 *   node scripts/console-screenshots.ts            the few that the documentation shows
 *   node scripts/console-screenshots.ts --all DIR  every screen in each look, to be looked at
 */
import { cp, mkdir, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { buildConsole, launchBrowser, openPage, type PageOptions } from '../test/support/browser.ts';
import { startDaemon, type Daemon } from '../test/support/daemon.ts';
import { call } from '../test/support/memory-of.ts';

const projectFolder = join(import.meta.dirname, '..');
const { values, positionals } = parseArgs({ options: { all: { type: 'boolean' } }, allowPositionals: true });
const target = positionals[0] ?? join(projectFolder, 'docs/console');

const looks: Record<string, PageOptions> = {
  light: { colorScheme: 'light', width: 1080 },
  dark: { colorScheme: 'dark', width: 1080 },
  narrow: { colorScheme: 'light', width: 360 },
};
/** What the documentation shows, as `screen-look`. */
const documented = [
  'home-light',
  'source-light',
  'held-light',
  'search-dark',
  'memories-light',
  'add-source-narrow',
  'connect-dark',
];

/** Where it waits until something is so, it asks this often, and gives up after so many times. */
const [askEveryMs, mostAsks] = [200, 300];

interface Filled {
  /** Places of the page by the names of their pictures. */
  places: Record<string, string>;
}

await buildConsole();
// Within a folder whose path says nothing of this machine.
const folder = join(tmpdir(), 'fernhill');
await rm(folder, { recursive: true, force: true });
const daemon = await startDaemon();
const browser = await launchBrowser();
try {
  const { places } = await fill(daemon);
  await mkdir(target, { recursive: true });
  for (const [look, options] of Object.entries(looks)) await takeAll(browser, places, look, options);
} finally {
  await browser.close();
  await daemon.stop();
  await rm(folder, { recursive: true, force: true });
}

async function fill(to: Daemon): Promise<Filled> {
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
    places: {
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
    },
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

async function takeAll(by: Browser, places: Filled['places'], look: string, options: PageOptions): Promise<void> {
  const wanted = Object.entries(places).filter(([name]) => values.all || documented.includes(`${name}-${look}`));
  if (wanted.length === 0 && !values.all) return;
  const { page, faults, settle, close } = await openPage(by, options);
  await page.goto(daemon.url);
  await page.getByLabel('API key').waitFor();
  if (values.all) await take(page, `sign-in-${look}`);
  await page.getByLabel('API key').fill(daemon.key);
  await page.keyboard.press('Enter');
  await page.locator('nav').waitFor({ state: 'attached' });
  for (const [name, place] of wanted) {
    await page.goto(`${daemon.url}/#/${place}`);
    await settle();
    await take(page, pictureName(name, look));
  }
  await close();
  for (const fault of faults) console.error(fault);
}

/** The first picture of the README has the plainest name. */
function pictureName(name: string, look: string): string {
  return name === 'home' && look === 'light' ? 'home' : `${name}-${look}`;
}

async function take(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(target, `${name}.png`) });
  console.log(`${name}.png`);
}
