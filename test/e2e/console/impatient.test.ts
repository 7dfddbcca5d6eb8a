import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithBrowser } from '../../support/browser.ts';
import { signIn, useConsole, within } from '../../support/console-page.ts';
import { call } from '../../support/memory-of.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Runs in the page: two clicks before it has drawn anything between them. */
const clickTwice = `(() => {
  const button = document.querySelector('main .button.main');
  button.click();
  button.click();
})()`;

describeWithBrowser('the console in a browser, for somebody impatient,', () => {
  const stage = useConsole(() => ({ env: { MEMORYD_EMBEDDER_KIND: 'hashing' } }));
  let folder: string;
  let page: Page;
  beforeAll(async () => {
    folder = await temporaryFolder('memoryd-impatient-');
    await mkdir(join(folder, 'notes'));
    await writeFile(join(folder, 'notes/kiln.md'), '# Kiln\n\nThe kiln is fired on Mondays.\n');
    page = await stage.openSignedIn();
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const count = async () => (await call(stage.daemon, 'POST', '/v3/documents/count', {})).totalItems as number;

  it('does once what is clicked twice', async () => {
    await stage.show(page, 'documents/add', 'Add documents');
    await page.getByRole('textbox', { name: 'Note' }).fill('The kiln was cold.');
    await page.getByRole('button', { name: 'Remember' }).dblclick();
    await page.getByText('It was added.').waitFor();
    await page.getByRole('link', { name: 'Open document' }).waitFor();
    expect(await page.getByText('Fill this in.').count()).toBe(0);
    expect(await count()).toBe(1);

    await stage.show(page, 'sources/add/folder', 'Add Folder');
    await page.getByLabel(/^Folder/).fill(join(folder, 'notes'));
    await page.evaluate(clickTwice);
    await page.getByText('Up to date').waitFor();
    expect(await call(stage.daemon, 'POST', '/v3/connections/list', {})).toHaveLength(1);
  });

  it('keeps nothing open that belongs to the screen before, when it goes back', async () => {
    await stage.show(page, 'documents', 'Documents');
    await stage.show(page, 'keys', 'Keys');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('dialog').waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Documents' }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Add documents' }).click();
    await page.getByRole('heading', { level: 1, name: 'Add documents' }).waitFor();
  });

  it('says in a second tab what is gone since', async () => {
    const { id } = await call(stage.daemon, 'POST', '/v3/documents', { content: 'Gone soon.' });
    await stage.show(page, `documents/${id}`, /./);
    const other = await page.context().newPage();
    await other.goto(`${stage.daemon.url}/#/documents/${id}`);
    await other.getByRole('button', { name: 'Delete' }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('The document is deleted.').waitFor();
    await other.getByRole('button', { name: 'Delete' }).click();
    await other.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await other.getByRole('dialog').getByText('Document not found').waitFor();
    await other.close();
  });

  it('goes on when the network is back', async () => {
    await stage.show(page, '', 'Home');
    await page.context().setOffline(true);
    await page.getByRole('navigation').getByRole('link', { name: 'Documents', exact: true }).click();
    await page.getByText('The daemon does not answer.').waitFor();
    await page.context().setOffline(false);
    await page.getByText('The daemon does not answer.').waitFor({ state: 'detached' });
    await page.getByRole('list', { name: 'Documents' }).getByText('Kiln', { exact: true }).waitFor();
    await expect.poll(() => page.getByRole('alert').count(), within).toBe(0);
  });

  it('asks to sign in when the key is deleted under it', async () => {
    const body = { containerTag: 'sm_project_default', name: 'short' };
    const { id, key } = await call(stage.daemon, 'POST', '/v3/auth/scoped-key', body);
    const reader = await stage.open();
    await signIn(reader, stage.daemon.url, key);
    await reader.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await call(stage.daemon, 'DELETE', `/v3/auth/scoped-key/${id}`);
    await reader.getByLabel('API key').waitFor();
    await reader.context().close();
  });
});
