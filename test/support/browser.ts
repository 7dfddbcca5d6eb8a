import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import axe from 'axe-core';
import { chromium, type Browser, type Page, type Request } from 'playwright-core';
import { describeWhen } from './services.ts';

const projectFolder = join(import.meta.dirname, '../..');
const named = process.env['CHROMIUM_PATH'];
// Another browser than the one that was asked for would prove something else.
const places = named === undefined ? ['/usr/bin/chromium', '/usr/bin/chromium-browser'] : [named];
const program = places.find((path) => existsSync(path));

/** A suite that needs a browser. */
export function describeWithBrowser(title: string, suite: () => void): void {
  const missing =
    named === undefined ? 'Chromium is missing and CHROMIUM_PATH not set' : `CHROMIUM_PATH names nothing: "${named}"`;
  const install = 'apt-get install --no-install-recommends chromium fonts-noto-core';
  describeWhen(program, `${missing}; ${install}`, title, () => suite());
}

export async function launchBrowser(): Promise<Browser> {
  // The sandbox of Chromium asks for rights that containers do not have.
  return chromium.launch({ executablePath: program!, args: ['--no-sandbox'] });
}

/** Builds the page where its sources are newer than what was built. */
export async function buildConsole(): Promise<void> {
  const [built, sources] = [join(projectFolder, 'console/dist/index.html'), join(projectFolder, 'console')];
  if (existsSync(built) && (await stat(built)).mtimeMs > (await newestIn(sources))) return;
  await promisify(execFile)(join(projectFolder, 'node_modules/.bin/vite'), ['build', 'console'], {
    cwd: projectFolder,
  });
}

async function newestIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.startsWith(join(folder, 'dist')));
  const times = await Promise.all(
    files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).mtimeMs),
  );
  return Math.max(...times);
}

export interface WatchedPage {
  page: Page;
  /** What no page may do: throw, open a dialog, break its own policy. */
  faults: string[];
  /** Resolves when the screen has read what it shows and drawn it. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

export interface PageOptions {
  colorScheme?: 'light' | 'dark';
  width?: number;
}

/** A page in a session of its own that keeps what goes wrong in it. */
export async function openPage(
  browser: Browser,
  { colorScheme = 'light', width = 1180 }: PageOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: { width, height: 720 },
    colorScheme,
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(`error: ${error.stack ?? error.message}`));
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    // Chromium says so of every answer with a status from 400 on, and those are answers that the page expects.
    const isAnswer = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isAnswer) faults.push(`console: ${message.text()}`);
  });
  return { page, faults, settle: settling(page), close: () => context.close() };
}

/** Effects begin their requests a frame after something was drawn, and what they read is drawn a frame later. */
const twoFrames = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))';
const quietLooks = 4;

function settling(page: Page): () => Promise<void> {
  const open = new Set<Request>();
  page.on('request', (request) => {
    // A stream of events is open for as long as there is something to tell.
    if (request.resourceType() !== 'eventsource') open.add(request);
  });
  for (const event of ['requestfinished', 'requestfailed'] as const)
    page.on(event as 'request', (one) => open.delete(one));
  return async () => {
    for (let quiet = 0; quiet < quietLooks; quiet = open.size === 0 ? quiet + 1 : 0) await page.evaluate(twoFrames);
  };
}

/** What axe-core finds wrong with the screen, as `rule: element`. */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  // Only where it is asked: to load it is the longest task that a page would have.
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(axe.source);
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const run = `axe.run(document, { runOnly: ${JSON.stringify(tags)} }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + ' ' + failureSummary)))`;
  return page.evaluate<string[]>(run);
}
