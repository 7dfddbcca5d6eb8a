import { argumentsOf, withoutEscapes, type Page } from './roff.ts';
import { createWriter, type Writer } from './writer.ts';

/** A page in the macros of mdoc(7) as Markdown, and its title. */
export function mdocText(page: Page): { text: string; title: string | null } {
  const writer = createWriter();
  const plain = (text: string) => withoutEscapes(text, page.strings);
  let name = '';
  let title: string | null = null;
  const lineOf = createLineReader(plain, (given) => {
    if (name === '') name = given ?? '';
    return given ?? name;
  });
  const call = createCaller(writer, lineOf);
  for (const line of page.lines) {
    const [, macro, rest = ''] = /^[.'][ \t]*(%?\w+)(.*)$/.exec(line) ?? [];
    if (macro === 'Dt') title = argumentsOf(rest)[0]?.toLowerCase() ?? null;
    else if (macro !== undefined) call(macro, argumentsOf(rest));
    else if (/^[ \t]*$/.test(line)) writer.end();
    else if (!/^[.']/.test(line)) writer.add(plain(line));
  }
  const text = writer.text();
  const summary = writer.summary();
  return { text, title: summary !== null && / [-–—] /.test(summary) ? summary : title };
}

type ListKind = 'terms' | 'table' | 'items';

function createCaller(writer: Writer, lineOf: (words: readonly string[]) => string) {
  const lists: ListKind[] = [];
  let isSynopsis = false;

  function heading(level: number, text: string): void {
    isSynopsis = text === 'SYNOPSIS';
    writer.heading(level, text);
  }

  function item(words: readonly string[]): void {
    writer.end();
    const text = lineOf(words);
    if (lists.at(-1) === 'table') writer.add(text);
    else writer.term(lists.at(-1) === 'terms' && text !== '' ? text : '-');
  }

  return (macro: string, words: readonly string[]): void => {
    if (macro === 'Sh' || macro === 'Ss') heading(macro === 'Sh' ? 2 : 3, lineOf(words));
    else if (macro === 'It') item(words);
    else if (macro === 'Bl') lists.push(kindOfList(words));
    else if (macro === 'El') {
      lists.pop();
      writer.end();
    } else if (macro === 'Bd') writer.example(words.includes('-literal') || words.includes('-unfilled'));
    else if (macro === 'Ed') writer.example(false);
    else if (macro === 'Pp' || macro === 'Lp' || macro === 'sp') writer.end();
    else if (macro === 'br') writer.breakLine();
    else if (macro.startsWith('%')) writer.add(lineOf(words));
    else if (isInlineMacro(macro)) {
      // In a synopsis each name of the page begins a line.
      if (isSynopsis && macro === 'Nm') writer.breakLine();
      const text = lineOf([macro, ...words]);
      if (text !== '') writer.add(text, { isGlued: closes(macro) });
    }
  };
}

function kindOfList(words: readonly string[]): ListKind {
  if (words.includes('-column')) return 'table';
  return words.some((word) => /^-(?:tag|hang|ohang|inset|diag)$/.test(word)) ? 'terms' : 'items';
}

/** Macros that put something around the rest of their line. */
const around: Readonly<Record<string, readonly [open: string, close: string]>> = {
  ...{ Op: ['[', ']'], Dq: ['“', '”'], Qq: ['"', '"'], Sq: ['‘', '’'], Ql: ['‘', '’'], Pq: ['(', ')'], Aq: ['<', '>'] },
  ...{ Bq: ['[', ']'], Brq: ['{', '}'], D1: ['', ''], Dl: ['', ''], En: ['', ''] },
};

/** Those whose end is another macro, maybe lines later. */
const marks: Readonly<Record<string, readonly [text: string, side: 'open' | 'close']>> = {
  ...{ Oo: ['[', 'open'], Oc: [']', 'close'], Do: ['“', 'open'], Dc: ['”', 'close'], Qo: ['"', 'open'] },
  ...{ Qc: ['"', 'close'], So: ['‘', 'open'], Sc: ['’', 'close'], Po: ['(', 'open'], Pc: [')', 'close'] },
  ...{ Ao: ['<', 'open'], Ac: ['>', 'close'], Bo: ['[', 'open'], Bc: [']', 'close'], Bro: ['{', 'open'] },
  ...{ Brc: ['}', 'close'] },
};

/** Macros that name a system. */
const systems: Readonly<Record<string, string>> = {
  ...{ Ox: 'OpenBSD', Fx: 'FreeBSD', Nx: 'NetBSD', Dx: 'DragonFly', Bx: 'BSD', Ux: 'UNIX', At: 'AT&T UNIX' },
  ...{ Bsx: 'BSD/OS' },
};

/** Macros whose arguments are text. */
const inline = new Set(
  'Ad An Ar Cd Cm Dv Em Er Ev Fa Fd Fl Fn Fr Ft Ic In Li Lk Ms Mt Nd Nm No Ns Ap Pa Pf St Sx Sy Ta Tn Va Vt Xr'.split(
    ' ',
  ),
);
const silent = new Set('Xo Xc Rs Re Fo Fc'.split(' '));

export function isInlineMacro(word: string): boolean {
  return inline.has(word) || silent.has(word) || has(around, word) || has(marks, word) || has(systems, word);
}

function has<Value>(table: Readonly<Record<string, Value>>, word: string): boolean {
  return Object.hasOwn(table, word);
}

/** Whether a line that begins with it follows what stands before without a space. */
export function closes(word: string): boolean {
  return has(marks, word) && marks[word]![1] === 'close';
}

const isClosing = (word: string) => /^[.,:;)\]?!]$/.test(word);
const isOpening = (word: string) => word === '(' || word === '[';

/** The text of lines of macros and words. `nameOf` answers what `Nm` stands for, and learns it from the first one. */
export function createLineReader(plain: (text: string) => string, nameOf: (given: string | undefined) => string) {
  return lineOf;

  function lineOf(words: readonly string[]): string {
    const line = createLine();
    for (let at = 0; at < words.length; at += 1) {
      const word = words[at]!;
      if (isClosing(word)) line.put(word, { isGlued: true });
      else if (isOpening(word)) line.open(word);
      else if (!isInlineMacro(word)) line.put(plain(word));
      else if (has(around, word)) return line.put(enclosed(word, words.slice(at + 1)));
      else at += call(word, argumentsFrom(words, at + 1), line);
    }
    return line.put('');
  }

  function enclosed(macro: string, rest: readonly string[]): string {
    const [open, close] = around[macro]!;
    let end = rest.length;
    while (end > 0 && isClosing(rest[end - 1]!)) end -= 1;
    return `${open}${lineOf(rest.slice(0, end))}${close}${rest.slice(end).join('')}`;
  }

  /** Answers how many of the words were its arguments. */
  function call(macro: string, own: readonly string[], line: Line): number {
    if (silent.has(macro)) return 0;
    if (macro === 'Ns') line.open('');
    else if (macro === 'Fl' && own.length === 0) line.open('-');
    else if (macro === 'Ap') line.open("'", { isGlued: true });
    else if (has(marks, macro)) {
      const [mark, side] = marks[macro]!;
      if (side === 'open') line.open(mark);
      else line.put(mark, { isGlued: true });
    } else if (macro === 'Pf') {
      line.open(plain(own[0] ?? ''));
      return Math.min(own.length, 1);
    } else if (has(systems, macro)) {
      const version = macro === 'Ux' ? [] : own.slice(0, 1);
      line.put([systems[macro]!, ...version.map(plain)].join(' '));
      return version.length;
    } else {
      line.put(spoken(macro, own.map(plain)));
      return own.length;
    }
    return 0;
  }

  function spoken(macro: string, args: readonly string[]): string {
    const [first = '', ...others] = args;
    if (macro === 'Nm') return [nameOf(args[0]), ...others].join(' ');
    if (macro === 'Fl') return args.map((arg) => `-${arg}`).join(' ');
    if (macro === 'Ar' && args.length === 0) return 'file ...';
    if (macro === 'Nd') return `- ${args.join(' ')}`;
    if (macro === 'Xr' && args.length > 1) return `${first}(${others[0]})`;
    if (macro === 'Fn') return `${first}(${others.join(', ')})`;
    if (macro === 'In') return `#include <${first}>`;
    if (macro === 'Lk' && args.length > 1) return `${others.join(' ')} (${first})`;
    return macro === 'Ta' ? '|' : args.join(' ');
  }
}

interface Line {
  /** Adds to it and answers all of it. */
  put(text: string, options?: { isGlued?: boolean }): string;
  /** What comes next follows without a space. */
  open(text: string, options?: { isGlued?: boolean }): void;
}

function createLine(): Line {
  let text = '';
  let isOpen = true;
  function put(part: string, { isGlued = false } = {}): string {
    if (part === '') return text;
    text += isOpen || isGlued ? part : ` ${part}`;
    isOpen = false;
    return text;
  }
  return {
    put,
    open(part, options) {
      put(part, options);
      isOpen = true;
    },
  };
}

/** Words up to the next macro or closing mark: what a macro takes. */
function argumentsFrom(words: readonly string[], from: number): string[] {
  let end = from;
  while (end < words.length && !isInlineMacro(words[end]!) && !isClosing(words[end]!)) end += 1;
  return words.slice(from, end);
}
