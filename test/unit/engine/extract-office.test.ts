import { gzipSync } from 'node:zlib';
import { burn } from '@kenjiuno/msgreader/lib/Burner.js';
import { describe, expect, it } from 'vitest';
import { makeDocx, makeZip } from '../../../fixtures/make-documents.ts';
import { convert } from '../../../src/engine/extract/convert.ts';
import { toSource } from '../../../src/engine/text/text-worker.ts';

const read = (bytes: Uint8Array, name: string) => convert(toSource({ kind: 'file', bytes, name }));
const relations = (...targets: string[]) =>
  `<Relationships>${targets.map((target, index) => `<Relationship Id="r${index + 1}" Target="${target}"/>`).join('')}</Relationships>`;
const core = '<cp:coreProperties><dc:title>Boats</dc:title><dc:creator>Mira</dc:creator></cp:coreProperties>';

describe('an Excel workbook', () => {
  const cell = (reference: string, value: string, more = '') => `<c r="${reference}"${more}><v>${value}</v></c>`;
  const workbook = (rows: string, more = '') =>
    makeZip(
      [
        ['xl/workbook.xml', `<workbook>${more}<sheets><sheet name="Hulls &amp; sails" r:id="r1"/></sheets></workbook>`],
        ['xl/_rels/workbook.xml.rels', relations('/xl/worksheets/sheet1.xml')],
        [
          'xl/sharedStrings.xml',
          '<sst><si><t>Boat</t></si><si><r><t>Sea </t></r><r><t>Gull</t></r><rPh><t>aid</t></rPh></si></sst>',
        ],
        [
          'xl/styles.xml',
          `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="dd.mm.yyyy"/><numFmt numFmtId="171" formatCode="0 &quot;days&quot;"/></numFmts>
           <cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>
           <cellXfs><xf numFmtId="0"/><xf numFmtId="170"/><xf numFmtId="22"/><xf numFmtId="171"/></cellXfs></styleSheet>`,
        ],
        ['xl/worksheets/sheet1.xml', `<worksheet><sheetData>${rows}</sheetData></worksheet>`],
        ['docProps/core.xml', core],
      ],
      true,
    );

  it('is a table for each sheet, with its texts, numbers and dates as they are shown', async () => {
    const rows = [
      `<row r="1">${cell('A1', '0', ' t="s"')}<c r="B1" t="inlineStr"><is><t>Built</t></is></c></row>`,
      '<row r="2"/>',
      `<row r="3">${cell('A3', '1', ' t="s"')}${cell('B3', '45413', ' s="1"')}${cell('D3', '1', ' t="b"')}</row>`,
      `<row r="4">${cell('A4', '12', ' s="3"')}${cell('B4', '45413.75', ' s="2"')}</row>`,
    ];
    const found = await read(workbook(rows.join('')), 'boats.xlsx');
    expect(found).toMatchObject({ title: 'Boats', metadata: { author: 'Mira' }, format: 'markdown' });
    expect(found.text.split('\n')).toEqual([
      ...['## Hulls & sails', '', '| Boat | Built |  |  |', '| --- | --- | --- | --- |'],
      ...['| Sea Gull | 2024-05-01 |  | TRUE |', '| 12 | 2024-05-01 18:00 |  |  |'],
    ]);
  });

  it('counts days from 1904 when it says so', async () => {
    const found = await read(
      workbook(`<row>${cell('A1', '1', ' s="1"')}</row>`, '<workbookPr date1904="1"/>'),
      'a.xlsx',
    );
    expect(found.text).toContain('| 1904-01-02 |');
  });

  it('is refused when it is damaged or unpacks to too much', async () => {
    await expect(read(makeZip([['xl/other.xml', '']]), 'a.xlsx')).rejects.toMatchObject({
      code: 'extract_failed',
      message: 'The Excel workbook is damaged: it has no list of sheets.',
    });
    const bomb = workbook(`<row>${'<c><v>1</v></c>'.repeat(5_000_000)}</row>`);
    expect(bomb.length).toBeLessThan(1_000_000);
    await expect(read(bomb, 'a.xlsx')).rejects.toThrow('unpacks to more than 64 MiB');
  });
});

