import { firstOf } from '../../base/collections.ts';

/** A stretch of the text that belongs together. Blocks are in order and hold every character that is not blank. */
export interface Block {
  start: number;
  end: number;
  /** Decides where it may be cut when it is too long for one chunk. */
  kind: 'heading' | 'prose' | 'list' | 'code' | 'data' | 'table';
  /** Of a heading, 1 to 6; else 0. */
  level: number;
  /** Texts of the headings it stands under, outermost first, its own not included. */
  path: readonly string[];
  /** Of a heading: its text without markup. Of a table: the header rows, repeated when it is cut. */
  label?: string;
}

/** The structure of a text. Anything unknown is read as plain paragraphs; turns of a conversation are cut by `chunkTurns`. */
export type ChunkFormat = 'text' | 'markdown' | 'code' | 'csv' | 'json' | 'conversation';

const visible = /\S/;

/** Blocks of everything but Markdown, which has `markdownBlocks`. */
export function plainBlocks(text: string, format: ChunkFormat): Block[] {
  if (format === 'code') return whole(text, 'code');
  if (format === 'json') return whole(text, 'data');
  if (format === 'csv') return rows(text);
  return paragraphs(text, 0, text.length);
}

function whole(text: string, kind: Block['kind']): Block[] {
  return visible.test(text) ? [block(kind, 0, text.length)] : [];
}

/** One table, as Markdown or with one header line. */
function rows(text: string): Block[] {
  const [table] = whole(text, 'table');
  if (!table) return [];
  const headerEnd = lineEnd(text, 0, text.length);
  const ruleEnd = lineEnd(text, headerEnd + 1, text.length);
  const ruled = /^[|:\- \t]+$/.test(text.slice(headerEnd + 1, ruleEnd));
  return [{ ...table, label: text.slice(0, ruled ? ruleEnd : headerEnd) }];
}

function block(kind: Block['kind'], start: number, end: number, path: readonly string[] = []): Block {
  return { start, end, kind, level: 0, path };
}

/** Stretches between blank lines. */
function paragraphs(text: string, from: number, to: number): Block[] {
  const found: Block[] = [];
  let start = -1;
  for (let position = from; position < to;) {
    const end = lineEnd(text, position, to);
    const blank = isBlank(text, position, end);
    if (blank && start >= 0) found.push(block('prose', start, position));
    if (blank) start = -1;
    else if (start < 0) start = position;
    position = end + 1;
  }
  if (start >= 0) found.push(block('prose', start, to));
  return found;
}

/** Where the line that holds `position` ends: the index of its newline, or `to`. */
export function lineEnd(text: string, position: number, to: number): number {
  // Not looked for in the rest of the text, which may be one line that is asked about again and again.
  const newline = text.slice(position, to).indexOf('\n');
  return newline < 0 ? to : position + newline;
}

/** Whether a character code is white space as `\s` sees it. */
export function isSpace(code: number): boolean {
  if (code < 0x80) return code === 0x20 || (code >= 0x09 && code <= 0x0d);
  if (code < 0x1680) return code === 0xa0;
  return (code >= 0x2000 && code <= 0x200a) || [0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff].includes(code);
}

function isBlank(text: string, start: number, end: number): boolean {
  for (let index = start; index < end; index++) if (!isSpace(text.charCodeAt(index))) return false;
  return true;
}

interface Line {
  start: number;
  end: number;
  /** Index of the first character that is not a space or tab. */
  first: number;
  /** Columns before it. */
  indent: number;
}

interface Heading {
  level: number;
  label: string;
}

interface Scan {
  readonly text: string;
  readonly blocks: Block[];
  /** The headings in force. */
  headings: Heading[];
  path: readonly string[];
  /** The block that the next line may still belong to, how many lines it has, and where its last one starts. */
  open: Block | null;
  lines: number;
  lastLine: number;
  closingFence: RegExp | null;
  blankBefore: boolean;
}

