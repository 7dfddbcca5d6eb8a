import { firstOf } from '../../base/collections.ts';
import type { Block } from './blocks.ts';
import type { Contexts } from './context.ts';
import { blankLineCuts, definitionCuts, itemCuts, lineCuts, outdentCuts, sentenceCuts, type Cutter } from './cuts.ts';
import { contentEnd, type Measure } from './measure.ts';
import { sizePieces } from './size.ts';

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
    const found = splitBlock(text, current, end, budget, measure);
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

function splitBlock(text: string, current: Block, end: number, budget: number, measure: Measure): Unit[] {
  const header = current.kind === 'table' ? tableHeader(current, budget, measure) : null;
  const later = budget - (header === null ? 0 : measure.tokens(header));
  const units: Unit[] = [];
  const room = () => (units.length === 0 ? budget : later);
  const add = (start: number, stop: number, strength: number, tokens: number) => {
    units.push({ start, end: stop, tokens, strength, block: current, header: units.length === 0 ? null : header });
  };
  /** Spares counting what is too long by all odds; if it is not, its parts come together again in one chunk. */
  const tokensIfShort = (start: number, stop: number) =>
    stop - start > budget * likelyCharacters ? Infinity : tokensOf(text, start, stop, measure);
  const divide = (start: number, stop: number, level: number, strength: number, tokens: number): void => {
    if (tokens <= room()) return add(start, stop, strength, tokens);
    const [cutter, cutStrength] = cutters[current.kind][level] ?? [];
    if (!cutter) return divideBySize(start, stop, strength);
    const cuts = cutter(text, start, stop).filter((cut) => cut > current.start + (header?.length ?? 0) + 1);
    if (cuts.length === 0) return divide(start, stop, level + 1, strength, tokens);
    for (const [index, cut] of [...cuts, stop].entries()) {
      const from = cuts[index - 1] ?? start;
      divide(from, cut, level + 1, index === 0 ? strength : cutStrength!, tokensIfShort(from, cut));
    }
  };
  const divideBySize = (start: number, stop: number, strength: number): void => {
    const fits = (from: number, to: number) => tokensOf(text, from, to, measure) <= room();
    for (const piece of sizePieces(text, start, stop, measure.maxCharacters, fits)) {
      const tokens = tokensOf(text, piece.start, piece.end, measure);
      add(piece.start, piece.end, piece.start === start ? strength : 0, tokens);
    }
  };
  divide(current.start, end, 0, blockStrength, tokensIfShort(current.start, end));
  return units;
}

/** The header is worth repeating while most of the chunk is left for rows. */
function tableHeader(table: Block, budget: number, measure: Measure): string | null {
  if (table.label === undefined || table.label.length > measure.maxCharacters) return null;
  return measure.tokens(table.label) * 3 <= budget ? table.label : null;
}

/** Infinite when the stretch is too long for a chunk whatever its tokens. */
function tokensOf(text: string, start: number, end: number, measure: Measure): number {
  const last = contentEnd(text, start, end);
  if (last - start > measure.maxCharacters) return Infinity;
  // Line breaks are tokens to some tokenizers.
  return measure.tokens(text.slice(start, Math.min(end, last + 2)));
}
