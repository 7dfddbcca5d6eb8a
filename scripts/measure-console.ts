/**
 * What the console costs with a large store: fills an embedded one with documents and items of many connections, most of
 * them of one folder, and looks at the screens with a browser.
 *
 *     node scripts/measure-console.ts [--count 100000] [--connections 20]
 *
 * Of each screen: milliseconds until the browser drew its first content and its largest, as its Performance API tells
 * them, milliseconds until the first rows are there, requests until then, the longest task of the page's
 * thread while it was read and scrolled, and what was scrolled to. Then how long the requests take that the screens
 * repeat, the first time and the median of some more.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
import { readArguments } from './read-arguments.ts';

const { values } = readArguments(import.meta.filename, {
  options: { count: { type: 'string', default: '100000' }, connections: { type: 'string', default: '20' } },
});
const count = Number(values.count);
const connections = Number(values.connections);
const filesAtFirst = 100;
const env = {
  MEMORYD_EMBEDDER_KIND: 'hashing',
  MEMORYD_API_KEY: 'key-of-the-measurement',
  MEMORYD_FOLDER_ROOTS: tmpdir(),
};
/** In the page: milliseconds from the start of the navigation until the first content was drawn, and the largest so far. */
const paints = `new Promise((resolve) => {
  const [first] = performance.getEntriesByName('first-contentful-paint');
  const tell = (list) => resolve([first.startTime, list.getEntries().at(-1).startTime]);
  new PerformanceObserver(tell).observe({ type: 'largest-contentful-paint', buffered: true });
})`;
const scrolledPages = 20;
/** Requests that screens repeat. */
const repeated = (id: string) =>
  [
    ['POST', '/v3/connections/list'],
    ['GET', `/v3/connections/${id}/progress`],
    ['GET', '/v3/activity'],
    ['GET', '/v3/status'],
    ['POST', '/v3/documents/count'],
  ] as const;
const repetitions = 9;
/** Longer than counts are remembered. */
const forgottenMs = 6_000;

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
  const { id } = await call(daemon, 'POST', '/v3/connections/folder', {
    metadata: { path: files, watch: false },
    schedule: null,
  });
  for (let index = 1; index < connections; index++) {
    const path = join(folder, `small-${index}`);
    await mkdir(path);
    await writeFile(join(path, `other-${index}.md`), `Glaze ${index} is blue.\n`);
    const metadata = { path, watch: false };
    await call(daemon, 'POST', '/v3/connections/folder', { metadata, schedule: null, containerTag: `other-${index}` });
  }
  const done = async () => (await call(daemon, 'GET', `/v3/connections/${id}/progress`)).documents.done;
  const waits = async () => (await call(daemon, 'POST', '/v3/documents/count', {})).waiting > 0;
  while ((await done()) < filesAtFirst || (await waits())) await systemClock.sleep(200);
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
  const isOfMany = table === 'documents' ? `container_tag = 'sm_project_default'` : `ext_id like '%/note-%'`;
  const value = (name: string) => {
    if (changed.includes(name)) return `${name} || '-' || n`;
    return name === 'updated_at' ? `updated_at - n * interval '1 minute'` : name;
  };
  const names = columns.map(({ name }) => name);
  const copies = count / filesAtFirst - 1;
  await database.execute(
    rawSql(`insert into ${table} (${names.join(', ')})
      select ${names.map(value).join(', ')} from ${table}, generate_series(1, ${copies}) n where ${isOfMany}`),
  );
}

async function measure(daemon: Daemon): Promise<void> {
  const browser = await launchBrowser();
  try {
    const { page } = await openPage(browser);
    await signIn(page, daemon.url, daemon.key);
    const listed = await call<{ id: string; documentCount: number }[]>(daemon, 'POST', '/v3/connections/list', {});
    const { id } = listed.toSorted((one, other) => other.documentCount - one.documentCount)[0]!;
    const inAll = (count + connections - 1).toLocaleString('en');
    await look(page, 'Home', `${daemon.url}/#/`, page.getByText(`${inAll} documents`).first());
    await look(page, 'Sources', `${daemon.url}/#/sources`, page.getByText(`${count.toLocaleString('en')} documents`));
    const rows = (name: string) => page.getByRole('list', { name }).getByRole('listitem');
    await look(page, 'Documents', `${daemon.url}/#/documents`, rows('Documents').first(), rows('Documents').last());
    await look(page, 'Source', `${daemon.url}/#/sources/${id}`, rows('Items').first(), rows('Items').last());
    await look(page, 'System', `${daemon.url}/#/system`, page.getByText('in order').first());
    for (const [method, path] of repeated(id)) await time(daemon, method, path);
  } finally {
    await browser.close();
  }
}

async function time(daemon: Daemon, method: 'GET' | 'POST', path: string): Promise<void> {
  await systemClock.sleep(forgottenMs);
  const took: number[] = [];
  for (let index = 0; index <= repetitions; index++) {
    const begunMs = performance.now();
    await call(daemon, method, path, method === 'POST' ? {} : undefined);
    took.push(performance.now() - begunMs);
  }
  const [first, ...more] = took as [number, ...number[]];
  const median = more.toSorted((one, other) => one - other)[Math.floor(repetitions / 2)]!;
  console.log(`${method} ${path}: first ${first.toFixed(0)} ms, then ${median.toFixed(0)} ms`);
}

type Place = ReturnType<Page['getByText']>;

async function look(page: Page, name: string, url: string, first: Place, last?: Place): Promise<void> {
  let requests = 0;
  const onRequest = () => (requests += 1);
  page.on('request', onRequest);
  let [firstMs, asked, reached] = [0, 0, 0];
  let drawnMs: number[] = [];
  const trace = await traced(page, async () => {
    const begunMs = performance.now();
    await page.goto('about:blank');
    await page.goto(url);
    await first.waitFor({ timeout: 60_000 });
    [firstMs, asked] = [performance.now() - begunMs, requests];
    drawnMs = await page.evaluate<number[]>(paints);
    while (last && reached < scrolledPages * 100) {
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      reached = Number(await last.getAttribute('aria-posinset'));
    }
  });
  page.off('request', onRequest);
  const drawn = drawnMs.map((each) => each.toFixed(0)).join(' and ');
  const figures = [`drawn after ${drawn} ms`, `first rows ${firstMs.toFixed(0)} ms`, `${asked} requests`];
  console.log(
    `${name}: ${[...figures, `longest task ${longestTaskMs(trace).toFixed(0)} ms`, `row ${reached}`].join(', ')}`,
  );
}
