import { expect, it } from 'vitest';
import { describeWithBrowser } from '../../support/browser.ts';
import { useConsole, within } from '../../support/console-page.ts';
import { call } from '../../support/memory-of.ts';

const count = 50;

/** Runs in the page: drops files on it as somebody's hand does. */
const drop = `(() => {
  const files = new DataTransfer();
  for (let index = 1; index <= ${count}; index++) {
    files.items.add(new File(['Note number ' + index + ' of the box.'], 'note-' + index + '.md', { type: 'text/markdown' }));
  }
  const target = document.querySelector('.drop');
  for (const type of ['dragover', 'drop']) {
    target.dispatchEvent(new DragEvent(type, { dataTransfer: files, bubbles: true, cancelable: true }));
  }
})()`;

describeWithBrowser('uploads in the console in a browser', () => {
  const stage = useConsole(() => ({ env: { MEMORYD_EMBEDDER_KIND: 'hashing' } }));

  it('takes fifty files that are dropped at once, each of them once, and shows how far it is', async () => {
    const page = await stage.openSignedIn();
    await stage.show(page, 'documents/add', 'Add documents');
    const sent: string[] = [];
    page.on('request', (request) => request.url().endsWith('/v3/documents/file') && sent.push(request.url()));
    // The second answer waits until somebody has seen that there is more to come.
    let goOn = () => {};
    const hasLooked = new Promise<void>((resolve) => (goOn = resolve));
    await page.route('**/v3/documents/file', async (route) => {
      if (sent.length > 1) await hasLooked;
      await route.continue();
    });
    await page.evaluate(drop);
    const progress = page.getByRole('progressbar', { name: 'Uploads' });
    await progress.waitFor();
    await page.getByText(`1 of ${count} files uploaded`).waitFor();
    expect(await progress.getAttribute('max')).toBe(String(count));
    goOn();
    await page.getByText(`${count} of ${count} files uploaded`).waitFor();
    await progress.waitFor({ state: 'detached' });
    expect(await page.getByText('uploaded', { exact: true }).count()).toBe(count);
    expect(sent).toHaveLength(count);

    const stored = async () => {
      const { memories } = await call(stage.daemon, 'POST', '/v3/documents/list', { limit: 200, includeContent: true });
      return memories.map(({ content }: { content: string | null }) => content?.trim() ?? '').toSorted();
    };
    const expected = Array.from({ length: count }, (_, index) => `Note number ${index + 1} of the box.`).toSorted();
    await expect.poll(stored, within).toEqual(expected);
    await page.context().close();
  });
});
