import { isSpace, lineEnd } from './blocks.ts';

/** Where a stretch of text may be cut: ascending offsets inside it, none at its start or end. */
export type Cutter = (text: string, start: number, end: number) => number[];

const listItem = /^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]/;
const closer = /^[ \t]*(?:[}\])]|end\b|<\/|else\b|elif\b|catch\b|finally\b|then\b|fi\b|done\b)/;
const abbreviations = new Set(
  'mr mrs ms dr prof st no nr vs cf ca approx fig sec ch vol eds inc ltd co dept e.g i.e z.b d.h u.a bzw evtl ggf abs art'.split(
    ' ',
  ),
);

/** Before each line. */
export const lineCuts: Cutter = (text, start, end) => {
  const cuts: number[] = [];
  let next = lineEnd(text, start, end) + 1;
  for (; next < end; next = lineEnd(text, next, end) + 1) cuts.push(next);
  return cuts;
};

/** Before each first line after blank lines. */
export const blankLineCuts: Cutter = (text, start, end) =>
  lineCuts(text, start, end).filter((cut) => !startsBlank(text, cut) && startsBlank(text, previousLine(text, cut)));

/** Before each unindented line after a blank line: where definitions begin in most languages. */
export const definitionCuts: Cutter = (text, start, end) =>
  blankLineCuts(text, start, end).filter(
    (cut) => !isSpace(text.charCodeAt(cut)) && !closer.test(text.slice(cut, cut + 40)),
  );

/** Before each line that is indented the least, unless it closes what the line before began. */
export const outdentCuts: Cutter = (text, start, end) => {
  const openers = lineCuts(text, start, end).filter(
    (cut) => !startsBlank(text, cut) && !closer.test(text.slice(cut, cut + 40)),
  );
  const indents = openers.map((cut) => indentAt(text, cut, end));
  const least = indents.reduce((found, indent) => Math.min(found, indent), Infinity);
  return openers.filter((_, index) => indents[index] === least);
};

/** Before each item of a list that is indented the least. */
export const itemCuts: Cutter = (text, start, end) => {
  const items = lineCuts(text, start, end).filter((cut) => listItem.test(text.slice(cut, cut + 80)));
  const indents = items.map((cut) => indentAt(text, cut, end));
  const least = indents.reduce((found, indent) => Math.min(found, indent), Infinity);
  return items.filter((_, index) => indents[index] === least);
};

/** After each sentence. A line break alone does not end one; a blank line does. */
export const sentenceCuts: Cutter = (text, start, end) => {
  const cuts: number[] = [];
  for (let index = start; index < end; index++) {
    const code = text.charCodeAt(index);
    const next = isWideEnd(code) ? afterWideEnd(text, index, end) : isEnd(code) ? afterEnd(text, index, end) : 0;
    if (next === 0) continue;
    if (next > 0 && next < end) cuts.push(next);
    index = Math.abs(next) - 1;
  }
  return cuts;
};

/** `.` `!` `?` `…` */
function isEnd(code: number): boolean {
  return code === 0x2e || code === 0x21 || code === 0x3f || code === 0x2026;
}

/** `。` `！` `？` `｡`: no space follows them. */
function isWideEnd(code: number): boolean {
  return code === 0x3002 || code === 0xff01 || code === 0xff1f || code === 0xff61;
}

/** Quotes and brackets that close after a sentence's end. */
function isCloser(code: number): boolean {
  return (
    code === 0x22 ||
    code === 0x27 ||
    code === 0x29 ||
    code === 0x5d ||
    code === 0x2a ||
    code === 0x5f ||
    code === 0x201c ||
    code === 0x201d ||
    code === 0x2019 ||
    code === 0xbb ||
    code === 0x300d ||
    code === 0x300f ||
    code === 0xff09
  );
}

function afterWideEnd(text: string, index: number, end: number): number {
  let next = index + 1;
  while (next < end && (isWideEnd(text.charCodeAt(next)) || isCloser(text.charCodeAt(next)))) next++;
  while (next < end && isSpace(text.charCodeAt(next))) next++;
  return next;
}

/** Where the next sentence starts; negative: how far was read without finding one. */
function afterEnd(text: string, index: number, end: number): number {
  let next = index + 1;
  while (next < end && isEnd(text.charCodeAt(next))) next++;
  while (next < end && isCloser(text.charCodeAt(next))) next++;
  const closed = next;
  while (next < end && isSpace(text.charCodeAt(next))) next++;
  if (next === closed || next >= end) return -next;
  const lower = /^\p{Ll}/u.test(text.slice(next, next + 2));
  return lower || (text[index] === '.' && isAbbreviation(text, index)) ? -next : next;
}

function isAbbreviation(text: string, dot: number): boolean {
  let start = dot;
  while (start > 0 && dot - start < 8 && !isSpace(text.charCodeAt(start - 1))) start--;
  const word = text.slice(start, dot).replace(/^[("'„“]+/, '');
  return /^\p{L}$/u.test(word) || /^\d{1,2}$/.test(word) || abbreviations.has(word.toLowerCase());
}

function startsBlank(text: string, line: number): boolean {
  for (let index = line; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x0a) return true;
    if (!isSpace(code)) return false;
  }
  return true;
}

function previousLine(text: string, line: number): number {
  return line < 2 ? 0 : text.lastIndexOf('\n', line - 2) + 1;
}

function indentAt(text: string, line: number, end: number): number {
  let indent = 0;
  for (let index = line; index < end; index++) {
    const code = text.charCodeAt(index);
    if (code !== 0x20 && code !== 0x09) break;
    indent += code === 0x09 ? 4 : 1;
  }
  return indent;
}
