import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { buildConsole, launchBrowser, openPage, type PageOptions, type WatchedPage } from './browser.ts';
import { startDaemon, type Daemon, type DaemonOptions } from './daemon.ts';

/** For conditions that a busy machine may take long to reach. */
export const within = { timeout: 60_000, interval: 100 };

export interface ConsoleStage {
  readonly daemon: Daemon;
  readonly browser: Browser;
  /** A page in a browser session of its own. */
  open(options?: PageOptions): Promise<Page>;
  /** The same, signed in with the full key. */
  openSignedIn(options?: PageOptions): Promise<Page>;
  /** Goes to a screen; resolves when it has read what it shows. */
  show(page: Page, hash: string, title: string | RegExp): Promise<void>;
}

/** A daemon and a browser for all tests of a suite. After each of them no page may have had a fault. */
export function useConsole(options: () => Promise<DaemonOptions> | DaemonOptions = () => ({})): ConsoleStage {
  let daemon: Daemon | undefined;
  let browser: Browser | undefined;
  const opened: WatchedPage[] = [];

  beforeAll(async () => {
    await buildConsole();
    [daemon, browser] = await Promise.all([startDaemon(await options()), launchBrowser()]);
  });
  afterEach(() => {
    if (daemon?.hasEnded()) throw new Error(`The daemon has ended. It printed:\n${daemon.output()}`);
    expect(opened.flatMap(({ faults }) => faults)).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await daemon?.stop();
  });

  const stage: ConsoleStage = {
    get daemon() {
      return daemon!;
    },
    get browser() {
      return browser!;
    },
    async open(pageOptions) {
      const watched = await openPage(browser!, pageOptions);
      opened.push(watched);
      return watched.page;
    },
    async openSignedIn(pageOptions) {
      const page = await stage.open(pageOptions);
      await signIn(page, daemon!.url, daemon!.key);
      return page;
    },
    async show(page, hash, title) {
      await page.goto(`${daemon!.url}/#/${hash}`);
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
      await opened.find((each) => each.page === page)!.settle();
    },
  };
  return stage;
}

export async function signIn(page: Page, url: string, key: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('nav').waitFor({ state: 'attached' });
}
