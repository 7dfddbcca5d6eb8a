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
  return text.replace(escape, (_, ...[pair, bracket, two, many, one, code, letter]: (string | undefined)[]) => {
    const string = two ?? many ?? one;
    if (string !== undefined) return strings.get(string) ?? knownStrings[string] ?? '';
    const name = pair ?? bracket;
    if (name !== undefined) return characterOf(name);
    if (code !== undefined) return String.fromCodePoint(Number(code));
    return letter === undefined ? '' : (single[letter] ?? letter);
  });
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

/**
 * The lines of a roff page as nroff would take them up: without comments, definitions of macros and what holds only
 * for printers. Strings that the page defines are collected on the way, without escapes.
 */
export interface Page {
  lines: readonly string[];
  strings: ReadonlyMap<string, string>;
}

/** Of a string. A page that uses long ones often would grow without end. */
const mostLength = 64;
/** Of what follows a condition in its line: conditions in it are taken up one by one. */
const mostConditional = 1000;

export function pageOf(text: string): Page {
  const strings = new Map<string, string>();
  const lines: string[] = [];
  const queue = joined(text);
  let isTrue = false;
  for (let at = 0; at < queue.length; at += 1) {
    const line = queue[at]!;
    if (/^[.'][ \t]*(?:\\["#}]|$)/.test(line) || line.startsWith('\\"')) continue;
    const [, request = '', rest = ''] = /^[.'][ \t]*(\w+)[ \t]*(.*)$/.exec(line) ?? [];
    if (request === 'ig') at = endOfDefinition(queue, at, argumentsOf(rest)[0]);
    else if (/^(?:de|am)1?$/.test(request)) at = endOfDefinition(queue, at, argumentsOf(rest)[1]);
    else if (request === 'ds') define(rest, strings);
    else if (request === 'if' || request === 'ie') {
      const [condition, body] = conditionOf(rest);
      isTrue = condition === 'n';
      at = takeUp(queue, at, body, isTrue);
    } else if (request === 'el') at = takeUp(queue, at, rest, !isTrue);
    else lines.push(line);
  }
  return { lines, strings };
}

/** Lines; one that ends with a backslash goes on in the next. */
function joined(text: string): string[] {
  return text.replace(/(?<!\\)((?:\\\\)*)\\\n/g, '$1').split('\n');
}

function define(rest: string, strings: Map<string, string>): void {
  const [, name, value] = /^(\S+)[ \t]*"?(.*)$/.exec(rest) ?? [];
  if (name !== undefined) strings.set(name, withoutEscapes(value!, strings).slice(0, mostLength));
}

/** The place of the line that ends it: `..`, or the name that it gives. */
function endOfDefinition(lines: readonly string[], from: number, end = '.'): number {
  const last = `.${end === '' ? '.' : end}`;
  for (let at = from + 1; at < lines.length; at += 1) {
    if (lines[at]!.replace(/^[.'][ \t]+/, '.').trimEnd() === last) return at;
  }
  return lines.length;
}

const condition =
  /^(!?[a-z](?=\s|\\\{)|!?[dr][ \t]*[^\s\\]+|!?'[^']*'[^']*'|!?"[^"]*"[^"]*"|!?\((?:[^()]|\([^()]*\))*\)|[^\s{]+?(?=\\\{|\s|$))[ \t]*(.*)$/;

/** `n`, `t`, a comparison of numbers or of texts, and what is to be done where it holds. */
function conditionOf(rest: string): [condition: string, body: string] {
  const found = rest.length > mostConditional ? null : condition.exec(rest);
  return found ? [found[1]!, found[2]!] : ['', ''];
}

/** Puts what follows a condition in the place of its line, or leaves it out. Answers the last place that is done with. */
function takeUp(lines: string[], at: number, body: string, isTrue: boolean): number {
  const isBlock = body.startsWith('\\{');
  if (!isBlock && !isTrue) return at;
  lines[at] = isBlock ? body.slice(2).trimStart() : body;
  return isTrue ? at - 1 : endOfBlock(lines, at);
}

function endOfBlock(lines: readonly string[], from: number): number {
  let depth = 1;
  for (let at = from; at < lines.length; at += 1) {
    const line = lines[at]!;
    if (line.includes('\\')) depth += (line.match(/\\\{/g)?.length ?? 0) - (line.match(/\\\}/g)?.length ?? 0);
    if (depth <= 0) return at;
  }
  return lines.length;
}
