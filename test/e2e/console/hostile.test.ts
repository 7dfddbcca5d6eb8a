import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithBrowser } from '../../support/browser.ts';
import { useConsole, within } from '../../support/console-page.ts';
import { call } from '../../support/memory-of.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Texts that run in a page that takes them for its own; without a slash, so that a folder can have the name. */
const markup = '<img src=x onerror=alert(1)><svg onload=alert(2)>';
const link = 'javascript:alert(3)';
const backwards = 'invoice\u202Efdp.exe';
const long = `${markup} ${'x'.repeat(1_000_000)}`;

describeWithBrowser('what others wrote, in the console in a browser', () => {
  const stage = useConsole();
  let parent: string;
  let page: Page;
  const ids: Record<'folder' | 'push' | 'document' | 'long', string> = { folder: '', push: '', document: '', long: '' };

  beforeAll(async () => {
    parent = await temporaryFolder('memoryd-hostile-');
  });
  afterAll(() => rm(parent, { recursive: true, force: true }));

  async function runOf(id: string) {
    return (await call(stage.daemon, 'GET', `/v3/connections/${id}/progress`)).run;
  }

  /** What would be there if the page had taken a text for markup. */
  async function expectOnlyText(where: string) {
    expect(
      await page.locator('#console img, #console script, #console iframe, #console svg[onload]').count(),
      where,
    ).toBe(0);
    expect(await page.locator('a:not([href^="#"]):not([href^="http"])').count(), where).toBe(0);
  }

  it('is taken by the daemon as it is', { timeout: 240_000 }, async () => {
    const { daemon } = stage;
    const path = join(parent, `${markup} ${backwards}`);
    await mkdir(path);
    await writeFile(join(path, `${markup}.md`), `signing ${markup}`);
    const folder = { metadata: { path, watch: false }, containerTag: 'notes' };
    ids.folder = (await call(daemon, 'POST', '/v3/connections/folder', folder)).id;
    await expect.poll(() => runOf(ids.folder), within).toMatchObject({ status: 'completed' });
    // From here on the message of the connector names the folder that it does not find.
    await rm(path, { recursive: true });
    await call(daemon, 'POST', `/v3/connections/${ids.folder}/sync`, {});
    await expect.poll(() => runOf(ids.folder), within).toMatchObject({ status: 'failed' });

    ids.push = (await call(daemon, 'POST', '/v3/connections/push', { metadata: {}, containerTag: 'notes' })).id;
    const item = {
      id: 'evil',
      title: `${markup} ${backwards}`,
      url: link,
      path: markup,
      markdown: `signing ${markup}`,
    };
    await call(daemon, 'POST', `/v3/connections/${ids.push}/push`, { upserts: [item] });
    const metadata = { note: markup, address: link };
    const note = { content: `signing ${link} ${markup}`, containerTag: 'notes', metadata };
    ids.document = (await call(daemon, 'POST', '/v3/documents', note)).id;
    ids.long = (await call(daemon, 'POST', '/v3/documents', { content: long, containerTag: 'notes' })).id;
    const memories = [{ content: `${markup} signing ${backwards} [x](${link})`, isStatic: true }];
    await call(daemon, 'POST', '/v4/memories', { containerTag: 'notes', memories });
    await call(daemon, 'POST', '/v3/auth/scoped-key', { containerTag: 'notes', name: markup });
    const settled = async () => (await call(daemon, 'POST', '/v3/documents/list', { limit: 100 })).memories;
    await expect
      .poll(async () => (await settled()).every(({ status }: { status: string }) => status === 'done'), within)
      .toBe(true);
    page = await stage.openSignedIn();
  });

  it('is only text on each screen', { timeout: 240_000 }, async () => {
    for (const hash of [
      '',
      'sources',
      'sources?all=yes',
      'sources/add/folder',
      `sources/${ids.folder}`,
      `sources/${ids.push}`,
      'search?q=signing',
      'documents',
      'documents/add',
      `documents/${ids.document}`,
      `documents/${ids.long}?q=img`,
      'memories?ns=notes',
      'namespaces',
      'keys',
      'hooks',
      'system',
      'connect',
    ]) {
      await stage.show(page, hash, /./);
      await expectOnlyText(hash);
    }
  });

  it('is shown where it belongs: the message of a connector, metadata, a key, a memory', async () => {
    await stage.show(page, `sources/${ids.folder}`, /img src/);
    await page.getByRole('region', { name: 'Runs' }).getByText('<img src=x').first().waitFor();
    await stage.show(page, `documents/${ids.document}`, /./);
    for (const tab of ['Passages', 'Memories', 'Details']) {
      await page.getByRole('tab', { name: tab }).click();
      await expectOnlyText(tab);
    }
    await page.getByText(link).first().waitFor();
    await stage.show(page, 'keys', 'Keys');
    await page.getByText(markup).first().waitFor();
    await stage.show(page, 'memories?ns=notes', 'Memories');
    await page.getByRole('button', { name: /^Forget: <img/ }).click();
    await page.getByRole('dialog').getByText('signing').first().waitFor();
    await expectOnlyText('the dialog that forgets');
  });

  it('of another site neither frames the console nor calls it with the session of its reader', async () => {
    const site: Server = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<!doctype html><title>elsewhere</title><iframe src="${stage.daemon.url}/"></iframe>`);
    }).listen(0, '127.0.0.1');
    await once(site, 'listening');
    try {
      const other = await page.context().newPage();
      await other.goto(`http://localhost:${(site.address() as AddressInfo).port}/`);
      await expect.poll(() => other.frames().length, within).toBe(2);
      const framed = other.frames()[1]!;
      await expect.poll(() => framed.url(), within).toMatch(/^chrome-error:/);
      const before = await call(stage.daemon, 'POST', '/v3/documents/list', {});
      const answers = await other.evaluate<string[]>(`Promise.all([
        fetch('${stage.daemon.url}/v3/connections/list', { method: 'POST', credentials: 'include', body: '{}' }),
        fetch('${stage.daemon.url}/v3/documents', {
          method: 'POST', mode: 'no-cors', credentials: 'include',
          headers: { 'content-type': 'text/plain' }, body: '{"content":"written by another site"}',
        }),
        fetch('${stage.daemon.url}/v3/status', { credentials: 'include' }),
      ].map((answer) => answer.then(async (read) => read.type + await read.text(), () => 'refused')))`);
      expect(answers).toEqual(['refused', 'opaque', 'refused']);
      const after = await call(stage.daemon, 'POST', '/v3/documents/list', {});
      expect(after.pagination.totalItems).toBe(before.pagination.totalItems);
      await other.close();
    } finally {
      site.close();
    }
  });
});