describe('a PowerPoint presentation', () => {
  const paragraph = (text: string) => `<a:p><a:r><a:t>${text}</a:t></a:r></a:p>`;
  const shape = (type: string | null, ...texts: string[]) =>
    `<p:sp>${type === null ? '' : `<p:nvPr><p:ph type="${type}"/></p:nvPr>`}<p:txBody>${texts.map(paragraph).join('')}</p:txBody></p:sp>`;

  it('is its slides in the order in which they are shown, with notes', async () => {
    const table = `<a:tbl><a:tr><a:tc>${paragraph('Port')}</a:tc><a:tc>${paragraph('Depth')}</a:tc></a:tr><a:tr><a:tc>${paragraph('Oban')}</a:tc><a:tc>${paragraph('9')}</a:tc></a:tr></a:tbl>`;
    const bytes = makeZip([
      [
        'ppt/presentation.xml',
        '<p:presentation><p:sldIdLst><p:sldId r:id="r2"/><p:sldId r:id="r1"/></p:sldIdLst></p:presentation>',
      ],
      ['ppt/_rels/presentation.xml.rels', relations('slides/slide1.xml', 'slides/slide2.xml')],
      ['ppt/slides/slide1.xml', `<p:sld>${shape(null, 'No title here.')}${table}</p:sld>`],
      [
        'ppt/slides/slide2.xml',
        `<p:sld>${shape('title', 'Harbours')}${shape('body', 'Quiet', 'Deep')}${shape('sldNum', '1')}</p:sld>`,
      ],
      ['ppt/slides/_rels/slide2.xml.rels', relations('../notesSlides/notesSlide1.xml')],
      [
        'ppt/notesSlides/notesSlide1.xml',
        `<p:notes>${shape('body', 'Say hello first.')}${shape('sldNum', '1')}</p:notes>`,
      ],
      ['docProps/core.xml', core],
    ]);
    const found = await read(bytes, 'talk.pptx');
    expect(found).toMatchObject({ title: 'Boats', metadata: { author: 'Mira', pages: 2 } });
    expect(found.text.split('\n\n')).toEqual([
      ...['## Harbours', 'Quiet\nDeep', 'Notes: Say hello first.', '## Slide 2', 'No title here.'],
      '| Port | Depth |\n| --- | --- |\n| Oban | 9 |',
    ]);
  });
});

describe('a chart and a picture on a slide', () => {
  const point = (place: number, value: string) => `<c:pt idx="${place}"><c:v>${value}</c:v></c:pt>`;
  const heading = (text: string) =>
    `<c:title><c:tx><c:rich><a:p><a:r><a:t>${text}</a:t></a:r></a:p></c:rich></c:tx></c:title>`;
  const series = (name: string, ...values: string[]) =>
    `<c:ser><c:tx><c:strRef><c:f>A!$B$1</c:f><c:strCache>${point(0, name)}</c:strCache></c:strRef></c:tx><c:cat>${point(0, '2024')}${point(1, '2025')}</c:cat><c:val>${values.map((value, place) => point(place, value)).join('')}</c:val></c:ser>`;

  it('are what they show and what describes them', async () => {
    const bytes = makeZip([
      ['ppt/presentation.xml', '<p:presentation><p:sldIdLst><p:sldId r:id="r1"/></p:sldIdLst></p:presentation>'],
      ['ppt/_rels/presentation.xml.rels', relations('slides/slide1.xml')],
      [
        'ppt/slides/slide1.xml',
        '<p:sld><p:pic><p:nvPicPr><p:cNvPr id="1" name="Picture 1" descr="A harbour at dawn"/></p:nvPicPr></p:pic></p:sld>',
      ],
      ['ppt/slides/_rels/slide1.xml.rels', relations('../charts/chart1.xml')],
      [
        'ppt/charts/chart1.xml',
        `<c:chart>${heading('Berths')}${series('Oban', '12', '14')}${series('Tobermory', '', '9')}<c:valAx>${heading('boats')}</c:valAx></c:chart>`,
      ],
    ]);
    const { text } = await read(bytes, 'talk.pptx');
    expect(text).toBe('## Slide 1\n\nA harbour at dawn\n\nBerths\n\n- Oban: 2024 12, 2025 14\n- Tobermory: 2025 9');
  });
});

describe('an OpenDocument file', () => {
  const odf = (content: string, more: [string, string][] = []) => makeZip([['content.xml', content], ...more], true);

  it('is headings, paragraphs, lists and tables', async () => {
    const content = `<office:text>
      <text:h text:outline-level="2">Tides</text:h>
      <text:p>High<text:s/>water<text:note><text:p>A note.</text:p></text:note> at noon.</text:p>
      <text:list><text:list-item><text:p>Rope</text:p></text:list-item><text:list-item><text:p>Anchor</text:p></text:list-item></text:list>
      <table:table table:name="Ports"><table:table-row><table:table-cell><text:p>Oban</text:p></table:table-cell>
      <table:table-cell table:number-columns-repeated="2"><text:p>deep</text:p></table:table-cell>
      <table:table-cell table:number-columns-repeated="16000"/></table:table-row></table:table></office:text>`;
    const meta = '<office:meta><dc:title>Log</dc:title><meta:initial-creator>Mira</meta:initial-creator></office:meta>';
    const found = await read(odf(content, [['meta.xml', meta]]), 'log.odt');
    expect(found).toMatchObject({ title: 'Log', metadata: { author: 'Mira' } });
    expect(found.text.split('\n\n')).toEqual([
      ...['## Tides', 'High water at noon.', '- Rope\n- Anchor', '## Ports'],
      '| Oban | deep | deep |\n| --- | --- | --- |',
    ]);
  });

  it('is refused when a password protects it', async () => {
    const manifest = '<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>';
    await expect(read(odf('', [['META-INF/manifest.xml', manifest]]), 'a.odt')).rejects.toThrow(
      'protected by a password',
    );
  });
});

