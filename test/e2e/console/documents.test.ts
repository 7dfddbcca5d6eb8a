import { expect, it } from 'vitest';
import { describeWithBrowser } from '../../support/browser.ts';
import { useConsole, within } from '../../support/console-page.ts';
import { call } from '../../support/memory-of.ts';

describeWithBrowser('one document in the console in a browser', () => {
  const stage = useConsole(() => ({ env: { MEMORYD_EMBEDDER_KIND: 'hashing' } }));

  it('is read again when somebody asks for it, though nothing was wrong with it', async () => {
    const body = { content: '# Kiln\n\nThe kiln is fired on Mondays.', metadata: { title: 'Kiln' } };
    const { id } = await call<{ id: string }>(stage.daemon, 'POST', '/v3/documents', body);
    const status = async () => (await call(stage.daemon, 'GET', `/v3/documents/${id}`)).status as string;
    await expect.poll(status, within).toBe('done');
    const passages = async () => {
      const { chunks } = await call(stage.daemon, 'GET', `/v3/documents/${id}/chunks`);
      return chunks.map((chunk: { id: string }) => chunk.id) as string[];
    };
    const before = await passages();
    const page = await stage.openSignedIn();
    await stage.show(page, `documents/${id}`, 'Kiln');
    await page.getByRole('button', { name: 'Read again' }).click();
    await page.getByText('The document is read again').waitFor();
    await expect.poll(passages, within).not.toContain(before[0]);
    expect(await passages()).toHaveLength(before.length);
    await page.getByText('done', { exact: true }).waitFor();
    await page.getByRole('tabpanel').getByText('fired on Mondays').waitFor();
    await page.context().close();
  });

  it('is listed among those of its type', async () => {
    for (const [content, title] of [
      ['A note about glazes.', 'Glazes'],
      ['<!doctype html><html><body><h1>Clay</h1><p>Clay is wedged.</p></body></html>', 'Clay'],
    ]) {
      await call(stage.daemon, 'POST', '/v3/documents', { content, containerTag: 'typed', metadata: { title } });
    }
    const listed = async () => {
      const { memories } = await call(stage.daemon, 'POST', '/v3/documents/list', { containerTag: 'typed' });
      return memories.map(({ title, type }: { title: string; type: string }) => `${title} ${type}`).sort() as string[];
    };
    await expect.poll(listed, within).toEqual(['Clay webpage', 'Glazes text']);
    const page = await stage.openSignedIn();
    await stage.show(page, 'documents?ns=typed', 'Documents');
    await page.getByRole('link', { name: 'Glazes' }).waitFor();
    await page.getByLabel('Type').selectOption('Web page');
    await page.getByRole('link', { name: 'Glazes' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Clay' }).waitFor();
    expect(page.url()).toContain('type=webpage');
    await stage.show(page, 'documents?ns=typed&type=a_scroll', 'Documents');
    await page.getByText('No document matches these filters').waitFor();
    expect(await page.getByLabel('Type').locator('option:checked').textContent()).toBe('a scroll');
    await page.context().close();
  });

  it('asks once for a page that cannot be read, until somebody tries again', async () => {
    const documents = Array.from({ length: 250 }, (_, index) => ({ content: `Shelf ${index} holds glazes.` }));
    await call(stage.daemon, 'POST', '/v3/documents/batch', { documents, containerTag: 'long' });
    // Which documents a page begins with depends on when they were changed last.
    const body = { containerTag: 'long', status: 'done' };
    const done = async () => (await call(stage.daemon, 'POST', '/v3/documents/count', body)).totalItems as number;
    await expect.poll(done, within).toBe(250);
    const page = await stage.openSignedIn();
    let refused = 0;
    await page.route('**/v3/documents/list', async (route) => {
      if (!/"cursor":"[^"]/.test(route.request().postData() ?? '')) return route.continue();
      refused += 1;
      await route.fulfill({ status: 500, json: { error: 'internal', message: 'Not now.' } });
    });
    await stage.show(page, 'documents?ns=long', 'Documents');
    const reached = async () => {
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      const rows = page.getByRole('list', { name: 'Documents' }).getByRole('listitem');
      return Number(await rows.last().getAttribute('aria-posinset'));
    };
    const retry = page.getByRole('button', { name: 'Try again' });
    await expect.poll(async () => (await reached()) > 0 && (await retry.count()), within).toBe(1);
    for (let frame = 0; frame < 20; frame++) await page.evaluate('new Promise(requestAnimationFrame)');
    expect(refused).toBe(1);
    await page.unroute('**/v3/documents/list');
    await retry.click();
    await expect.poll(reached, within).toBe(250);
    await page.context().close();
  });

  it('has nothing to be read again where it only holds a memory', async () => {
    const memories = [{ content: 'Mira prefers tea.' }];
    await call(stage.daemon, 'POST', '/v4/memories', { containerTag: 'told', memories });
    const { memories: documents } = await call(stage.daemon, 'POST', '/v3/documents/list', { containerTag: 'told' });
    const page = await stage.openSignedIn();
    await stage.show(page, `documents/${documents[0].id}`, /./);
    await page.getByRole('button', { name: 'Delete' }).waitFor();
    expect(await page.getByRole('button', { name: 'Read again' }).count()).toBe(0);
    await page.context().close();
  });
});
