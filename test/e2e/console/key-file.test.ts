import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeWithBrowser } from '../../support/browser.ts';
import { useConsole, within } from '../../support/console-page.ts';

/** In the page: what a browser tells while somebody drags a file, or words, and lets it go. */
const dragged = `([kind, isFile]) => {
  const data = new DataTransfer();
  if (isFile) data.items.add(new File(['{"type":"service_account"}'], 'key.json', { type: 'application/json' }));
  else data.setData('text/plain', 'some words');
  const target = document.querySelector('.drop');
  const event = new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data });
  target.querySelector('p').dispatchEvent(event);
  return event.defaultPrevented;
}`;
const drag = (page: Page, kind: 'dragover' | 'drop', { isFile = true } = {}) =>
  page.evaluate(`(${dragged})(${JSON.stringify([kind, isFile])})`);

describeWithBrowser('a key file in the console in a browser', () => {
  const stage = useConsole();

  it('is dropped anywhere on its field, which shows that it takes it', async () => {
    const page = await stage.openSignedIn();
    await stage.show(page, 'sources/add/google-drive', 'Add Google Drive');
    await page.getByLabel('Service account').check();
    await page.getByText('Drop the file anywhere here').waitFor();
    const place = page.locator('.drop');
    expect(await drag(page, 'dragover', { isFile: false })).toBe(false);
    expect(await place.getAttribute('class')).not.toContain('over');
    expect(await drag(page, 'dragover')).toBe(true);
    await expect.poll(() => place.getAttribute('class'), within).toContain('over');
    expect(await drag(page, 'drop')).toBe(true);
    const field = page.locator('.drop textarea');
    await expect.poll(() => field.inputValue(), within).toBe('{"type":"service_account"}');
    await expect.poll(() => place.getAttribute('class'), within).not.toContain('over');
    await page.context().close();
  });
});