const fence = /^(?:(`{3,})[^`]*|(~{3,}).*)$/;

const atxHeading = /^(#{1,6})(?:[ \t]+|$)/;

const unorderedItem = /^[-*+](?:[ \t]|$)/;

const orderedItem = /^\d{1,9}[.)](?:[ \t]|$)/;

const setextLine = /^(?:=+|-{2,})[ \t]*$/;

const ruleCharacters = /^[|:\- \t]+$/;

const frontMatterEnd = /\n(?:---|\.\.\.)[ \t]*(?=\n|$)/;

const maxFrontMatter = 65_536;

const maxLabel = 160;

/**
 * Blocks of Markdown: a line scanner for what matters to chunks (headings, fences, lists, tables,
 * paragraphs), not a full parser. An unclosed fence reaches to the end, as CommonMark says.
 */
export function markdownBlocks(text: string): Block[] {
  const scan: Scan = {
    text,
    blocks: [],
    headings: [],
    path: [],
    open: null,
    lines: 0,
    lastLine: 0,
    closingFence: null,
    blankBefore: false,
  };
  let position = readFrontMatter(scan);
  while (position < text.length) {
    const end = lineEnd(text, position, text.length);
    readLine(scan, measureLine(text, position, end));
    position = end + 1;
  }
  closeBlock(scan);
  return scan.blocks;
}

function measureLine(text: string, start: number, end: number): Line {
  let first = start;
  let indent = 0;
  for (; first < end; first++) {
    const code = text.charCodeAt(first);
    if (code === 0x20) indent += 1;
    else if (code === 0x09) indent += 4 - (indent % 4);
    else break;
  }
  return { start, end, first, indent };
}

/** Returns where the text goes on after front matter; 0 when there is none. */
function readFrontMatter(scan: Scan): number {
  if (!/^---[ \t]*\n/.test(scan.text)) return 0;
  const found = frontMatterEnd.exec(scan.text.slice(3, maxFrontMatter));
  if (!found) return 0;
  const end = 3 + found.index + found[0].length;
  scan.blocks.push(block('data', 0, end));
  return end + 1;
}

function readLine(scan: Scan, line: Line): void {
  if (scan.closingFence) return readFencedLine(scan, line, scan.closingFence);
  if (isBlank(scan.text, line.first, line.end)) return readBlankLine(scan);
  const handled = opensFence(scan, line) || opensHeading(scan, line) || underlines(scan, line) || opensItem(scan, line);
  if (!handled) {
    if (!continues(scan, line)) openBlock(scan, 'prose', line);
    extend(scan, line);
  }
  scan.blankBefore = false;
}

function readBlankLine(scan: Scan): void {
  // A list goes on after a blank line when the next line is an item or indented.
  if (scan.open?.kind !== 'list') closeBlock(scan);
  scan.blankBefore = true;
}

/** Lines inside a fence belong to its block until the closing fence. */
function readFencedLine(scan: Scan, line: Line, closingFence: RegExp): void {
  extend(scan, line);
  if (!closingFence.test(scan.text.slice(line.first, Math.min(line.end, line.first + 200)))) return;
  scan.closingFence = null;
  if (scan.open?.kind === 'code') closeBlock(scan);
}

function closeBlock(scan: Scan): void {
  if (scan.open) scan.blocks.push(scan.open);
  scan.open = null;
}

function openBlock(scan: Scan, kind: Block['kind'], line: Line): Block {
  closeBlock(scan);
  scan.lines = 0;
  scan.open = block(kind, line.start, line.end, scan.path);
  return scan.open;
}

function extend(scan: Scan, line: Line): void {
  scan.open!.end = line.end;
  scan.lastLine = line.start;
  scan.lines += 1;
}

