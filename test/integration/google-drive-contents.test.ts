import { afterEach, describe, expect, it } from 'vitest';
import { docExports, refusal } from '../../fixtures/servers/google-drive/drive-answers.ts';
import {
  docType,
  folderType,
  sheetType,
  shortcutType,
  slidesType,
} from '../../fixtures/servers/google-drive/drive-source.ts';
import { makeZip } from '../../fixtures/make-documents.ts';
import { createDriveFixture } from './google-drive-fixture.ts';

const pptx = 'application/vnd.openxmlformats-officedocument.presentationml.presentation';
const xlsx = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const megabyte = 1024 * 1024;
const shape = (role: string, text: string) =>
  `<p:sp><p:nvPr><p:ph type="${role}"/></p:nvPr><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sp>`;
const relations = (...targets: string[]) =>
  `<Relationships>${targets.map((target, index) => `<Relationship Id="r${index + 1}" Target="${target}"/>`).join('')}</Relationships>`;

/** A workbook of sheets of one column. */
function workbookOf(sheets: Record<string, string[]>): Uint8Array {
  const names = Object.keys(sheets);
  const listed = names.map((name, index) => `<sheet name="${name}" r:id="r${index + 1}"/>`).join('');
  const rowOf = (text: string) => `<row><c t="inlineStr"><is><t>${text}</t></is></c></row>`;
  return makeZip(
    [
      ['xl/workbook.xml', `<workbook><sheets>${listed}</sheets></workbook>`],
      ['xl/_rels/workbook.xml.rels', relations(...names.map((_, index) => `worksheets/${index}.xml`))],
      ...Object.values(sheets).map((rows, index): [string, string] => [
        `xl/worksheets/${index}.xml`,
        `<worksheet><sheetData>${rows.map(rowOf).join('')}</sheetData></worksheet>`,
      ]),
    ],
    true,
  );
}