describe('an EPUB book', () => {
  it('is its chapters in the order of its spine', async () => {
    const bytes = makeZip([
      ['META-INF/container.xml', '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'],
      [
        'OPS/book.opf',
        `<package><metadata><dc:title>The Sea</dc:title><dc:creator>Mira</dc:creator></metadata>
         <manifest><item id="two" href="2%20end.xhtml"/><item id="one" href="1.xhtml"/></manifest>
         <spine><itemref idref="one"/><itemref idref="two"/><itemref idref="none"/></spine></package>`,
      ],
      ['OPS/1.xhtml', '<html><body><h1>One</h1><p>Wind.</p></body></html>'],
      ['OPS/2 end.xhtml', '<html><body><h1>Two</h1><p>Calm.</p></body></html>'],
    ]);
    const found = await read(bytes, 'sea.epub');
    expect(found).toMatchObject({ title: 'The Sea', metadata: { author: 'Mira' } });
    expect(found.text).toBe('# One\n\nWind.\n\n# Two\n\nCalm.');
  });

  it('is refused when it is damaged', async () => {
    await expect(read(makeZip([['META-INF/container.xml', '<x>']]), 'a.epub')).rejects.toThrow(
      'The EPUB book is damaged',
    );
  });
});

describe('a Word document', () => {
  const said = (text: string) => `<m:r><w:rPr/><m:t>${text}</m:t></m:r>`;
  const between = (formula: string) => `The angle is </w:t></w:r>${formula}<w:r><w:t>.`;
  const fraction = `<m:f><m:fPr/><m:num>${said('mλ')}</m:num><m:den>${said('a')}</m:den></m:f>`;
  const power = `<m:sSup><m:e>${said('10')}</m:e><m:sup>${said('-4')}</m:sup></m:sSup>`;

  it.each([
    [`<m:oMath>${said('θ=')}${fraction}</m:oMath>`, 'θ=(mλ)/a'],
    [`<m:oMathPara><m:oMath>${said('2×')}${power}</m:oMath></m:oMathPara>`, '2×10^(-4)'],
    [`<m:oMath><m:rad><m:radPr/><m:deg/><m:e>${said('2')}</m:e></m:rad></m:oMath>`, '√2'],
  ])('has its formulas in the text: %s', async (formula, text) => {
    expect((await read(makeDocx([['', between(formula)]]), 'a.docx')).text).toBe(`The angle is ${text}.`);
  });
});

describe('a ZIP archive', () => {
  it('has the pages in it without their navigation', async () => {
    const words = 'The tide gauge at the harbour shows what the pilots expect. '.repeat(12);
    const page = `<html><body><nav><ul><li>Contents</li></ul></nav><article><h1>Tides</h1><p>${words}</p></article></body></html>`;
    const { text } = await read(makeZip([['site/tides.html', page]]), 'a.zip');
    expect(text).toContain('The tide gauge');
    expect(text).not.toContain('Contents');
  });
});

describe('a gzip file', () => {
  it('is what is packed in it, told by its name and content', async () => {
    expect(await read(gzipSync('# Log\n\nCalm.'), 'log.md.gz')).toMatchObject({
      text: '# Log\n\nCalm.',
      format: 'markdown',
    });
    expect((await read(gzipSync(gzipSync('Calm.')), 'a.txt.gz.gz')).text).toBe('Calm.');
  });

  it.each([
    ['packed three times', gzipSync(gzipSync(gzipSync('x'))), 'packed more than twice'],
    ['damaged', gzipSync('Calm sea.').subarray(0, 15), 'The gzip file is damaged.'],
    ['a bomb', gzipSync(Buffer.alloc(70 * 1024 * 1024)), 'unpacks to more than 64 MiB'],
    [
      'an archive of many',
      gzipSync(Buffer.concat([Buffer.alloc(257), Buffer.from('ustar'), Buffer.alloc(300)])),
      'such archives are not unpacked',
    ],
  ])('is refused when it is %s', async (_, bytes, reason) => {
    await expect(read(bytes, 'a.gz')).rejects.toThrow(reason);
  });
});

