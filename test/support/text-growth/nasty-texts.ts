import { createRandom } from '../../../src/connector-kit/setup.ts';

/** What functions over text look for: each of these, repeated without an end, has made some regular expression slow. */
const tokens: readonly string[] = [
  // White space and line ends.
  ...[' ', '\t', '\n', '\r\n', ' \n', '\n\n ', '\u00a0', '\u200b', '\u3000', '    \n'],
  // Marks of sentences, brackets, quotes, and words that only look like the end of a sentence.
  ...[
    '.',
    '. ',
    '? ',
    '…',
    '!?',
    ',',
    ', ',
    ';',
    ':',
    ': ',
    '-',
    ' - ',
    '— ',
    '_',
    '*',
    '**',
    '(',
    ')',
    '()',
    '[',
    ']',
  ],
  ...[
    '"',
    '" ',
    '“',
    '”',
    "'",
    '’',
    '«',
    '`',
    '```\n',
    '~~~\n',
    '|',
    '|a|',
    '|-',
    '\\',
    '/',
    '://',
    '@',
    'a@',
    '<a@',
    '#',
  ],
  ...['Mr. ', 'e.g. ', 'I. ', 'A.', 'a.b', '1.', '1. ', 'z.B. ', '!', '。', '「'],
  // Words of statements, names, kin, numbers and dates.
  ...['a', 'A', 'é', 'I ', 'my ', 'I live in ', 'My sister ', 'Anna is ', 'and I ', ', and then ', 'because ', 'yes, '],
  ...[
    'Well, ',
    'hi ',
    'in the ',
    'word ',
    'Word',
    'aB',
    'a_',
    'a-',
    'a’',
    '7',
    '7,',
    '7.',
    '10:30 ',
    '2024-01-02 ',
    '3/4/24, ',
  ],
  ...['May ', 'next week ', 'from 3 to ', '$5 ', '5% ', 'every ', 'was ', 'not ', 'so far ', 'that ', 'the the '],
  // Turns and mail.
  ...[
    'Anna: ',
    'Anna: hi\n',
    'user: hi\n',
    '[10:30] A: b\n',
    '<nick> a\n',
    '> ',
    '> a\n',
    'From: a\n',
    'On a wrote:\n',
  ],
  ...['On May 1, A wrote\n', '-- \n', 'Best,\n', 'A\n10:30\n', '## ', 'Sent from my '],
  // Markdown, markup, data.
  ...[
    '# a\n',
    '# ',
    '- ',
    '- a\n',
    '  - a\n',
    '[a](',
    '![',
    '[a]',
    '](',
    'a\n-\n',
    'a\n=\n',
    '|a|b|\n',
    '---\n',
    '<',
    '>',
    '<b>',
  ],
  ...[
    '</b>',
    '<b></b>',
    '<p>',
    '<div><p>',
    '<br>',
    '<!--',
    '-->',
    '<script>',
    '<style ',
    '<a href="',
    '<table><tr><td>',
    '&amp;',
    '&',
  ],
  ...[
    '<li>',
    '<ul><li>a</li></ul>',
    '<td>',
    '<pre>',
    '<title>',
    '<meta name="',
    '<![CDATA[',
    '<item>',
    '<a b=c ',
    '<x ',
    'a,b\n',
    '"a",',
  ],
  ...[
    '""',
    '{',
    '}',
    '{"a":',
    '[[',
    '[1,',
    '"\\',
    '\\u0000',
    '\\"',
    'a: b\n',
    'a = b\n',
    '\t-',
    '<html><body>',
    '&#1;',
  ],
  // Characters of several units.
  ...[
    '東',
    'は',
    '한',
    'ไ',
    '😀',
    '👨‍👩‍👧‍👦',
    '\ud800',
    '\udc00',
    '\u0301',
    '\u0301\u0316',
    'e\u0301',
    '\u0000',
    '\u202e',
    'ß',
    'İ',
    'ﬁ',
    '\ufffd',
  ],
];

export interface NastyText {
  name: string;
  /** About so many characters of it. */
  make(size: number): string;
}

const fill = (part: string, size: number) => part.repeat(Math.max(1, Math.ceil(size / part.length)));

/** What stands before and after a repeated token: some expressions only try hard when nothing fits at the end. */
const frames = [
  { name: 'alone', before: '', after: '' },
  { name: 'between words', before: 'word', after: 'x' },
  { name: 'before a small letter', before: '"', after: ' x' },
  { name: 'between lines', before: 'From: a <a@b.c>\nDate: x\n\nI live here. ', after: '\nend\n' },
];

/** Repetitions of every token in every frame, and pairs of tokens drawn by the seed. */
export function nastyTexts({ pairs, seed }: { pairs: number; seed: number }): NastyText[] {
  const repeated = tokens.flatMap((token) =>
    frames.map(({ name, before, after }) => ({
      name: `${JSON.stringify(token)} ${name}`,
      make: (size: number) => before + fill(token, size) + after,
    })),
  );
  const random = createRandom(seed);
  const drawn = () => random.pick(tokens);
  const paired = Array.from({ length: pairs }, (): NastyText => {
    const [first, second, third] = [drawn(), drawn(), drawn()];
    const halves = random.chance(0.5);
    return {
      name: `${JSON.stringify([first, second, third])} ${halves ? 'one after the other' : 'in turns'}`,
      make: (size) =>
        halves ? fill(first, size / 2) + fill(second, size / 2) + third : fill(first + second, size) + third,
    };
  });
  return [...repeated, ...paired];
}
