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

export function block(kind: Block['kind'], start: number, end: number, path: readonly string[] = []): Block {
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

export function isBlank(text: string, start: number, end: number): boolean {
  for (let index = start; index < end; index++) if (!isSpace(text.charCodeAt(index))) return false;
  return true;
}
