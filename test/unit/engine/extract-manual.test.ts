import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { convert } from '../../../src/engine/extract/convert.ts';
import { detect } from '../../../src/engine/extract/detect.ts';

async function read(page: string, name = 'tide.1') {
  const bytes = Buffer.from(page);
  return convert({ ...detect(bytes, undefined, name), bytes, name, maxTextBytes: 1_000_000, depth: 0 });
}
const page = (...lines: string[]) => ['.TH TIDE 1 "March 2026" tide "User Commands"', ...lines].join('\n');
const textOf = async (...lines: string[]) => (await read(page(...lines))).text;

describe('pages of the manual', () => {
  it('are text without macros, and say what they are about in their title', async () => {
    const lines = [
      ...[
        '.SH NAME',
        'tide \\- tell the water level',
        '.SH "SEE ALSO"',
        '.BR tides (5),',
        '.UR https://example.org',
        '.UE .',
      ],
    ];
    expect(await read(page(...lines))).toMatchObject({
      title: 'tide - tell the water level',
      format: 'markdown',
      type: 'text',
      text: '## NAME\n\ntide - tell the water level\n\n## SEE ALSO\n\ntides(5), https://example.org.',
    });
  });

  it('are told by their content, packed or not, whatever stands first in them', async () => {
    for (const first of ['\'\\" t\n', '.\\" (C) us\n.\\"\n', '.ds VN 4\n', '.lf 1 stdin\n', '']) {
      expect(detect(Buffer.from(`${first}.TH A 1\n.SH NAME\n`), undefined, 'a.1ssl'), first).toEqual({
        format: 'manual',
      });
    }
    const bytes = gzipSync(page('.SH NAME', 'tide \\- water'));
    const packed = { ...detect(bytes, undefined, 'tide.1.gz'), bytes, name: 'tide.1.gz', maxTextBytes: 1000, depth: 0 };
    expect((await convert(packed)).title).toBe('tide - water');
    for (const text of ['.gitignore\nnode_modules\n', ".SH is a macro,\n'so is this'", 'a\n.TH A 1\n']) {
      expect(detect(Buffer.from(text), undefined, 'notes.1'), text).toEqual({ format: 'text' });
    }
  });

  it('have their name for a title where the page does not say more', async () => {
    expect((await read(page('.SH DESCRIPTION', 'Water - or not.'))).title).toBe('Water - or not.');
    expect((await read(page('.SH DESCRIPTION', 'Water.'))).title).toBe('tide(1)');
    expect((await read('.TH "" ""\n.SH A\nb')).title).toBeNull();
    expect((await read('.so man1/tide.1\n')).text).toBe('See man1/tide.1.');
  });

  it('go on after what they leave out, also where a comment stands behind its beginning', async () => {
    const mdoc = [
      '.ig \\"  -*- nroff -*-',
      'Copyright',
      '..',
      '.Dd June 17, 2010',
      '.Dt TIDE 1',
      '.Sh NAME',
      '.Nm tide',
    ];
    expect((await read([...mdoc, '.Nd tell the water level'].join('\n'))).text).toBe(
      '## NAME\n\ntide - tell the water level',
    );
    expect(await textOf('.de XX yy \\" end', 'x', '.yy', '.SH NAME', 'tide')).toBe('## NAME\n\ntide');
  });

  it('keep the links of pages that Asciidoctor made', async () => {
    const definition = ['.de URL', '\\fI\\\\$2\\fP <\\\\$1>\\\\$3', '..', '.als MTO URL'];
    const said = [
      'Written by',
      '.MTO "kim\\(atexample.org" "Kim Roe" ","',
      'see',
      '.URL "https://a.example/x\\-y" "" "."',
    ];
    expect(await textOf(...definition, '.SH AUTHORS', ...said)).toBe(
      '## AUTHORS\n\nWritten by Kim Roe <kim@example.org>, see https://a.example/x-y.',
    );
  });

  it('put terms above their explanations, and marks before them', async () => {
    const terms = ['.TP', '.BR \\-w ", " \\-\\-water', 'Water', 'level.', '.TP', 'a', '.TQ', 'b', 'Both.'];
    expect(await textOf(...terms)).toBe('-w, --water\nWater level.\n\na\nb\nBoth.');
    const items = ['.IP \\(bu 2', 'one', '.IP 2.', 'two', '.IP -x', 'three', '.IP', 'more'];
    expect(await textOf(...items)).toBe('- one\n\n2. two\n\n-x\nthree\n\nmore');
  });

  it('keep examples and tables as they are', async () => {
    const example = ['Say', '.nf', 'tide \\-\\-now \\e', '  # low', '.B high', '.fi', 'and', '.br', 'go.'];
    expect(await textOf(...example)).toBe('Say\n\n```\ntide --now \\\n  # low\nhigh\n```\n\nand\ngo.');
    const table = ['.TS', 'tab(:);', 'l l.', 'Level:Meaning', '_', '3:T{', 'quite', '.B high', 'T}', '.TE', 'End.'];
    expect(await textOf(...table)).toBe('Level | Meaning\n3 | quite high\n\nEnd.');
  });

  it('leave out definitions and what is for printers, and take up what is for screens', async () => {
    const lines = [
      ...[
        '.de XX',
        'never',
        '..',
        '.ig',
        'never',
        '..',
        '.ds Na the \\(lqport\\(rq',
        '.ie n \\{\\',
        'On',
        '.\\}',
        '.el never',
      ],
      ...[
        '.if t \\{\\',
        'never',
        '.if n never',
        '.\\}',
        '.ie \\n(.g never',
        '.el \\*(Na',
        '.if n .B screen',
        'x\\" never',
      ],
      ...['.\\" never', '.nr a 1', "e\\fBn\\fP\\s-2d\\s0 \\[u00e4]\\(:o \\*[lq]q\\*(rq a\\&b\\~c\\h'x'"],
    ];
    expect(await textOf(...lines)).toBe('On the “port” screen x end äö “q” ab c');
  });

  it('are read in the macros of mdoc too', async () => {
    const lines = [
      ...['.Dd March 3, 2026', '.Dt TIDE 1', '.Os', '.Sh NAME', '.Nm tide', '.Nd tell the water level', '.Sh SYNOPSIS'],
      ...['.Nm', '.Op Fl aq', '.Op Fl p Ar port', '.Nm', '.Fl Fl version', '.Sh DESCRIPTION', '.Nm', 'reads'],
      ...[
        '.Pa /dev/tide',
        '(see',
        '.Xr tides 5 ) .',
        '.Bl -tag -width Ds',
        '.It Fl a , Fl Fl all',
        'All of',
        '.Dq the ports .',
      ],
      ...[
        '.El',
        '.Bl -bullet',
        '.It',
        'One.',
        '.El',
        '.Bd -literal',
        '$ tide -a',
        '.Ed',
        'Not',
        '.Em so Ns -called ,',
        '.Ox 7.1 .',
      ],
    ];
    const { text, title } = await read(lines.join('\n'));
    expect(title).toBe('tide - tell the water level');
    expect(text).toBe(
      [
        ...[
          '## NAME',
          'tide - tell the water level',
          '## SYNOPSIS',
          'tide [-aq] [-p port]\ntide --version',
          '## DESCRIPTION',
        ],
        ...['tide reads /dev/tide (see tides(5)).', '-a, --all\nAll of “the ports”.', '- One.', '```\n$ tide -a\n```'],
        'Not so-called, OpenBSD 7.1.',
      ].join('\n\n'),
    );
  });

  it.each([
    ['definitions', '.de a\n'.repeat(50_000)],
    ['conditions', '.if n '.repeat(80_000)],
    ['open blocks', '.if t \\{\n'.repeat(50_000)],
    ['nested macros', `.Sh A\n${'Op '.repeat(100_000)}\n.${'Op '.repeat(100_000)}`],
    ['open brackets', "a\n\\[\\*[\\h'".repeat(50_000)],
    [
      'strings of strings',
      `.ds a ${'x'.repeat(1000)}\n.ds b ${'\\*a'.repeat(300)}\n.ds c ${'\\*b'.repeat(300)}\n${'\\*c'.repeat(9)}`,
    ],
    ['open tables', '.TS\n'.repeat(50_000)],
  ])('are read in a moment when they hold endless %s', async (_, body) => {
    expect((await read(`.TH A 1\n${body}`)).text.length).toBeLessThan(1_000_000);
  });
});
