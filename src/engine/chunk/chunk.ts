import { at, firstOf } from '../../base/collections.ts';
import { plainBlocks, type Block, type ChunkFormat, markdownBlocks, plainLabel } from './blocks.ts';
import {
  sentenceCuts,
  blockStrength,
  toUnits,
  type Unit,
  contentEnd,
  contentStart,
  createMeasure,
  type Contexts,
  type Measure,
  sizePieces,
} from './cuts.ts';

export interface ChunkOptions {
  format: ChunkFormat;
  /** No chunk has more tokens, its context included. */
  maxTokens: number;
  /** Sentences with up to this many tokens are repeated at the start of the next chunk of a section. */
  overlapTokens: number;
  /** Tokens that the embedder sees for a text. */
  countTokens: (text: string) => number;
  /** Title of the document: the outermost part of each context. */
  title?: string | undefined;
  /** Where the document lies, before its title. */
  place?: string | undefined;
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
  const contexts = createContexts({ title, place: options.place }, measure);
  const units = toUnits(text, blocksOf(text, options.format), contexts, measure);
  const packing: Packing = { text, units, contexts, measure, overlapTokens: options.overlapTokens };
  const drafts = pack(packing).flatMap((chunk) => toDrafts(packing, chunk));
  return drafts.map((draft, position) => ({ position, ...draft }));
}

function blocksOf(text: string, format: ChunkFormat): Block[] {
  return format === 'markdown' ? markdownBlocks(text) : plainBlocks(text, format);
}

/** A text in units, and what decides how much of it one chunk takes. */
interface Packing {
  text: string;
  units: readonly Unit[];
  contexts: Contexts;
  measure: Measure;
  overlapTokens: number;
}

type Draft = Omit<ChunkDraft, 'position'>;

/** One draft; more only when the tokens of the units do not add up to those of the whole. */
function toDrafts(packing: Packing, chunk: Packed): Draft[] {
  const { text, units, measure } = packing;
  const first = at(units, chunk.from);
  const draft = assemble(packing, first, { from: chunk.start, to: at(units, chunk.to - 1).end });
  if (draft.tokenCount <= measure.maxTokens) return draft.start < draft.end ? [draft] : [];
  if (chunk.start < first.start) return toDrafts(packing, { ...chunk, start: first.start });
  if (chunk.to - chunk.from > 1) {
    const middle = (chunk.from + chunk.to) >> 1;
    const halves = [
      { ...chunk, to: middle },
      { from: middle, to: chunk.to, start: at(units, middle).start },
    ];
    return halves.flatMap((half) => toDrafts(packing, half));
  }
  const whole = (from: number, to: number) => assemble(packing, first, { from, to });
  const fits = (from: number, to: number) => whole(from, to).tokenCount <= measure.maxTokens;
  const pieces = sizePieces(text, first, { maxCharacters: measure.maxCharacters, fits });
  return pieces.map((piece) => whole(piece.start, piece.end)).filter((piece) => piece.start < piece.end);
}

function assemble(
  { text, contexts, measure }: Packing,
  first: Unit,
  { from, to }: { from: number; to: number },
): Draft {
  const end = contentEnd(text, from, to);
  const start = contentStart(text, from, end);
  const stretch = text.slice(start, end);
  const content = first.header === null ? stretch : `${first.header}\n${stretch}`;
  const context = contexts.of(first.block);
  const tokenCount = measure.tokens(withContext(context, content)) + measure.overhead;
  return { content, context, type: 'text', tokenCount, start, end };
}

/** The units `from` (inclusive) to `to` (exclusive) as one chunk. */
interface Packed {
  from: number;
  to: number;
  /** Where its text starts: at its first unit, or earlier when it repeats the last sentences of the chunk before. */
  start: number;
}

/** Sections smaller than this share of a chunk are merged with what follows. */
const smallSection = 0.3;
/** A chunk is filled at least this far before a cut between paragraphs is looked for. */
const leastFill = 0.5;

/**
 * Gathers units into chunks. Where it cuts depends on the text near the cut only (section sizes,
 * and a hash of the text after it), so that an edit moves the cuts around it and none far away.
 */
function pack(packing: Packing): Packed[] {
  const { units, measure } = packing;
  const packed: Packed[] = [];
  const ends = segmentEnds(units, measure);
  let from = 0;
  for (const end of ends) {
    let previous: Packed | undefined;
    while (from < end) {
      const start = previous ? overlapStart(packing, previous) : at(units, from).start;
      const chunk = fill(packing, from, { end, wantedStart: start });
      packed.push(chunk);
      previous = chunk;
      from = chunk.to;
    }
  }
  return packed;
}

