/** Characters that roff names: groff_char(7). Of others nothing stays. */
const named: Readonly<Record<string, string>> = {
  ...{ aq: "'", cq: '’', oq: '‘', dq: '"', lq: '“', rq: '”', Bq: '„', bq: '‚', ga: '`', aa: '´', ha: '^', ti: '~' },
  ...{ '-': '-', hy: '-', en: '–', em: '—', mi: '−', bu: '•', co: '©', rg: '®', tm: '™', de: '°', mc: 'µ', sc: '§' },
  ...{ rs: '\\', bv: '|', ba: '|', br: '|', or: '|', sl: '/', lB: '[', rB: ']', lC: '{', rC: '}', la: '⟨', ra: '⟩' },
  ...{
    at: '@',
    sh: '#',
    Do: '$',
    '<-': '←',
    '->': '→',
    '<=': '≤',
    '>=': '≥',
    '!=': '≠',
    '==': '≡',
    '+-': '±',
    mu: '×',
  },
  ...{ di: '÷', sr: '√', if: '∞', ss: 'ß', ':a': 'ä', ':o': 'ö', ':u': 'ü', ':A': 'Ä', ':O': 'Ö', ':U': 'Ü', oA: 'Å' },
  ...{ oa: 'å', "'e": 'é', "'a": 'á', "'i": 'í', "'o": 'ó', "'u": 'ú', "'E": 'É', '`e': 'è', '`a': 'à', '^e': 'ê' },
  ...{ ',c': 'ç', '~n': 'ñ', '/o': 'ø', '/O': 'Ø', AE: 'Æ', ae: 'æ', eu: '€', Eu: '€', Po: '£', ct: '¢', sq: '□' },
  ...{ '14': '¼', '12': '½', '34': '¾', '*a': 'α', '*b': 'β', '*m': 'μ', '*p': 'π', dg: '†', dd: '‡' },
};

/** Strings that every page may use, beside its own: man(7) and mdoc(7). */
const knownStrings: Readonly<Record<string, string>> = {
  ...{ R: '®', Tm: '™', lq: '“', rq: '”', Lq: '“', Rq: '”', q: '"', Le: '≤', Ge: '≥', Lt: '<', Gt: '>', Ba: '|' },
  ...{ Am: '&', Ne: '≠', Pm: '±', Pi: 'π', Na: 'NaN', If: '∞' },
};

/** One escape: its letter and, where it has one, its argument as `x`, `(xx`, `[xxx]` or `'xxx'`. */
const escape =
  /\\(?:"[^\n]*|#[^\n]*|\((..)|\[([^\]\n]{0,80})\]|\*(?:\((..)|\[([^\]\n]{0,80})\]|(.))|[gFkfMmnVY](?:[+-]?\(..|\[[^\]\n]{0,80}\]|[+-]?.)|s(?:[+-]?\[[^\]\n]{0,80}\]|[+-]?'[^'\n]{0,80}'|[+-]?\(..|[+-]?[0-3]?\d)|N'(\d{1,5})'|[ABbCDHhLlNoRSvwXxZ](?:'[^'\n]{0,80}')?|([^\n])|$)/g;

/** What stands for escapes of one letter; any other stands for its letter. */
const single: Readonly<Record<string, string>> = {
  ...{ e: '\\', E: '\\', '\\': '\\', '~': ' ', '0': ' ', t: '\t' },
  ...{ '&': '', ')': '', '|': '', '^': '', '/': '', ',': '', '%': '', ':': '', '!': '', a: '', c: '', d: '', p: '' },
  ...{ r: '', u: '', z: '', '{': '', '}': '' },
};

/** A line of text without the escapes of roff. `strings` are those that the page defines. */
export function withoutEscapes(text: string, strings: ReadonlyMap<string, string>): string {
  if (!text.includes('\\')) return text;
  return text.replace(
    escape,
    (_, pair?: string, bracket?: string, two?: string, many?: string, one?: string, code?: string, letter?: string) => {
      const string = two ?? many ?? one;
      if (string !== undefined) return strings.get(string) ?? knownStrings[string] ?? '';
      const name = pair ?? bracket;
      if (name !== undefined) return characterOf(name);
      if (code !== undefined) return String.fromCodePoint(Number(code));
      return letter === undefined ? '' : (single[letter] ?? letter);
    },
  );
}

function characterOf(name: string): string {
  const unicode = /^u([\dA-F]{4,6})$/i.exec(name);
  const code = unicode ? Number.parseInt(unicode[1]!, 16) : Infinity;
  return named[name] ?? (code <= 0x10ffff ? String.fromCodePoint(code) : '');
}

/** More than any line of a page has. */
const mostArguments = 200;

/** Arguments of a macro: words, or `"phrases"` in which `""` is a quotation mark. Escapes stay. */
export function argumentsOf(line: string): string[] {
  const found: string[] = [];
  const argument = /[ \t]*(?:"((?:[^"]|"")*)(?:"|$)|((?:\\.|[^\s\\])+|\\$))/gy;
  const text = line.replace(/(?<!\\)((?:\\\\)*)\\["#][^]*$/, '$1');
  for (const [, phrase, word] of text.matchAll(argument)) {
    if (found.push(phrase?.replaceAll('""', '"') ?? word ?? '') === mostArguments) break;
  }
  return found;
}
