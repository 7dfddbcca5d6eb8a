export interface Sentence {
  text: string;
  /** Where it begins in what was split. */
  start: number;
}

const abbreviations = new Set('vs etc e.g i.e approx inc ltd u.s a.m p.m'.split(' '));
/** These are words, too, when they are written small. */
const capitalAbbreviations = new Set(
  'Mr Mrs Ms Dr Prof St No Jr Sr Dept Fig Jan Feb Mar Apr Aug Sept Sep Oct Nov Dec Inc Ltd'.split(' '),
);
const lineMark = /^\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?/;
/** Lines that are no prose: headings, quotes, tables, indented code. */
const noProse =
  /^\s*(?:#{1,6}\s|>|\||<!--|\/\/|import |export |const |let |var |def |class |function |return |SELECT |\{|\}|@\w+|\$ )|^(?: {4}|\t)\S|^\s*$|[;{}]\s*$|=>|^\s*\w+\s?=\s/;

/** Sentences of prose and of lists, in one pass; code, tables, headings and quoted lines are left out. */
export function sentencesOf(text: string): Sentence[] {
  const found: Sentence[] = [];
  for (const { start, end } of blocksOf(text)) splitBlock(text, start, end, found);
  return found;
}

/** Paragraphs and list entries. A line that is broken in the middle of a sentence goes on in the next one. */
function* blocksOf(text: string): Generator<{ start: number; end: number }> {
  let block: { start: number; end: number } | null = null;
  let fence: string | null = null;
  for (let at = 0; at < text.length;) {
    const newline = text.indexOf('\n', at);
    const end = newline === -1 ? text.length : newline;
    const head = text.slice(at, Math.min(end, at + 200));
    const mark = /^\s*(```|~~~)/.exec(head)?.[1] ?? null;
    const wasIn = fence !== null;
    if (mark !== null) fence = fence === null ? mark : fence === mark ? null : fence;
    const skipped = wasIn || mark !== null || noProse.test(head);
    const listed = lineMark.exec(head);
    if (block && (skipped || listed || !goesOn(text, block.end, end - at))) {
      yield block;
      block = null;
    }
    if (block) block.end = end;
    else if (!skipped) block = { start: at + (listed?.[0].length ?? 0), end };
    at = end + 1;
  }
  if (block) yield block;
}

/** A long line without an end was wrapped. */
function goesOn(text: string, end: number, nextLength: number): boolean {
  const lineStart = text.lastIndexOf('\n', end - 1) + 1;
  return (
    end - lineStart > 45 && nextLength > 0 && !/[.!?:…]["”’)]?\s*$/.test(text.slice(Math.max(lineStart, end - 6), end))
  );
}

function splitBlock(text: string, from: number, to: number, found: Sentence[]): void {
  let start = from;
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at);
    if (code !== 46 && code !== 33 && code !== 63 && code !== 0x2026) continue;
    let end = at + 1;
    while (end < to && '.!?…"”’)*'.includes(text[end]!)) end += 1;
    if (end < to && !/\s/.test(text[end]!)) {
      at = end - 1;
      continue;
    }
    if (end === to || endsSentence(text, at, end, to)) {
      push(text, start, end, found);
      start = end;
    }
    at = end - 1;
  }
  push(text, start, to, found);
}

function endsSentence(text: string, at: number, end: number, to: number): boolean {
  const next = text.slice(end, Math.min(to, end + 12)).trimStart();
  const marks = text.slice(at, Math.min(end, at + 20));
  if (/^\p{Ll}/u.test(next) && !marks.includes('?') && !/^(?:i|i['’]\w+) /.test(next)) return false;
  // Several marks are no abbreviation.
  if (!/^\.[^.!?…]*$/.test(marks)) return true;
  const word = /[\p{L}.]{1,8}$/u.exec(text.slice(Math.max(0, at - 8), at))?.[0] ?? '';
  return (
    (!abbreviations.has(word.toLowerCase()) && !capitalAbbreviations.has(word) && !/^\p{Lu}$/u.test(word)) ||
    word === 'I'
  );
}

function push(text: string, start: number, end: number, found: Sentence[]): void {
  const raw = text.slice(start, end);
  const trimmed = raw.trim();
  if (trimmed === '') return;
  const said = trimmed.replace(/^["“*_]+(?=\p{L})/u, '');
  found.push({ text: said.replaceAll('\n', ' '), start: start + raw.indexOf(said) });
}
