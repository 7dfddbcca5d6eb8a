import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accessibilityViolations, describeWithBrowser } from '../../support/browser.ts';
import { useConsole, within } from '../../support/console-page.ts';
import { call } from '../../support/memory-of.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const samples = join(import.meta.dirname, '../../../fixtures/documents');

describeWithBrowser('sources and memories that need a hand, in the console in a browser', () => {
  const stage = useConsole();
  let parent: string;
  let page: Page;
  beforeAll(async () => {
    parent = await temporaryFolder('memoryd-console-');
    page = await stage.openSignedIn();
  });
  afterAll(() => rm(parent, { recursive: true, force: true }));

  /** A folder that is mirrored, and looked at only when somebody says so. */
  const mirror = async (name: string, files: Record<string, string>) => {
    const path = join(parent, name);
    await mkdir(path);
    for (const [file, text] of Object.entries(files)) await writeFile(join(path, file), text);
    return path;
  };
  const connect = async (path: string) => {
    const metadata = { path, watch: false };
    const { id } = await call(stage.daemon, 'POST', '/v3/connections/folder', { metadata, containerTag: 'notes' });
    await stage.show(page, `sources/${id}`, path);
    await page.getByText('Up to date').waitFor();
    return id as string;
  };
  const titles = async (connectionId?: string): Promise<string[]> => {
    const body = { containerTag: 'notes', ...(connectionId && { connectionId }) };
    const { memories } = await call(stage.daemon, 'POST', '/v3/documents/list', body);
    return memories.map(({ title }: { title: string }) => title).toSorted();
  };

  it('a file that could not be read is tried again when it was mended', async () => {
    const path = await mirror('broken', { 'good.md': '# Good\n\nThis one is right.\n' });
    await copyFile(join(samples, 'broken.pdf'), join(path, 'offer.pdf'));
    const id = await connect(path);
    const causes = page.getByRole('region', { name: 'What failed' });
    await causes.getByText('Could not be read · 1').waitFor();
    await causes.getByText('The PDF file is damaged').waitFor();
    const { causes: known } = await call(stage.daemon, 'GET', `/v3/connections/${id}/failures`);
    await causes.getByText(known[0].remedy).waitFor();
    await causes.getByRole('button', { name: 'Show them: Could not be read' }).click();
    const items = page.getByRole('list', { name: 'Items' });
    await items.getByText('good.md').waitFor({ state: 'detached' });
    await items.getByText('offer.pdf').waitFor();
    await copyFile(join(samples, 'invoice.pdf'), join(path, 'offer.pdf'));
    await causes.getByRole('button', { name: 'Try again: Could not be read' }).click();
    await page.getByText('Everything that was found could be read.').waitFor();
    await page.getByLabel('State').selectOption('');
    const line = items.getByRole('listitem').filter({ hasText: 'offer.pdf' });
    await line.getByText('mirrored').waitFor();
  });

  it('a dry run says what a sync would do, and does nothing', async () => {
    const path = await mirror('dry', { 'one.md': 'The first note.', 'two.md': 'The second note.' });
    const id = await connect(path);
    await expect.poll(() => titles(id), within).toEqual(['one.md', 'two.md']);
    await writeFile(join(path, 'three.md'), 'The third note.');
    await writeFile(join(path, 'two.md'), 'The second note, rewritten.');
    await page.getByRole('button', { name: 'Dry run' }).click();
    const runs = page.getByRole('region', { name: 'Runs' }).getByRole('listitem');
    const dry = runs.filter({ hasText: 'dry run' });
    await dry.getByText('would be: 1 item new · 1 updated').waitFor();
    expect(await titles(id)).toEqual(['one.md', 'two.md']);
    const items = page.getByRole('list', { name: 'Items' });
    expect(await items.getByText('three.md').count()).toBe(0);
    await page.getByRole('button', { name: 'Sync now' }).click();
    await items.getByText('three.md').waitFor();
    await expect.poll(() => titles(id), within).toEqual(['one.md', 'three.md', 'two.md']);
  });

  it('disconnecting says what goes, and keeps documents where that is chosen', async () => {
    const before = await titles();
    const path = await mirror('kept', { 'kept.md': 'This one is kept.' });
    const id = await connect(path);
    await expect.poll(() => titles(id), within).toEqual(['kept.md']);
    await page.reload();
    await page.getByRole('button', { name: 'Disconnect' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('1 document came from it').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await dialog.getByLabel('Keep it, as it is now').check();
    await dialog.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByText(`${path} is disconnected.`).waitFor();
    await page.getByRole('heading', { level: 1, name: 'Sources' }).waitFor();
    // It is said on the screen that follows, and on no other.
    await page.getByRole('link', { name: 'Documents', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Documents' }).waitFor();
    expect(await page.getByText(`${path} is disconnected.`).count()).toBe(0);
    await page.getByRole('link', { name: 'Sources', exact: true }).click();
    const sources = page.getByRole('region', { name: 'Connected' });
    await sources.getByText(path).waitFor({ state: 'detached' });
    await expect.poll(() => titles(), within).toEqual([...before, 'kept.md'].toSorted());
  });

  it('disconnecting deletes documents where that is chosen', async () => {
    const before = await titles();
    const path = await mirror('gone', { 'gone.md': 'This one goes.', 'too.md': 'This one goes, too.' });
    const id = await connect(path);
    await expect.poll(() => titles(id), within).toEqual(['gone.md', 'too.md']);
    await page.reload();
    await page.getByRole('button', { name: 'Disconnect' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('2 documents came from it').waitFor();
    // What Escape closes has done nothing.
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await titles(id)).toEqual(['gone.md', 'too.md']);
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await dialog.getByLabel('Delete them from memory as well').check();
    await dialog.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sources' }).waitFor();
    await expect.poll(() => titles(), within).toEqual(before);
  });

  it('forgets by topic what was seen before, and the profile follows', async () => {
    const containerTag = 'user_mira';
    const contents = [
      'Mira drinks green tea in the morning.',
      'Mira lives in Porto.',
      'Mira drinks black tea at work.',
    ];
    const memories = contents.map((content) => ({ content, isStatic: true }));
    await call(stage.daemon, 'POST', '/v4/memories', { containerTag, memories });
    const known = async (): Promise<string[]> => {
      const { memoryEntries } = await call(stage.daemon, 'POST', '/v4/memories/list', { containerTag });
      return memoryEntries.map(({ memory }: { memory: string }) => memory).toSorted();
    };
    await stage.show(page, `memories?ns=${containerTag}`, 'Memories');
    const profile = page.getByRole('region', { name: 'Profile' });
    await profile.getByText('green tea').waitFor();
    await page.getByRole('button', { name: 'Forget by topic' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Topic').fill('Mira drinks tea');
    await dialog.getByRole('button', { name: 'Show what would be forgotten' }).click();
    await dialog.getByText('3 memories would be forgotten').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    expect((await dialog.getByRole('listitem').allTextContents()).toSorted()).toEqual(contents.toSorted());
    expect(await known()).toHaveLength(3);
    // Another topic, another look.
    await dialog.getByLabel('Topic').fill('Mira drinks teas');
    expect(await dialog.getByRole('button', { name: 'Forget these' }).count()).toBe(0);
    await dialog.getByLabel('Topic').fill('Mira drinks tea');
    await dialog.getByRole('button', { name: 'Show what would be forgotten' }).click();
    // What only shares a word with the topic stays.
    await dialog.getByLabel('Mira lives in Porto.').uncheck();
    await dialog.getByText('2 memories would be forgotten').waitFor();
    await dialog.getByRole('button', { name: 'Forget these' }).click();
    await page.getByText('2 memories are forgotten.').waitFor();
    await profile.getByText('green tea').waitFor({ state: 'detached' });
    await profile.getByText('Mira lives in Porto.').waitFor();
    expect(await known()).toEqual(['Mira lives in Porto.']);
  });

  it('shows what was known on a day, chosen along a line by the keyboard', async () => {
    const containerTag = 'user_ada';
    await call(stage.daemon, 'POST', '/v4/memories', { containerTag, memories: [{ content: 'Ada keeps bees.' }] });
    const later = await stage.openSignedIn();
    // Ten days later by the clock of the browser, so that there are days to choose from.
    const [now, days] = [new Date(), 10];
    await later.clock.setFixedTime(now.getTime() + days * 86_400_000);
    await stage.show(later, `memories?ns=${containerTag}`, 'Memories');
    const line = later.getByRole('slider', { name: 'From the first day until now' });
    expect(await line.getAttribute('aria-valuetext')).toBe('now');
    await line.press('ArrowLeft');
    await line.press('ArrowLeft');
    const chosen = async () => new URL(later.url().replace('#/', '')).searchParams.get('asOf');
    const daysFromNow = async () => Math.round((Date.parse((await chosen()) ?? '') - now.getTime()) / 86_400_000);
    await expect.poll(daysFromNow, within).toBeOneOf([days - 3, days - 2]);
    expect(await chosen()).toMatch(/^\d{4}-\d\d-\d\d$/);
    await later.getByRole('list', { name: 'What is remembered' }).getByText('Ada keeps bees.').first().waitFor();
    await line.press('End');
    await expect.poll(chosen, within).toBeFalsy();
    await later.context().close();
  });
});
