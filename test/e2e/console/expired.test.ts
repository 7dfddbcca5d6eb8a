import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { fullKey, startTestApi, type TestApi } from '../../support/api.ts';
import {
  accessibilityViolations,
  buildConsole,
  describeWithBrowser,
  launchBrowser,
  openPage,
} from '../../support/browser.ts';
import type { WatchedPage } from '../../support/browser.ts';
import { signIn } from '../../support/console-page.ts';

const consoleFolder = join(import.meta.dirname, '../../../console/dist');
const twelveHoursMs = 12 * 60 * 60 * 1_000;
const note = 'The kiln is cold.';

describeWithBrowser('a session whose twelve hours are over', () => {
  let browser: Browser;
  let test: TestApi;
  let url: string;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    await buildConsole();
    browser = await launchBrowser();
  });
  beforeEach(async () => {
    test = await startTestApi({ config: { consoleFolder } });
    url = await test.api.listen({ host: '127.0.0.1', port: 0 });
    watched = await openPage(browser);
    page = watched.page;
    await page.clock.setFixedTime(test.clock.now());
    await signIn(page, url, fullKey);
  });
  afterEach(async () => {
    await watched.close();
    await test.close();
    expect(watched.faults).toEqual([]);
  });
  afterAll(() => browser.close());

  async function twelveHoursLater(): Promise<void> {
    test.clock.advance(twelveHoursMs + 1);
    await page.clock.setFixedTime(test.clock.now());
  }

  async function signInAgain(key: string): Promise<void> {
    await page.getByText('Your session ended. Sign in again to go on where you were.').waitFor();
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  const noteField = () => page.getByLabel('Note', { exact: true });

  async function typeNote(): Promise<void> {
    await page.goto(`${url}/#/documents/add`);
    await noteField().fill(note);
  }
  /** Also where the page has found by itself that the session is over, and hides the button. */
  const remember = () => page.getByRole('button', { name: 'Remember' }).dispatchEvent('click');
  const documents = async () => (await test.call('POST', '/v3/documents/list', {})).body.memories;

  it('asks to sign in, and goes on at the same screen with what was typed', async () => {
    await typeNote();
    await twelveHoursLater();
    await remember();
    await page.getByText('Your session ended.').waitFor();
    expect(await noteField().isVisible()).toBe(false);
    expect(await accessibilityViolations(page)).toEqual([]);
    await signInAgain(fullKey);
    await page.getByRole('heading', { level: 1, name: 'Add documents' }).waitFor();
    await expect.poll(() => page.title()).toBe('Add documents · memoryd');
    expect(await noteField().inputValue()).toBe(note);
    await page.getByText('Your session had ended, so this was not done.').waitFor();
    expect(await documents()).toHaveLength(0);
    await remember();
    await page.getByText('It was added.').waitFor();
    expect(await documents()).toHaveLength(1);
  });

  it('keeps a dialog that was open', async () => {
    const body = { containerTag: 'sm_project_default', memories: [{ content: 'Mira likes tea.' }] };
    await test.call('POST', '/v4/memories', body);
    await page.goto(`${url}/#/memories`);
    await page.getByRole('button', { name: 'Correct' }).click();
    const dialog = page.getByRole('dialog', { name: 'Correct a memory' });
    await dialog.getByRole('textbox').fill('Mira likes coffee.');
    await twelveHoursLater();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await signInAgain(fullKey);
    expect(await dialog.getByRole('textbox').inputValue()).toBe('Mira likes coffee.');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The memory is corrected.').waitFor();
    await page.getByText('Mira likes coffee.').first().waitFor();
  });

  it('goes on in every tab of the browser', async () => {
    await typeNote();
    await twelveHoursLater();
    await remember();
    await page.getByText('Your session ended.').waitFor();
    const other = await page.context().newPage();
    await other.clock.setFixedTime(test.clock.now());
    await signIn(other, url, fullKey);
    // The browser draws little of a tab that nobody looks at.
    await page.bringToFront();
    await page.getByRole('heading', { level: 1, name: 'Add documents' }).waitFor();
    expect(await noteField().inputValue()).toBe(note);
  });

  it('is not taken for the next one by an answer that comes late', async () => {
    await typeNote();
    await twelveHoursLater();
    const { promise: isSignedIn, resolve: release } = Promise.withResolvers<void>();
    let held = 0;
    await page.route('**/v3/documents', async (route) => {
      const response = await route.fetch();
      if (held++ === 0) await isSignedIn;
      await route.fulfill({ response });
    });
    await remember();
    await expect.poll(() => held).toBe(1);
    await page.goto(`${url}/#/documents`);
    await signInAgain(fullKey);
    await page.getByRole('heading', { level: 1, name: 'Documents' }).waitFor();
    const late = page.waitForResponse('**/v3/documents');
    release();
    expect((await late).status()).toBe(401);
    await typeNote();
    await remember();
    await page.getByText('It was added.').waitFor();
    expect(await documents()).toHaveLength(1);
  });

  it('shows nothing of it to somebody else', async () => {
    const other = await test.newKey({ containerTags: ['kilns'] });
    await typeNote();
    await twelveHoursLater();
    await remember();
    await signInAgain(other);
    await page.getByRole('heading', { level: 1, name: 'Add documents' }).waitFor();
    expect(await noteField().inputValue()).toBe('');
  });

  it('leaves nothing in the page when somebody ended it', async () => {
    await typeNote();
    await page.evaluate(`fetch('console/session').then((answer) => answer.json()).then(({ csrf }) =>
      fetch('console/sessions', { method: 'DELETE', headers: { 'x-csrf-token': csrf } }))`);
    await remember();
    await page.getByText('Your session ended.').waitFor();
    expect(await noteField().count()).toBe(0);
  });
});