function addHeading(scan: Scan, { level, label }: Heading, { start, end }: { start: number; end: number }): void {
  closeBlock(scan);
  const above = scan.headings.filter((heading) => heading.level < level);
  scan.blocks.push({ start, end, kind: 'heading', level, path: above.map((heading) => heading.label), label });
  scan.headings = [...above, { level, label }];
  scan.path = scan.headings.map((heading) => heading.label);
}

function opensFence(scan: Scan, line: Line): boolean {
  const match = fence.exec(scan.text.slice(line.first, Math.min(line.end, line.first + 200)));
  const marker = match?.[1] ?? match?.[2];
  if (marker === undefined) return false;
  scan.closingFence = new RegExp(`^${firstOf(marker)}{${marker.length},}[ \\t]*$`);
  if (scan.open?.kind !== 'list' || line.indent < 2) openBlock(scan, 'code', line);
  extend(scan, line);
  return true;
}

function opensHeading(scan: Scan, line: Line): boolean {
  if (line.indent > 3) return false;
  const marks = atxHeading.exec(scan.text.slice(line.first, Math.min(line.end, line.first + 8)))?.[1];
  if (marks === undefined) return false;
  const label = plainLabel(scan.text.slice(line.first + marks.length, line.end)).replace(/ #+$/, '');
  addHeading(scan, { level: marks.length, label }, line);
  return true;
}

/** A line under a paragraph can make that a heading, or its last line the header of a table. */
function underlines(scan: Scan, line: Line): boolean {
  if (scan.open?.kind !== 'prose') return false;
  const content = scan.text.slice(line.first, line.end);
  if (scan.lines === 1 && setextLine.test(content)) {
    const { start } = scan.open;
    scan.open = null;
    const label = plainLabel(scan.text.slice(start, line.start));
    addHeading(scan, { level: content.startsWith('=') ? 1 : 2, label }, { start, end: line.end });
    return true;
  }
  const header = scan.text.slice(scan.lastLine, line.start);
  if (!isTableRule(content) || !header.includes('|')) return false;
  openTable(scan, line);
  return true;
}

function isTableRule(content: string): boolean {
  return ruleCharacters.test(content) && content.includes('-') && content.includes('|');
}

function openTable(scan: Scan, rule: Line): void {
  const start = scan.lastLine;
  if (scan.lines > 1) scan.open!.end = start;
  else scan.open = null;
  openBlock(scan, 'table', { ...rule, start }).label = scan.text.slice(start, rule.end);
  extend(scan, rule);
}

function opensItem(scan: Scan, line: Line): boolean {
  const content = scan.text.slice(line.first, Math.min(line.end, line.first + 12));
  const ordered = orderedItem.test(content);
  if (!ordered && !unorderedItem.test(content)) return false;
  // A wrapped paragraph can have a line that begins with a number; only "1." begins a list there.
  if (ordered && scan.open?.kind === 'prose' && !/^1[.)]/.test(content)) return false;
  if (scan.open?.kind !== 'list') openBlock(scan, 'list', line);
  extend(scan, line);
  return true;
}

function continues(scan: Scan, line: Line): boolean {
  if (scan.open?.kind === 'list') return !scan.blankBefore || line.indent >= 2;
  if (scan.open?.kind === 'table') return scan.text.slice(line.first, line.end).includes('|');
  return scan.open?.kind === 'prose';
}

/**
 * A heading's text as a person reads it, in one line of at most 160 characters. Pictures, such as badges, are left out,
 * and only what they say in place of themselves stays where there is nothing else.
 */
export function plainLabel(markup: string): string {
  const read = markup.slice(0, maxLabel * 8);
  return labelOf(read.replace(/!\[[^\]]*\](?:\([^)]*(?:\)|$)|\[[^\]]*(?:\]|$))/g, ' ')) || labelOf(read);
}

function labelOf(markup: string): string {
  return markup
    .replace(/!\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, '$1')
    .replace(/\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, '$1')
    .replace(/[*`]+|(?<!\w)_+|_+(?!\w)|<[^>]*>/g, '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, maxLabel)
    .toWellFormed();
}
