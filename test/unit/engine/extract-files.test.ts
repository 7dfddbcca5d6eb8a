import { pageText, type TextItem } from '../../../src/engine/extract/pdf.ts';
import { describe, expect, it } from 'vitest';
import { makeDocx, makePdf, makeZip } from '../../../fixtures/make-documents.ts';
import { convert } from '../../../src/engine/extract/convert.ts';

const read = (format: 'pdf' | 'docx', bytes: Uint8Array, maxTextBytes = 1_000_000) =>
  convert({ format, bytes, maxTextBytes, depth: 0 });
const failure = (reason: string, code = 'extract_failed') => ({
  code,
  message: expect.stringContaining(reason) as string,
  shouldRetry: false,
});

describe('Word documents', { timeout: 60_000 }, () => {
  it('are read packed or not', async () => {
    const paragraphs = [
      ['Heading1', 'Scope'],
      ['', 'Twenty-six stations.'],
    ] as const;
    for (const packed of [true, false]) {
      expect((await read('docx', makeDocx(paragraphs, packed))).text).toBe('# Scope\n\nTwenty-six stations.');
    }
  });

  it('that unpack to more than anyone writes are refused before they do', async () => {
    const bomb = makeZip([['word/document.xml', Buffer.alloc(65 * 1024 * 1024)]], true);
    expect(bomb.length).toBeLessThan(1024 * 1024);
    await expect(read('docx', bomb)).rejects.toMatchObject(failure('unpacks to more than 64 MiB'));
  });

  it.each([
    ['cannot be unpacked', damage(makeDocx([['', 'A text that is long enough to be packed, packed, packed.']], true))],
    ['cannot be read', makeZip([['word/document.xml', '<w:document']])],
  ])('whose parts are damaged are refused: %s', async (reason, bytes) => {
    await expect(read('docx', bytes)).rejects.toMatchObject(failure(reason));
  });
});

/** Overwrites the packed text in the middle of the archive. */
function damage(bytes: Uint8Array): Uint8Array {
  const start = Buffer.from(bytes).indexOf('word/document.xml') + 'word/document.xml'.length;
  return Buffer.from(bytes).fill(0xff, start, start + 40);
}

describe('PDF files', { timeout: 60_000 }, () => {
  it.each([
    ['Microsoft Word - Plan for June.docx', null],
    ['Microsoft Word - Plan for June', 'Plan for June'],
    ['untitled', null],
    ['report_final.pdf', null],
    ['2026', null],
    ['Über den Wind', 'Über den Wind'],
  ])('have the title %j only when it is one: %j', async (title, expected) => {
    expect((await read('pdf', makePdf(title, [['text']]))).title).toBe(expected);
  });

  it('say how many of their pages have no text', async () => {
    const { degraded, metadata } = await read('pdf', makePdf('', [['text'], [], []]));
    expect(degraded).toEqual(['2 of 3 pages have no text; they may be images.']);
    expect(metadata).toMatchObject({ pages: 3 });
  });

  it('are given up as soon as they are over the limit', async () => {
    const bytes = makePdf(
      '',
      Array.from({ length: 20 }, () => ['twenty characters ok']),
    );
    await expect(read('pdf', bytes, 100)).rejects.toMatchObject(failure('more than 100 bytes', 'too_large'));
  });

  it('leave the bytes of the caller alone', async () => {
    const bytes = makePdf('', [['text']]);
    const before = Buffer.from(bytes).toString('hex');
    await read('pdf', bytes);
    expect(Buffer.from(bytes).toString('hex')).toBe(before);
  });
});

describe('text on a page', () => {
  const line = (y: number, str: string, width = 400): TextItem => ({
    str,
    hasEOL: true,
    width,
    height: 10,
    transform: [1, 0, 0, 1, 50, y],
  });

  it('joins the lines of running text and words that were hyphenated', () => {
    const items = [
      line(700, 'A long line of running text that goes on and on to the mar-'),
      line(688, 'gin of the page, where it wraps, as the state-of-the-'),
      line(676, 'art says, and on'),
      line(664, 'to the end.', 60),
      line(630, 'Another paragraph, well-known.', 200),
      line(600, 'It is well-'),
      line(588, 'known.', 40),
    ];
    expect(pageText(items)).toBe(
      'A long line of running text that goes on and on to the margin of the page, where it wraps, as the state-of-the-art says, and on to the end.\n\n' +
        'Another paragraph, well-known.\n\nIt is well-known.',
    );
  });

  it('joins words in capitals where they stand whole elsewhere', () => {
    const items = [
      line(700, 'The keyword OP-'),
      line(688, 'TIONAL is used, or OPTIONAL is not, and UTC-'),
      line(676, 'OFFSET.'),
    ];
    expect(pageText(items)).toBe('The keyword OPTIONAL is used, or OPTIONAL is not, and UTC-\nOFFSET.');
  });

  it('keeps the lines of forms and the gaps of tables', () => {
    const cell = (y: number, x: number, str: string, hasEOL = false, width = 60): TextItem => ({
      str,
      hasEOL,
      width,
      height: 10,
      transform: [1, 0, 0, 1, x, y],
    });
    const row = (y: number, left: string, right: string) => [
      cell(y, 50, left),
      cell(y, 110, ' ', false, 90),
      cell(y, 200, right, true),
    ];
    const rows = Array.from({ length: 6 }, (_, index) => row(700 - index * 12, `item ${index}`, `${index} EUR`));
    expect(pageText(rows.flat())).toBe(rows.map((_, index) => `item ${index}  ${index} EUR`).join('\n'));
  });

  it('has no rules drawn with characters, and no dots that lead to a page number', () => {
    const items = [
      line(700, 'STORE 12', 60),
      line(688, '==========', 60),
      line(676, 'Total 4.20 =====', 60),
      line(664, '2.1  Syntax . . . . . . . . 17', 120),
      line(652, '2.2  Naming........18', 120),
      line(640, '- - a -- b ... c', 120),
    ];
    expect(pageText(items)).toBe('STORE 12\n\nTotal 4.20\n2.1  Syntax  17\n2.2  Naming  18\n- - a -- b ... c');
  });

  it('is empty on an empty page', () => {
    expect(pageText([])).toBe('');
  });
});