describe('contents of Google Drive', () => {
  let fixture: Awaited<ReturnType<typeof createDriveFixture>>;
  afterEach(() => fixture.close());

  async function open(options: Parameters<typeof createDriveFixture>[0] = {}) {
    fixture = await createDriveFixture(options);
    const { mirror } = fixture;
    const item = async (id: string) => (await mirror.items()).find((one) => one['ext_id'] === id);
    return { ...fixture, item };
  }

  it('reads documents as Markdown', async () => {
    const { source, mirror } = await open();
    const text = '# Plans\n\nWe sail in **May**.';
    const { id } = source.add({ name: 'Plans', mimeType: docType, exports: docExports(text) });
    await mirror.sync();
    expect((await mirror.texts()).get(id)).toBe(text);
    expect(await mirror.rows()).toMatchObject([{ title: 'Plans', type: 'google_doc' }]);
  });

  it('reads every sheet of a spreadsheet', async () => {
    const { source, mirror } = await open();
    const archive = workbookOf({ Spring: ['fruit', 'cherry'], Autumn: ['fruit', 'quince'] });
    const { id } = source.add({ name: 'Fruit', mimeType: sheetType, exports: { [xlsx]: archive } });
    await mirror.sync();
    expect((await mirror.texts()).get(id)).toBe(
      '## Spring\n\n| fruit |\n| --- |\n| cherry |\n\n## Autumn\n\n| fruit |\n| --- |\n| quince |',
    );
    expect(await mirror.rows()).toMatchObject([{ title: 'Fruit', type: 'google_sheet' }]);
  });

  it('reads a spreadsheet of 100,000 rows', async () => {
    const { source, mirror } = await open();
    const archive = workbookOf({ Tides: Array.from({ length: 100_000 }, (_, row) => `tide ${row}`) });
    const { id } = source.add({ name: 'Tides', mimeType: sheetType, exports: { [xlsx]: archive } });
    await mirror.sync();
    expect((await mirror.texts()).get(id)).toMatch(/\| tide 0 \|[^]*\| tide 99999 \|$/);
  });

  it('reads slides in their order with the speaker’s notes', async () => {
    const { source, mirror } = await open();
    const archive = makeZip([
      ['ppt/presentation.xml', '<p:sldIdLst><p:sldId r:id="r1"/><p:sldId r:id="r2"/></p:sldIdLst>'],
      ['ppt/_rels/presentation.xml.rels', relations('slides/slide2.xml', 'slides/slide1.xml')],
      ['ppt/slides/slide1.xml', shape('body', 'Second &amp; last')],
      ['ppt/slides/slide2.xml', shape('title', 'Welcome')],
      ['ppt/slides/_rels/slide2.xml.rels', relations('../notesSlides/notesSlide1.xml')],
      ['ppt/notesSlides/notesSlide1.xml', shape('body', 'Breathe first') + shape('sldNum', '1')],
    ]);
    const { id } = source.add({ name: 'Talk', mimeType: slidesType, exports: { [pptx]: archive } });
    await mirror.sync();
    expect((await mirror.texts()).get(id)).toBe('## Welcome\n\nNotes: Breathe first\n\n## Slide 2\n\nSecond & last');
  });

  it('reads documents above the limit of exports at their own addresses, and smaller formats of larger ones', async () => {
    const { source, mirror, item, takeRequests } = await open();
    const words = (bytes: number) => 'many words. '.repeat(bytes / 12);
    const doc = (name: string, exports: Record<string, Uint8Array>) =>
      source.add({ name, mimeType: docType, exports }).id;
    const large = doc('large', docExports(words(11 * megabyte)));
    const pictures = doc('pictures', { ...docExports('few words'), 'text/markdown': Buffer.alloc(30 * megabyte, 'x') });
    const huge = doc('huge', docExports(words(30 * megabyte)));
    await mirror.sync();
    const texts = await mirror.texts();
    expect(texts.get(large)).toHaveLength(words(11 * megabyte).length);
    expect(texts.get(pictures)).toBe('few words');
    expect(texts.has(huge)).toBe(false);
    expect(await item(huge)).toMatchObject({ state: 'skipped', error_class: 'too_large' });
    takeRequests();
    await mirror.sync();
    expect(takeRequests()).toEqual(['GET /changes']);
  });

  it('skips with a reason what may not be downloaded, and what has no text', async () => {
    const { source, mirror, item } = await open();
    const blocked = source.add({ name: 'blocked', bytes: Buffer.from('secret'), canDownload: false }).id;
    const form = source.add({ name: 'form', mimeType: 'application/vnd.google-apps.form' }).id;
    const readable = source.add({ name: 'readable', bytes: Buffer.from('readable') }).id;
    await mirror.sync();
    expect([...(await mirror.texts()).keys()]).toEqual([readable]);
    expect(await item(blocked)).toMatchObject({ state: 'skipped', error_class: 'no_access' });
    expect(await item(form)).toMatchObject({ state: 'skipped', error_class: 'unsupported_type' });
  });

  it('is not stopped by one file that is forbidden', async () => {
    const { source, mirror, fail } = await open();
    const ids = ['a', 'b', 'c'].map((name) => source.add({ name, bytes: Buffer.from(`text ${name}`) }).id);
    fail(({ path, query }) =>
      query['alt'] === 'media' && path.endsWith(ids[1]!) ? refusal(403, 'insufficientFilePermissions') : undefined,
    );
    const run = await mirror.sync();
    expect(run).toMatchObject({ status: 'completed', itemsFailed: 1 });
    expect((await mirror.texts()).size).toBe(2);
  });

  it('reads what a shortcut leads to once, with the key of the target, and goes in no circle', async () => {
    const { source, mirror } = await open();
    const target = source.add({ name: 'target', bytes: Buffer.from('mirrored itself') }).id;
    const linked = source.add({
      name: 'linked',
      bytes: Buffer.from('only by its link'),
      byLink: true,
      resourceKey: '0-key',
    });
    const folder = source.add({ name: 'folder', mimeType: folderType }).id;
    const shortcut = (name: string, targetId: string, targetResourceKey?: string) =>
      source.add({
        name,
        mimeType: shortcutType,
        shortcut: { targetId, ...(targetResourceKey && { targetResourceKey }) },
      }).id;
    shortcut('to the target', target);
    shortcut('to its own folder', folder);
    const first = shortcut('to another', 'none');
    const second = shortcut('in a circle', first);
    source.change(first, { shortcut: { targetId: second } });
    const toLinked = shortcut('to the link', linked.id, '0-key');
    await mirror.sync();
    expect(Object.fromEntries(await mirror.texts())).toEqual({
      [target]: 'mirrored itself',
      [toLinked]: 'only by its link',
    });
  });

  it('mirrors comments with their answers where that is chosen, also new ones', async () => {
    const { source, mirror } = await open({ config: { comments: true } });
    const comments = [{ author: 'Grace', content: 'Is that so?', replies: ['It is.'] }];
    const { id } = source.add({ name: 'doc', mimeType: docType, exports: docExports('The claim.'), comments });
    await mirror.sync();
    const text = (await mirror.texts()).get(id)!;
    for (const words of ['The claim.', 'Grace', 'Is that so?', 'It is.']) expect(text).toContain(words);
    source.change(id, { comments: [...comments, { author: 'Alan', content: 'Agreed.', replies: [] }] });
    await mirror.sync();
    expect((await mirror.texts()).get(id)).toContain('Agreed.');
  });

  it('takes names of 300 emoji, of quotes and of nothing', async () => {
    const { source, mirror } = await open();
    for (const name of ['🦜'.repeat(300), `it's "quoted" \\ here`, '']) {
      source.add({ name, bytes: Buffer.from(`named ${name.length}`) });
    }
    const run = await mirror.sync();
    expect(run).toMatchObject({ status: 'completed', itemsAdded: 3 });
  });
});
