import { describe, expect, it } from 'vitest';
import { convert } from '../../../src/engine/extract/convert.ts';
import type { Source, SourceFormat } from '../../../src/engine/extract/extracted.ts';

const read = (format: SourceFormat, text: string, more: Partial<Source> = {}) =>
  convert({ format, text, maxTextBytes: 1_000_000, depth: 0, ...more });
const readBytes = (format: SourceFormat, content: string) =>
  convert({ format, bytes: Buffer.from(content), maxTextBytes: 1_000_000, depth: 0 });

describe('clean text', () => {
  it('has no NUL, no lone surrogates, no byte order mark and only LF', async () => {
    const { text } = await read('text', '\ufeffa\0b\ud800c\r\nd\re \u{1f600}\udc00');
    expect(text).toBe('abc\nd\ne \u{1f600}');
  });

  it('cleans titles and metadata too', async () => {
    const { title, metadata } = await read(
      'markdown',
      '---\ntitle: "A\0  B\ud800"\nauthor: \0\ntags: [x\0, \0]\n---\n',
    );
    expect(title).toBe('A B');
    expect(metadata).toEqual({ tags: ['x'] });
  });

  it('refuses text over the limit and says what the limit is', async () => {
    const message = 'The text has more than 2 KiB, the most that is taken from one document.';
    const tooLarge = { code: 'too_large', message, shouldRetry: false };
    await expect(read('text', 'ä'.repeat(1500), { maxTextBytes: 2048 })).rejects.toMatchObject(tooLarge);
    await expect(read('text', 'ä'.repeat(1024), { maxTextBytes: 2048 })).resolves.toBeDefined();
  });
});

describe('titles', () => {
  it.each([
    ['front matter', 'markdown', '---\ntitle: From the matter\n---\n# Heading', 'From the matter'],
    ['the first heading', 'markdown', '\n## The *first* [one](x) ##\n\n# Later', 'The first one'],
    ['a heading with a line under it', 'markdown', 'Underlined\n====\n\ntext', 'Underlined'],
    ['the first top heading', 'markdown', 'Intro.\n\n```sh\n# comment\n```\n\n## Small\n\n# Big', 'Big'],
    [
      'a heading with badges',
      'markdown',
      '# tide <sup>[![Version][svg]][url]</sup> [![CI](https://a.b/c)](https://d.e)',
      'tide',
    ],
    ['a heading after a picture', 'markdown', '![logo](a.svg) Tide Tables\n=====\n', 'Tide Tables'],
    ['a heading that is a picture', 'markdown', '# [![Tide](a.svg)](https://tide.example)', 'Tide'],
    ['a heading with a link', 'markdown', '# The [tide](https://tide.example) tables', 'The tide tables'],
    [
      'a heading in HTML',
      'markdown',
      '<p align="center"><img src="a.png"></p>\n\n<h1 align="center">\n  The <b>fast</b> one<br></h1>\n\n# Usage',
      'The fast one',
    ],
    ['a heading below a picture in HTML', 'markdown', '<h1><img src="a.png"></h1>\n\n# Usage', 'Usage'],
    ['no heading', 'markdown', 'Intro.\n\n## Small', null],
    ['Org', 'text', '#+TITLE: Org notes\n* One', 'Org notes'],
    ['reStructuredText', 'text', 'Guide\n=====\n\ntext', 'Guide'],
    ['LaTeX', 'text', '\\documentclass{article}\n\\title{On rain}\n', 'On rain'],
    ['rules above each other', 'text', '=====\n=====\n\n  No longer used.\n', null],
    ['rules above a heading', 'markdown', '=====\n=====\n\n# News\n', 'News'],
    ['plain text', 'text', 'First line\n\ntext', null],
  ] as const)('from %s', async (_, format, text, title) => {
    expect((await read(format, text)).title).toBe(title);
  });

  it('reads simple front matter and leaves it in the text', async () => {
    const text =
      '---\ndate: 2026-03-01\nauthor: Aiko\nkeywords:\n  - rain\n  - "snow, ice"\nnested:\n  deep: 1\n---\nBody';
    const extracted = await read('markdown', text);
    expect(extracted.metadata).toEqual({
      date: '2026-03-01T00:00:00.000Z',
      author: 'Aiko',
      tags: ['rain', 'snow, ice'],
    });
    expect(extracted.text).toBe(text);
  });
});