describe('a ZIP archive', () => {
  it('is the files in it that hold text, each below its path', async () => {
    const archive = makeZip([
      ['notes/a.md', '# Calm\n\nSea.'],
      ['b.py', 'print(1)'],
      ['notes/', ''],
      ['logo.bin', '\0\x01\x02'],
      ['inner.zip', 'PK\x05\x06'],
      ['__MACOSX/a', 'x'],
    ]);
    expect(await read(archive, 'a.zip')).toMatchObject({
      text: '## b.py\n\n```python\nprint(1)\n```\n\n## notes/a.md\n\n### Calm\n\nSea.',
      format: 'markdown',
      degraded: ['2 of 4 files in the archive hold no text that can be read.'],
    });
  });

  it('is read as far as the text fits', async () => {
    const archive = makeZip(Array.from({ length: 4 }, (_, index) => [`${index}.txt`, 'x'.repeat(400)] as const));
    const source = toSource({ kind: 'file', bytes: archive, name: 'a.zip', maxTextBytes: 1000 });
    expect(await convert(source)).toMatchObject({
      text: expect.stringMatching(/^## 0\.txt\n\nx{400}\n\n## 1\.txt\n\nx{400}$/) as string,
      degraded: ['2 of 4 files in the archive hold no text that can be read.'],
    });
  });

  it.each([
    ['empty', makeZip([]), 'The ZIP archive is empty.'],
    ['without text', makeZip([['a.png', '\x89PNG\r\n\x1a\n']]), 'The file in the ZIP archive cannot be read. a.png:'],
    ['an archive alone', makeZip([['b.zip', makeZip([['a.txt', 'x']])]]), 'b.zip: This archive lies too deep'],
    ['a bomb', makeZip([['a.txt', 'x'.repeat(70 * 1024 * 1024)]], true), 'a.txt: The ZIP archive unpacks to more than'],
  ])('is refused when it is %s', async (_, archive, reason) => {
    await expect(read(archive, 'a.zip')).rejects.toThrow(reason);
  });
});

describe('rich text', () => {
  it('is its text with paragraphs, in its character set and in Unicode', async () => {
    const rtf = String.raw`{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\title My letter}}{\*\generator Word;}\pard Dear M\'fcller,\par it costs \u8364?5 \{net\}\line {\b bold} text\~here\par\trowd a\cell b\cell\row}`;
    expect(await read(Buffer.from(rtf), 'a.rtf')).toMatchObject({
      text: 'Dear Müller,\n\nit costs €5 {net}\nbold text here\n\na | b |',
      title: 'My letter',
    });
  });

  it('is read in a character set of two bytes', async () => {
    const rtf = String.raw`{\rtf1\ansi\ansicpg932 \'8a\'43}`;
    expect((await read(Buffer.from(rtf), 'a.rtf')).text).toBe('海');
  });

  it('is refused when its groups nest without end', async () => {
    await expect(read(Buffer.from(`{\\rtf1${'{'.repeat(5000)}`), 'a.rtf')).rejects.toThrow('nests its groups too deep');
  });
});

describe('an Outlook message', () => {
  const wide = (text: string) => Uint8Array.from(Buffer.from(text, 'utf16le'));

  /** MS-OXMSG: each property is a stream that its tag names. */
  function message(properties: Record<string, string>): Uint8Array {
    const streams = [
      { name: '__properties_version1.0', content: new Uint8Array(32) },
      ...Object.entries(properties).map(([tag, text]) => ({ name: `__substg1.0_${tag}001F`, content: wide(text) })),
    ];
    const [document, root] = [2, 5];
    const children = streams.map((_, index) => index + 1);
    return burn([
      { name: 'Root Entry', type: root, length: 0, children },
      ...streams.map(({ name, content }) => ({
        ...{ name, type: document, length: content.length, binaryProvider: () => content },
      })),
    ]);
  }

  it('is read as a mail', async () => {
    const bytes = message({
      '0037': 'Mooring',
      '1000': 'The berth is 14.\r\n',
      '0C1A': 'Mira',
      '0C1F': 'mira@sea.example',
    });
    expect(await read(bytes, 'a.msg')).toMatchObject({
      text: '# Mooring\n\nFrom: Mira <mira@sea.example>\n\nThe berth is 14.',
      title: 'Mooring',
      metadata: { from: 'Mira <mira@sea.example>' },
    });
  });

  it('is refused when it is damaged', async () => {
    const bytes = message({ '0037': 'Mooring' }).slice(0, 1100);
    await expect(read(bytes, 'a.msg')).rejects.toThrow(/damaged|cannot be read/);
  });
});
