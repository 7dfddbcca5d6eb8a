import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { describeWithBrowser } from '../../support/browser.ts';
import { signIn, useConsole, within } from '../../support/console-page.ts';
import { call } from '../../support/memory-of.ts';

const damaged = join(import.meta.dirname, '../../../fixtures/documents/broken.pdf');

describeWithBrowser('what the console tells a newcomer', () => {
  const stage = useConsole(() => ({
    env: { MEMORYD_EMBEDDER_KIND: 'hashing', MEMORYD_ALLOW_PRIVATE_URLS: 'true' },
  }));
  let page: Page;
  beforeAll(async () => {
    page = await stage.openSignedIn();
  });

  it('which settings name the OAuth client that is missing, and offers no way that cannot be gone', async () => {
    await stage.show(page, 'sources/add/gmail', 'Add Gmail');
    await page.getByText('Set GOOGLE_CLIENT_ID and GOOGLE_CLIENT_SECRET').waitFor();
    expect(await page.getByRole('button', { name: 'Continue at the source' }).count()).toBe(0);
    await stage.show(page, 'sources/add/google-drive', 'Add Google Drive');
    expect(await page.getByLabel('Service account').isChecked()).toBe(true);
    await page.getByRole('button', { name: 'Connect', exact: true }).waitFor();
    await page.getByLabel('Log in with Google').check();
    await page.getByText('Set GOOGLE_CLIENT_ID and GOOGLE_CLIENT_SECRET').waitFor();
    expect(await page.getByRole('button', { name: /^Con(nect|tinue)/ }).count()).toBe(0);
  });

  it('when a source is looked at by the schedule of its own', async () => {
    const asked = page.waitForRequest((request) => request.url().includes('/v3/schedule-times'));
    await stage.show(page, 'sources/add/folder', 'Add Folder');
    expect(new URL((await asked).url()).searchParams.get('schedule')).toBe('1m');
  });

  it('what is wrong with a folder, in whole sentences', async () => {
    await stage.show(page, 'sources/add/folder', 'Add Folder');
    await page.getByLabel(/^Folder/).fill('/nowhere/at-all');
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    const problem = page.getByRole('alert');
    await problem.getByText('is not there').waitFor();
    expect(await problem.textContent()).not.toMatch(/\.:|`/);
  });

  it('the facts of a note as soon as it is read', async () => {
    await stage.show(page, 'documents/add', 'Add documents');
    const { status, ...note } = await written(page, 'I moved to Porto. I prefer tea to coffee.');
    await expect.poll(status, within).toBe('done');
    const { memoryEntries } = await call(stage.daemon, 'POST', '/v4/memories/list', { containerTag: note.namespace });
    expect(memoryEntries.map(({ memory }: { memory: string }) => memory)).toContain('The user prefers tea to coffee.');
  });

  it('why a page that was added is not there yet, and when it is tried again', async () => {
    const address = await closedAddress();
    await stage.show(page, 'documents/add', 'Add documents');
    const link = page.getByRole('region', { name: 'Add a link' });
    await link.getByLabel('Address of the page').fill(address);
    await link.getByRole('button', { name: 'Add link' }).click();
    await link.getByRole('link', { name: 'Open document' }).click();
    await page.getByRole('heading', { level: 1, name: address }).waitFor();
    await page.getByText('It is tried again').waitFor();
  });

  it('of a document that was sent and could not be read', async () => {
    await stage.show(page, 'documents/add', 'Add documents');
    const file = { name: 'offer.pdf', mimeType: 'application/pdf', buffer: await readFile(damaged) };
    await page.getByLabel('or choose files').setInputFiles(file);
    await page.getByText('1 of 1 file uploaded').waitFor();
    await stage.show(page, '', 'Home');
    await page.getByRole('link', { name: '1 document that was sent could not be read' }).click();
    const line = page.getByRole('list', { name: 'Documents' }).getByRole('listitem').filter({ hasText: 'offer.pdf' });
    await line.getByText(/^PDF · \d+ bytes/).waitFor();
  });

  it('what another address asks for', async () => {
    await stage.show(page, 'search?q=kiln', 'Search');
    const box = page.getByRole('searchbox', { name: 'Search memory' });
    expect(await box.inputValue()).toBe('kiln');
    await stage.show(page, 'search?q=glaze', 'Search');
    await expect.poll(() => box.inputValue(), within).toBe('glaze');
  });

  it('that a key which only reads connects nothing', async () => {
    const body = { containerTag: 'notes', permission: 'read', name: 'reader' };
    const { key } = await call<{ key: string }>(stage.daemon, 'POST', '/v3/auth/scoped-key', body);
    const reader = await stage.open();
    await signIn(reader, stage.daemon.url, key);
    await stage.show(reader, 'sources/add/folder', /^Add/);
    await reader.getByText('Your key may not connect sources.').waitFor();
    expect(await reader.getByRole('button', { name: 'Connect', exact: true }).count()).toBe(0);
  });

  /** Writes a note by hand; answers where it went and how to ask for its state. */
  async function written(on: Page, text: string) {
    const note = on.getByRole('region', { name: 'Write a note' });
    await note.getByRole('textbox', { name: 'Note' }).fill(text);
    await note.getByRole('button', { name: 'Remember' }).click();
    const link = note.getByRole('link', { name: 'Open document' });
    const id = (await link.getAttribute('href'))!.split('/').at(-1)!;
    const read = () => call(stage.daemon, 'GET', `/v3/documents/${id}`);
    return {
      namespace: (await read()).containerTags[0] as string,
      status: async () => (await read()).status as string,
    };
  }
});

/** Where nobody listens any more. */
async function closedAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}/page`;
}