describe('text of an unknown kind', () => {
  it.each([
    ['{"a": [1, 2]}', 'json'],
    ['{not json}', 'text'],
    ['Intro\n\n## Heading\ntext', 'markdown'],
    ['# Heading\n\ntext', 'markdown'],
    ['text\n\n```js\ncode\n```\n', 'markdown'],
    ['#!/bin/sh\n\n# Heading of a script\n', 'text'],
    ['x = 1\n# comment\ny = 2', 'text'],
    ['Just a sentence.', 'text'],
  ])('%j is %s and stays as it is', async (text, format) => {
    for (let round = 0; round < 2; round++) expect(await read('text', text)).toMatchObject({ text, format });
  });
});

describe('JSON', () => {
  it('is left as people wrote it', async () => {
    const text = '{ "a": 1.0,\n\n "b": [1,2] }\n';
    expect((await read('json', text)).text).toBe(text);
  });

  it('is indented when it is one long line, with the digits of its numbers', async () => {
    const long = 'y'.repeat(1000);
    const { text } = await read('json', `{"id":12345678901234567890,"x":1.0,"s":"M\\u00fcller","l":"${long}"}`);
    expect(text).toBe(`{\n  "id": 12345678901234567890,\n  "x": 1.0,\n  "s": "Müller",\n  "l": "${long}"\n}`);
  });

  it('is taken as text when it is damaged, or nested too deeply', async () => {
    const broken = `{"a": "${'x'.repeat(2000)}`;
    expect(await read('json', broken)).toMatchObject({
      text: broken,
      degraded: [expect.stringContaining('not valid')],
    });
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    expect((await read('json', deep)).text).toBe(deep);
  });
});

describe('notebooks', () => {
  it('are taken as JSON when they are none', async () => {
    const extracted = await read('notebook', '{"worksheets": []}');
    expect(extracted).toMatchObject({ format: 'json', degraded: ['The notebook is not valid; it was taken as JSON.'] });
  });

  it('fence code that holds fences', async () => {
    const cells = [{ cell_type: 'code', source: ['print("""\n', '```\n', '""")'], outputs: [] }];
    const { text } = await read('notebook', JSON.stringify({ cells }));
    expect(text).toBe('````python\nprint("""\n```\n""")\n````');
  });
});

describe('tables', () => {
  it('keep quoted delimiters and line breaks in their cells', async () => {
    const { text } = await readBytes('csv', 'Name,Note\r\n"Weiß, Jürgen","line one\nline two | three"\r\n');
    expect(text).toBe('| Name | Note |\n| --- | --- |\n| Weiß, Jürgen | line one line two \\| three |');
  });

  it.each([
    ['a;b;c\n1,5;2,5;3\n', '| 1,5 | 2,5 | 3 |'],
    ['a|b\n1|2', '| 1 | 2 |'],
    ['a\tb\n1,0\t2', '| 1,0 | 2 |'],
    ['"x;y",b\n"1;2",3', '| 1;2 | 3 |'],
  ])('find the delimiter of %j', async (csv, row) => {
    expect((await readBytes('csv', csv)).text).toContain(row);
  });

  it('bear rows of different lengths and stray quotes', async () => {
    const { text } = await readBytes('csv', 'a,b\n1\n2,3,4\n\n5" screen,x\n');
    expect(text).toBe('| a | b |  |\n| --- | --- | --- |\n| 1 |  |  |\n| 2 | 3 | 4 |\n| 5" screen | x |  |');
  });

  it('are empty when the file is', async () => {
    expect((await readBytes('csv', '\n')).text).toBe('');
  });
});

describe('entries of feeds', () => {
  const entry = (html: string) =>
    `<rss><channel><title>Blog</title><item><title>News</title><link>https://a.example/1</link>` +
    `<description><![CDATA[${html}]]></description></item></channel></rss>`;

  it('do not end with where they stand', async () => {
    const own = '<a href="https://a.example/1">News</a>';
    const { text } = await readBytes(
      'feed',
      entry(`<p>We have moved.</p><p>The post ${own} appeared first on <a href="https://a.example">Blog</a>.</p>`),
    );
    expect(text).toBe('# Blog\n\n## News\n\nhttps://a.example/1\n\nWe have moved.');
  });

  it('keep a last paragraph that says more', async () => {
    const more =
      'The new address, from which we work since the first of May, is told <a href="https://a.example/1">below</a>.';
    expect((await readBytes('feed', entry(`<p>We have moved.</p><p>${more}</p>`))).text).toContain(
      'since the first of May',
    );
  });
});

describe('other XML', () => {
  it('gets line breaks when it has none', async () => {
    const extracted = await readBytes('xml', '<a><b>1</b><c/></a>');
    expect(extracted).toMatchObject({
      text: '<a>\n<b>1</b>\n<c/>\n</a>',
      format: 'code',
      metadata: { language: 'xml' },
    });
  });

  it('is what a feed without a channel is taken for', async () => {
    expect((await readBytes('feed', '<rss></rss>')).format).toBe('code');
  });
});