/** Where chunks end whatever stands around: before each section that follows one of fair size. */
function segmentEnds(units: readonly Unit[], measure: Measure): number[] {
  const least = measure.maxTokens * smallSection;
  const ends: number[] = [];
  let left = units.reduce((sum, unit) => sum + unit.tokens, 0);
  let section = 0;
  for (const [index, unit] of units.entries()) {
    if (unit.block.kind === 'heading' && index > 0) {
      if (section >= least && left >= least) ends.push(index);
      section = 0;
    }
    section += unit.tokens;
    left -= unit.tokens;
  }
  if (units.length > 0) ends.push(units.length);
  return ends;
}

function fill(packing: Packing, from: number, options: { end: number; wantedStart: number }): Packed {
  const { text, units, contexts, measure } = packing;
  const { end, wantedStart } = options;
  const first = at(units, from);
  const budget = contexts.budget(first.block) - (first.header === null ? 0 : measure.tokens(first.header));
  const repeated = wantedStart < first.start ? measure.tokens(text.slice(wantedStart, first.start)) : 0;
  // The sentences repeated from before give way to a unit that needs all the room.
  const start = repeated + first.tokens > budget ? first.start : wantedStart;
  const filled = start < first.start ? repeated : 0;
  const reach = furthest(packing, from, { end, start, budget: budget - filled });
  return { from, to: reach === end ? end : bestCut(packing, from, { reach, end, budget, filled }), start };
}

/** The first unit that does not fit any more. */
function furthest(
  { text, units, measure }: Packing,
  from: number,
  { end, start, budget }: { end: number; start: number; budget: number },
): number {
  let tokens = at(units, from).tokens;
  let to = from + 1;
  for (; to < end; to++) {
    const unit = at(units, to);
    tokens += unit.tokens;
    if (tokens > budget || contentEnd(text, unit.start, unit.end) - start > measure.maxCharacters) break;
  }
  return to;
}

function bestCut(
  { text, units }: Packing,
  from: number,
  { reach, end, budget, filled }: { reach: number; end: number; budget: number; filled: number },
): number {
  let best = -1;
  let bestStrength = -1;
  let bestHash = 0;
  let tokens = filled;
  for (let cut = from + 1; cut <= reach && cut < end; cut++) {
    tokens += at(units, cut - 1).tokens;
    const { strength } = at(units, cut);
    const least = strength > blockStrength ? smallSection : leastFill;
    if (tokens < budget * least || strength < bestStrength || splitsHeading(units, cut)) continue;
    const hash = hashAt(text, at(units, cut).start);
    if (strength === bestStrength && hash > bestHash) continue;
    best = cut;
    bestStrength = strength;
    bestHash = hash;
  }
  if (best >= 0) return best;
  let cut = reach;
  while (cut > from && splitsHeading(units, cut)) cut--;
  return cut > from ? cut : reach;
}

/** A heading goes with what stands under it. */
function splitsHeading(units: readonly Unit[], cut: number): boolean {
  const above = at(units, cut - 1).block;
  const below = at(units, cut).block;
  return above.kind === 'heading' && (below.kind !== 'heading' || below.level > above.level);
}

