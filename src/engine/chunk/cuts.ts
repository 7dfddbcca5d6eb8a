import { firstOf } from '../../base/collections.ts';
import { isSpace, lineEnd, type Block } from './blocks.ts';

/** How large things are for the embedder, and what fits into one chunk. */
export interface Measure {
  /** Tokens of a text, without those that the model adds to any input. */
  tokens(text: string): number;
  /** Tokens that the model adds to any input. */
  readonly overhead: number;
  readonly maxTokens: number;
  /**
   * No chunk is longer, whatever its tokens: tokenizers make one unknown token of a long run of
   * characters, or none of white space, and such a chunk would be of no use to anyone.
   */
  readonly maxCharacters: number;
}

/** The headings above a block, as the line that is embedded with a chunk that starts there. */
export interface Contexts {
  /** `Title > Section`, or null when nothing stands above. */
  of(block: Block): string | null;
  /** Tokens that are left for the content of a chunk that starts at the block. */
  budget(block: Block): number;
}

const charactersPerToken = 12;

export function createMeasure(countTokens: (text: string) => number, maxTokens: number): Measure {
  const overhead = countTokens('');
  return {
    tokens: (text) => countTokens(text) - overhead,
    overhead,
    maxTokens,
    maxCharacters: maxTokens * charactersPerToken,
  };
}

/** Where the text of a stretch ends, before its trailing white space. */
export function contentEnd(text: string, start: number, end: number): number {
  let last = end;
  while (last > start && isSpace(text.charCodeAt(last - 1))) last--;
  return last;
}

