import { at } from '../../base/collections.ts';
import { plainBlocks, type Block, type ChunkFormat } from './blocks.ts';
import { createContexts, withContext, type Contexts } from './context.ts';
import { markdownBlocks, plainLabel } from './markdown.ts';
import { contentEnd, contentStart, createMeasure, type Measure } from './measure.ts';
import { pack, type Packed } from './pack.ts';
import { sizePieces } from './size.ts';
import { toUnits, type Unit } from './units.ts';

export interface ChunkOptions {
  format: ChunkFormat;
  /** No chunk has more tokens, its context included. */
  maxTokens: number;
  /** Sentences with up to this many tokens are repeated at the start of the next chunk of a section. */
  overlapTokens: number;
  /** Tokens that the embedder sees for a text. */
  countTokens: (text: string) => number;
  /** Title of the document: the outermost part of each context. */
  title?: string;
}

export interface ChunkDraft {
  /** 0, 1, 2, … */
  position: number;
  /** A stretch of the text; for the later chunks of a table, with its header rows before it. */
  content: string;
  /**
   * The headings it stands under, e.g. `Title > Section`, to be embedded and indexed with it (`withContext`); of a
   * turn what was said before it, which is only embedded with it.
   */
  context: string | null;
  /** `turn`: what somebody says; `question`: what somebody asks; `reply`: what a machine says; `text`: all else. */
  type: 'text' | 'turn' | 'question' | 'reply';
  /** `countTokens` of context and content together. */
  tokenCount: number;
  /** Offsets of the stretch in the text, in UTF-16 units; starts ascend, and stretches may overlap. */
  start: number;
  end: number;
}

/**
 * Cuts a text into chunks along its structure. Every character that is not white space is in some
 * chunk; none is empty, or larger than `maxTokens`. The same text gives the same chunks, and an
 * edit changes those around it.
 */
export function chunk(text: string, options: ChunkOptions): ChunkDraft[] {
  const measure = createMeasure(options.countTokens, options.maxTokens);
  const title = options.title === undefined ? undefined : plainLabel(options.title);
  const contexts = createContexts(title, measure);
  const units = toUnits(text, blocksOf(text, options.format), contexts, measure);
  const packed = pack(text, units, contexts, measure, options.overlapTokens);
  const drafts = packed.flatMap((chunk) => toDrafts(text, units, chunk, contexts, measure));
  return drafts.map((draft, position) => ({ position, ...draft }));
}

function blocksOf(text: string, format: ChunkFormat): Block[] {
  return format === 'markdown' ? markdownBlocks(text) : plainBlocks(text, format);
}

type Draft = Omit<ChunkDraft, 'position'>;

/** One draft; more only when the tokens of the units do not add up to those of the whole. */
function toDrafts(text: string, units: readonly Unit[], chunk: Packed, contexts: Contexts, measure: Measure): Draft[] {
  const first = at(units, chunk.from);
  const draft = assemble(text, chunk.start, at(units, chunk.to - 1).end, first, contexts, measure);
  if (draft.tokenCount <= measure.maxTokens) return draft.start < draft.end ? [draft] : [];
  if (chunk.start < first.start) return toDrafts(text, units, { ...chunk, start: first.start }, contexts, measure);
  if (chunk.to - chunk.from > 1) {
    const middle = (chunk.from + chunk.to) >> 1;
    const halves = [
      { ...chunk, to: middle },
      { from: middle, to: chunk.to, start: at(units, middle).start },
    ];
    return halves.flatMap((half) => toDrafts(text, units, half, contexts, measure));
  }
  const whole = (start: number, end: number) => assemble(text, start, end, first, contexts, measure);
  const fits = (start: number, end: number) => whole(start, end).tokenCount <= measure.maxTokens;
  const pieces = sizePieces(text, first.start, first.end, measure.maxCharacters, fits);
  return pieces.map((piece) => whole(piece.start, piece.end)).filter((piece) => piece.start < piece.end);
}

function assemble(text: string, from: number, to: number, first: Unit, contexts: Contexts, measure: Measure): Draft {
  const end = contentEnd(text, from, to);
  const start = contentStart(text, from, end);
  const stretch = text.slice(start, end);
  const content = first.header === null ? stretch : `${first.header}\n${stretch}`;
  const context = contexts.of(first.block);
  const tokenCount = measure.tokens(withContext(context, content)) + measure.overhead;
  return { content, context, type: 'text', tokenCount, start, end };
}
