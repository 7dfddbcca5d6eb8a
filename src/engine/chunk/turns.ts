import { chunk, type ChunkDraft, type ChunkOptions, withContext } from './chunk.ts';
import { sentenceCuts, contentEnd, createMeasure, type Measure } from './cuts.ts';

/** Where a turn's words begin in the text, and whether a machine says them. */
export interface TurnPlace {
  start: number;
  /** Of the words that are said. */
  length: number;
  isMachine: boolean;
}

/** The share of a chunk that the turn before may take. */
const maxShare = 0.25;
const charactersPerToken = 4;
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
  const limit = Math.floor(measure.maxTokens * maxShare);
  const end = contentEnd(text, from, to);
  let start = Math.max(from, end - limit * charactersPerToken);
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
