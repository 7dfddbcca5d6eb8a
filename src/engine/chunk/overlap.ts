import { sentenceCuts } from './cuts.ts';
import { contentEnd, contentStart, type Measure } from './measure.ts';
import type { Packed } from './pack.ts';
import type { Unit } from './units.ts';

const charactersPerToken = 8;

/**
 * Where the chunk after `previous` starts: at the first of those last sentences of `previous` that
 * together have at most `overlapTokens`. Only prose of one section is repeated.
 */
export function overlapStart(
  text: string,
  units: readonly Unit[],
  previous: Packed,
  overlapTokens: number,
  measure: Measure,
): number {
  const last = units[previous.to - 1]!;
  const next = units[previous.to]!;
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