/** Where the text of a stretch starts: after blank lines, with the indentation of its first line. */
export function contentStart(text: string, start: number, end: number): number {
  let first = start;
  let line = start;
  for (; first < end && isSpace(text.charCodeAt(first)); first++) if (text.charCodeAt(first) === 0x0a) line = first + 1;
  return line;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

const graphemeWindow = 64;

const shrink = 0.6;

/** White space is looked for in this share of a piece at its end, and at least so many characters back: words are whole then. */
const searchShare = 0.3;

const leastSearch = 60;

/**
 * Cuts a stretch that has no better places into pieces that fit: at white space when there is some
 * near the end of a piece, else between graphemes, else between code points.
 * `fits` is asked only for pieces of at most `maxCharacters`.
 */
export function sizePieces(
  text: string,
  { start, end }: { start: number; end: number },
  { maxCharacters, fits }: { maxCharacters: number; fits: (start: number, end: number) => boolean },
): { start: number; end: number }[] {
  const pieces: { start: number; end: number }[] = [];
  let size = maxCharacters;
  for (let position = start; position < end;) {
    let cut = pieceEnd(text, position, end, size);
    while (!fits(position, cut) && cut > nextCodePoint(text, position)) {
      size = Math.max(1, Math.floor((cut - position) * shrink));
      cut = pieceEnd(text, position, end, size);
    }
    pieces.push({ start: position, end: cut });
    position = cut;
    // Texts change on the way: look whether longer pieces fit again.
    size = Math.min(maxCharacters, Math.ceil(size * 1.25) + 1);
  }
  return pieces;
}

function pieceEnd(text: string, position: number, end: number, size: number): number {
  const limit = position + size;
  if (limit >= end) return end;
  const earliest = Math.max(position, limit - Math.max(Math.floor(size * searchShare), leastSearch));
  for (let index = limit; index > earliest; index--) if (isSpace(text.charCodeAt(index - 1))) return index;
  return Math.max(graphemeStart(text, position, limit), nextCodePoint(text, position));
}

/** The start of the grapheme that holds `index`, or of its code point when that would be no progress. */
function graphemeStart(text: string, position: number, index: number): number {
  const from = wholeCodePoint(text, Math.max(position, index - graphemeWindow));
  const segment = graphemes.segment(text.slice(from, index + graphemeWindow)).containing(index - from);
  const found = from + (segment?.index ?? 0);
  return found > position ? found : wholeCodePoint(text, index);
}

function wholeCodePoint(text: string, index: number): number {
  return isPairMiddle(text, index) ? index - 1 : index;
}

function nextCodePoint(text: string, position: number): number {
  return isPairMiddle(text, position + 1) ? position + 2 : position + 1;
}

function isPairMiddle(text: string, index: number): boolean {
  return (text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800;
}

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

/** A piece that is never cut again: a block, or a part of one that is too long for a chunk. */
export interface Unit {
  start: number;
  /** Where the next unit starts. */
  end: number;
  tokens: number;
  /** How good it is to cut before it; 0 inside a sentence, `blockStrength` between blocks, more before headings. */
  strength: number;
  block: Block;
  /** The rows that a chunk repeats when it starts here. */
  header: string | null;
}

export const blockStrength = 4;

/** More characters than this for each token are rare. */
const likelyCharacters = 6;

/** From coarse to fine, with how good a cut of each kind is. */
const cutters: Record<Block['kind'], readonly (readonly [Cutter, strength: number])[]> = {
  heading: [],
  prose: [
    [sentenceCuts, 2],
    [lineCuts, 1],
  ],
  list: [
    [itemCuts, 3],
    [itemCuts, 2],
    [sentenceCuts, 1],
    [lineCuts, 1],
  ],
  code: [
    [definitionCuts, 3],
    [blankLineCuts, 2],
    [outdentCuts, 1],
    [lineCuts, 1],
  ],
  data: [
    [outdentCuts, 3],
    [outdentCuts, 2],
    [outdentCuts, 2],
    [outdentCuts, 1],
    [lineCuts, 1],
  ],
  table: [[lineCuts, 2]],
};

/** The blocks as units that each fit into a chunk with their context. They touch, and cover the text from the first block on. */
export function toUnits(text: string, blocks: readonly Block[], contexts: Contexts, measure: Measure): Unit[] {
  const units: Unit[] = [];
  // Headings stay with what follows them, so that has to leave room for them.
  let reserved = 0;
  for (const [index, current] of blocks.entries()) {
    const end = blocks[index + 1]?.start ?? text.length;
    const budget = Math.max(1, contexts.budget(current) - reserved);
    const found = splitBlock(text, current, { end, budget, measure });
    firstOf(found).strength = strengthBefore(text, current, blocks[index - 1]);
    reserved = current.kind === 'heading' ? Math.min(reserved + firstOf(found).tokens, measure.maxTokens >> 1) : 0;
    for (const unit of found) units.push(unit);
  }
  return units;
}

function strengthBefore(text: string, current: Block, previous: Block | undefined): number {
  if (current.kind === 'heading') return blockStrength + 7 - current.level;
  // "The plans are:" and its list belong together.
  const introduced = previous?.kind === 'prose' && text[contentEnd(text, previous.start, previous.end) - 1] === ':';
  return introduced ? 1 : blockStrength;
}

function splitBlock(
  text: string,
  current: Block,
  { end, budget, measure }: { end: number; budget: number; measure: Measure },
): Unit[] {
  const header = current.kind === 'table' ? tableHeader(current, budget, measure) : null;
  const later = budget - (header === null ? 0 : measure.tokens(header));
  const firstCut = current.start + (header === null ? 0 : rowsStart(current, budget, measure));
  const units: Unit[] = [];
  const room = () => (units.length === 0 ? budget : later);
  const add = (start: number, stop: number, strength: number, tokens: number) => {
    units.push({ start, end: stop, tokens, strength, block: current, header: units.length === 0 ? null : header });
  };
  /** Spares counting what is too long by all odds; if it is not, its parts come together again in one chunk. */
  const tokensIfShort = (start: number, stop: number) =>
    stop - start > budget * likelyCharacters ? Infinity : tokensOf(text, start, stop, measure);
  const divide = (start: number, stop: number, part: { level: number; strength: number; tokens: number }): void => {
    const { level, strength, tokens } = part;
    if (tokens <= room()) return add(start, stop, strength, tokens);
    const [cutter, cutStrength] = cutters[current.kind][level] ?? [];
    if (!cutter) return divideBySize(start, stop, strength);
    const cuts = cutter(text, start, stop).filter((cut) => cut > firstCut + 1);
    if (cuts.length === 0) return divide(start, stop, { ...part, level: level + 1 });
    for (const [index, cut] of [...cuts, stop].entries()) {
      const from = cuts[index - 1] ?? start;
      const tokens = tokensIfShort(from, cut);
      divide(from, cut, { level: level + 1, strength: index === 0 ? strength : cutStrength!, tokens });
    }
  };
  const divideBySize = (start: number, stop: number, strength: number): void => {
    const fits = (from: number, to: number) => tokensOf(text, from, to, measure) <= room();
    for (const piece of sizePieces(text, { start, end: stop }, { maxCharacters: measure.maxCharacters, fits })) {
      const tokens = tokensOf(text, piece.start, piece.end, measure);
      add(piece.start, piece.end, piece.start === start ? strength : 0, tokens);
    }
  };
  divide(current.start, end, { level: 0, strength: blockStrength, tokens: tokensIfShort(current.start, end) });
  return units;
}

/** The header is worth repeating while most of the chunk is left for rows. Padding is not: each dash of a rule is a token. */
function tableHeader(table: Block, budget: number, measure: Measure): string | null {
  if (table.label === undefined || table.label.length > measure.maxCharacters) return null;
  const header = table.label.replace(/[ \t]{2,}/g, ' ').replace(/-{4,}/g, '---');
  return measure.tokens(header) * 3 <= budget ? header : null;
}

/** How long the header rows are, which are not cut from the first of the others; 0 when both may not fit into a chunk. */
function rowsStart({ label = '' }: Block, budget: number, measure: Measure): number {
  return measure.tokens(label) * 2 <= budget ? label.length : 0;
}

/** Infinite when the stretch is too long for a chunk whatever its tokens. */
function tokensOf(text: string, start: number, end: number, measure: Measure): number {
  const last = contentEnd(text, start, end);
  if (last - start > measure.maxCharacters) return Infinity;
  // Line breaks are tokens to some tokenizers.
  return measure.tokens(text.slice(start, Math.min(end, last + 2)));
}
