import { argumentsOf, withoutEscapes } from './escapes.ts';
import { closes, createLineReader, isInlineMacro } from './mdoc-line.ts';
import type { Page } from './requests.ts';
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