/** FNV-1a over the characters after a cut. */
function hashAt(text: string, start: number): number {
  let hash = 0x811c9dc5;
  const end = Math.min(start + 40, text.length);
  for (let index = start; index < end; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

const charactersPerToken = 8;

/**
 * Where the chunk after `previous` starts: at the first of those last sentences of `previous` that
 * together have at most `overlapTokens`. Only prose of one section is repeated.
 */
function overlapStart({ text, units, measure, overlapTokens }: Packing, previous: Packed): number {
  const last = at(units, previous.to - 1);
  const next = at(units, previous.to);
  const end = next.start;
  if (overlapTokens <= 0 || !isProse(last, next)) return end;
  // What `previous` shows begins after the blank lines at its start.
  const behindStart = contentStart(text, previous.start, end) + 1;
  const earliest = Math.max(last.block.start, behindStart, end - overlapTokens * charactersPerToken);
  const starts = sentenceCuts(text, earliest, end).filter((cut) => cut < contentEnd(text, cut, end));
  if (last.block.start >= earliest) starts.unshift(last.block.start);
  return starts.find((start) => measure.tokens(text.slice(start, end)) <= overlapTokens) ?? end;
}

function isProse(last: Unit, next: Unit): boolean {
  return last.block.kind === 'prose' && next.block.kind === 'prose' && last.block.path === next.block.path;
}

const separator = ' > ';
/** The share of a chunk that its context may take: headings, or the end of the turn before. */
const maxContextShare = 0.25;
const shortestLabel = 4;

/** The text of a chunk as the embedder and the lexical index see it. */
export function withContext(context: string | null, content: string): string {
  return context === null ? content : `${context}\n\n${content}`;
}

/** What stands above all headings of a document. */
interface Above {
  title: string | undefined;
  place: string | undefined;
}

export function createContexts({ title, place }: Above, measure: Measure): Contexts {
  const known = new Map<string, { context: string | null; tokens: number }>();
  const find = (block: Block) => {
    const titled = partsFor(block, title);
    const parts = place === undefined ? titled : [place, ...titled];
    const key = parts.join(separator);
    const found = known.get(key) ?? fit(parts, measure);
    known.set(key, found);
    return found;
  };
  return {
    of: (block) => find(block).context,
    budget: (block) => Math.max(1, measure.maxTokens - measure.overhead - find(block).tokens),
  };
}

function partsFor(block: Block, title: string | undefined): string[] {
  const path = block.path.filter((part) => part !== '');
  const known = title === undefined || title === '' || title === (path[0] ?? block.label);
  return known ? path : [title, ...path];
}

/** Drops the outermost headings, then cuts the innermost, until the context leaves room for content. */
function fit(parts: string[], measure: Measure): { context: string | null; tokens: number } {
  const limit = measure.maxTokens * maxContextShare;
  let kept = parts;
  while (kept.length > 0) {
    const context = kept.join(separator);
    const tokens = context.length > measure.maxCharacters ? Infinity : measure.tokens(`${context}\n\n`);
    if (tokens <= limit) return { context, tokens };
    kept = kept.length > 1 ? kept.slice(1) : firstHalf(firstOf(kept));
  }
  return { context: null, tokens: 0 };
}

function firstHalf(label: string): string[] {
  const characters = [...label];
  const half = characters
    .slice(0, characters.length >> 1)
    .join('')
    .trim();
  return half.length < shortestLabel ? [] : [half];
}

/** Where a turn's words begin in the text, and whether a machine says them. */
export interface TurnPlace {
  start: number;
  /** Of the words that are said. */
  length: number;
  isMachine: boolean;
}

/** Of the turn before, to begin with. */
const charactersOfToken = 4;
/** A turn asks when this share of its words stands in questions. */
const askingShare = 0.6;

/**
 * One chunk for each turn of a conversation, or several for a long one, each with the end of the turn before:
 * an answer tells little without its question.
 */
export function chunkTurns(text: string, turns: readonly TurnPlace[], options: ChunkOptions): ChunkDraft[] {
  const measure = createMeasure(options.countTokens, options.maxTokens);
  const drafts = turns.flatMap((turn, index) => {
    const previous = turns[index - 1];
    const from = previous ? endOf(previous) : 0;
    const to = index === turns.length - 1 ? text.length : endOf(turn);
    const before = previous ? lastWords(text, turns[index - 2] ? endOf(turns[index - 2]!) : 0, from, measure) : null;
    const found = chunk(text.slice(from, to), optionsAfter(before, options, measure));
    const type = typeOf(text, turn);
    return found.map((one) => ({
      ...(before === null ? one : after(before, one, options)),
      ...{ type, start: one.start + from, end: one.end + from },
    }));
  });
  return drafts.map((draft, position) => ({ ...draft, position }));
}

/** Left out when the tokens of both together are more than those of each. */
function after(before: string, draft: ChunkDraft, { countTokens, maxTokens }: ChunkOptions): ChunkDraft {
  const tokenCount = countTokens(withContext(before, draft.content));
  return tokenCount > maxTokens ? draft : { ...draft, context: before, tokenCount };
}

/** The title stands over the first turn. */
function optionsAfter(before: string | null, { title, ...options }: ChunkOptions, measure: Measure): ChunkOptions {
  const turn: ChunkOptions = { ...options, format: 'text', overlapTokens: 0 };
  if (before === null) return title === undefined ? turn : { ...turn, title };
  return { ...turn, maxTokens: options.maxTokens - measure.tokens(`${before}\n\n`) };
}

function endOf({ start, length }: TurnPlace): number {
  return start + length;
}

/** The end of a stretch from a whole word on, as far as its share of a chunk reaches. */
function lastWords(text: string, from: number, to: number, measure: Measure): string | null {
  const limit = Math.floor(measure.maxTokens * maxContextShare);
  const end = contentEnd(text, from, to);
  let start = Math.max(from, end - limit * charactersOfToken);
  for (;;) {
    const words = text.slice(start, end).trim();
    if (words === '') return null;
    if (start === from && measure.tokens(words) <= limit) return words;
    const space = words.search(/\s/);
    const whole = start === from || space < 0 ? words : words.slice(space).trim();
    if (whole !== '' && measure.tokens(whole) <= limit) return whole;
    start += Math.max(1, (end - start) >> 2);
  }
}

function typeOf(text: string, { start, length, isMachine }: TurnPlace): ChunkDraft['type'] {
  if (isMachine) return 'reply';
  return isAsking(text.slice(start, start + length).trim()) ? 'question' : 'turn';
}

function isAsking(said: string): boolean {
  if (!said.includes('?')) return false;
  const cuts = [0, ...sentenceCuts(said, 0, said.length), said.length];
  const sentences = cuts.slice(1).map((end, index) => said.slice(cuts[index], end).trim());
  const words = (some: readonly string[]) => some.reduce((sum, one) => sum + one.split(/\s+/).length, 0);
  return words(sentences.filter((one) => one.endsWith('?'))) >= askingShare * words(sentences);
}
