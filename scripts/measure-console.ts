/**
 * What the console costs with a large store: fills an embedded one with documents and items of one folder, and looks
 * at the screens with a browser.
 *
 *     node scripts/measure-console.ts [--count 100000]
 *
 * Of each screen: milliseconds until its first rows are there, requests until then, the longest task of the page's
 * thread while it was read and scrolled, and what was scrolled to.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import type { Database } from '../src/store/database.ts';
import { openPglite } from '../src/store/pglite/open-pglite.ts';
import { rawSql } from '../src/store/sql.ts';
import { buildConsole, launchBrowser, openPage } from '../test/support/browser.ts';
import { longestTaskMs, traced } from '../test/support/browser-trace.ts';
import { signIn } from '../test/support/console-page.ts';
import { putEmptyDatabase, startDaemon, type Daemon } from '../test/support/daemon.ts';
import { call } from '../test/support/memory-of.ts';

const { values } = parseArgs({ options: { count: { type: 'string', default: '100000' } } });
const count = Number(values.count);
const filesAtFirst = 100;
const env = {
  MEMORYD_EMBEDDER_KIND: 'hashing',
  MEMORYD_API_KEY: 'key-of-the-measurement',
  MEMORYD_FOLDER_ROOTS: tmpdir(),
};
const scrolledPages = 20;

const folder = await mkdtemp(join(tmpdir(), 'memoryd-measure-'));
const [files, dataDir] = [join(folder, 'files'), join(folder, 'data')];
try {
  await Promise.all([buildConsole(), fill()]);
  const daemon = await startDaemon({ dataDir, env });
  try {
    await measure(daemon);
  } finally {
    await daemon.stop();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** A folder that is mirrored, each of its items many times. */
async function fill(): Promise<void> {
  await Promise.all([mkdir(files), mkdir(dataDir)]);
  const names = Array.from({ length: filesAtFirst }, (_, index) => `note-${index}.md`);
  await Promise.all(names.map((name) => writeFile(join(files, name), `Kiln ${name} is cold.\n`)));
  await putEmptyDatabase(dataDir);
  const daemon = await startDaemon({ dataDir, env });
  const { id } = await call(daemon, 'POST', '/v3/connections/folder', { metadata: { path: files, watch: false } });
  const done = async () => (await call(daemon, 'GET', `/v3/connections/${id}/progress`)).documents.done;
  while ((await done()) < filesAtFirst) await systemClock.sleep(200);
  await daemon.stop();
  const database = await openPglite({ dataDir, log: silentLogger });
  await multiply(database, 'documents', ['id', 'custom_id', 'title']);
  await multiply(database, 'sync_items', ['ext_id', 'custom_id', 'document_id']);
  await database.script('vacuum analyze documents');
  await database.script('vacuum analyze sync_items');
  await database.close();
}

async function multiply(database: Database, table: string, changed: readonly string[]): Promise<void> {
  const columns = await database.query<{ name: string }>(
    rawSql(`select attname as name from pg_attribute
      where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped`),
  );
  const value = (name: string) => {
    if (changed.includes(name)) return `${name} || '-' || n`;
    return name === 'updated_at' ? `updated_at - n * interval '1 minute'` : name;
  };
  const names = columns.map(({ name }) => name);
  const copies = count / filesAtFirst - 1;
  await database.execute(
    rawSql(`insert into ${table} (${names.join(', ')})
      select ${names.map(value).join(', ')} from ${table}, generate_series(1, ${copies}) n`),
  );
}

async function measure(daemon: Daemon): Promise<void> {
  const browser = await launchBrowser();
  try {
    const { page } = await openPage(browser);
    await signIn(page, daemon.url, daemon.key);
    const [{ id }] = await call(daemon, 'POST', '/v3/connections/list', {});
    await look(page, 'Home', `${daemon.url}/#/`, page.getByText(`${count.toLocaleString('en')} documents`).first());
    const rows = (name: string) => page.getByRole('list', { name }).getByRole('listitem');
    await look(page, 'Documents', `${daemon.url}/#/documents`, rows('Documents').first(), rows('Documents').last());
    await look(page, 'Source', `${daemon.url}/#/sources/${id}`, rows('Items').first(), rows('Items').last());
  } finally {
    await browser.close();
  }
}

type Place = ReturnType<Page['getByText']>;

async function look(page: Page, name: string, url: string, first: Place, last?: Place): Promise<void> {
  let requests = 0;
  const onRequest = () => (requests += 1);
  page.on('request', onRequest);
  let [firstMs, asked, reached] = [0, 0, 0];
  const trace = await traced(page, async () => {
    const begunMs = performance.now();
    await page.goto('about:blank');
    await page.goto(url);
    await first.waitFor({ timeout: 60_000 });
    [firstMs, asked] = [performance.now() - begunMs, requests];
    while (last && reached < scrolledPages * 100) {
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      reached = Number(await last.getAttribute('aria-posinset'));
    }
  });
  page.off('request', onRequest);
  const figures = [`first rows ${firstMs.toFixed(0)} ms`, `${asked} requests`];
  console.log(
    `${name}: ${[...figures, `longest task ${longestTaskMs(trace).toFixed(0)} ms`, `row ${reached}`].join(', ')}`,
  );
}
