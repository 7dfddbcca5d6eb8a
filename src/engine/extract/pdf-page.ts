import { at } from '../../base/collections.ts';

/** A run of text on a page, as pdf.js gives it: in reading order, coordinates from the lower left. */
export interface TextItem {
  str: string;
  hasEOL: boolean;
  width: number;
  height: number;
  /** `[a, b, c, d, x, y]` */
  transform: number[];
}

interface Line {
  text: string;
  /** Of the baseline. */
  y: number;
  right: number;
  /** Has a wide gap, as rows of tables have; such lines are never joined. */
  gapped: boolean;
}

/** A gap between lines of this many usual gaps starts a paragraph. */
const paragraphGap = 1.3;
/** A line that reaches this share of the page's text width is wrapped, not ended, … */
const fullLine = 0.9;
/** … when there are this many, as in running text. */
const leastFullLines = 4;

/** The text of a page in paragraphs, with wrapped lines joined and hyphenated words whole. */
export function pageText(items: readonly TextItem[]): string {
  const lines = toLines(items);
  const usualGap = median(gapsOf(lines).filter((gap) => gap > 0));
  const right = wrapMargin(lines);
  const parts: string[] = [];
  for (const [index, line] of lines.entries()) {
    const previous = lines[index - 1];
    parts.push(previous ? joint(previous, line, usualGap, right) : '', line.text);
  }
  return joinHyphenated(parts.join(''))
    .replace(/(?<![ \t])[ \t]+$/gm, '')
    .trim();
}

function toLines(items: readonly TextItem[]): Line[] {
  const lines: Line[] = [];
  let open: Line | null = null;
  for (const item of items) {
    if (item.str !== '') {
      const [x = 0, y = 0] = item.transform.slice(4);
      open ??= { text: '', y, right: 0, gapped: false };
      const wide = item.str.trim() === '' && item.width > 8;
      open.gapped ||= wide;
      open.text += wide ? '  ' : item.str;
      open.right = Math.max(open.right, x + item.width);
    }
    if (!item.hasEOL) continue;
    if (open && open.text.trim() !== '') lines.push(open);
    open = null;
  }
  if (open && open.text.trim() !== '') lines.push(open);
  return lines;
}

/** How far right a line has to reach to count as wrapped; infinite when the page is no running text. */
function wrapMargin(lines: readonly Line[]): number {
  const margin = lines.reduce((widest, line) => Math.max(widest, line.right), 0) * fullLine;
  const full = lines.filter((line) => line.right >= margin && !line.gapped);
  return full.length < leastFullLines ? Infinity : margin;
}

function gapsOf(lines: readonly Line[]): number[] {
  return lines.slice(1).map((line, index) => at(lines, index).y - line.y);
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

function joint(previous: Line, line: Line, usualGap: number, right: number): string {
  const gap = previous.y - line.y;
  if (gap > usualGap * paragraphGap || gap < -usualGap) return '\n\n';
  const wrapped = previous.right >= right && !previous.gapped && !line.gapped;
  return wrapped && !/[-\u00ad]$/.test(previous.text) ? ' ' : '\n';
}

/** "con-" and "firming" are one word, unless the text writes it with its hyphen elsewhere. */
function joinHyphenated(text: string): string {
  const written = new Set(text.match(/(?<!\p{L})\p{L}+-\p{Ll}+/gu));
  return text.replace(/(?<!\p{L})(\p{L}+)[-\u00ad]\n(\p{Ll}+)/gu, (_, first: string, second: string) =>
    written.has(`${first}-${second}`) ? `${first}-${second}` : first + second,
  );
}
