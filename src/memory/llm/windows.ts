import { lastOf } from '../../base/collections.ts';
import type { Turn, Unit } from '../extractor.ts';

/** Turns that are read with one question. Their numbers in it are their places, from 1. */
export interface Window {
  turns: readonly Turn[];
  /** The preceding turns, as context. */
  before: readonly Turn[];
}

/** About 2,000 tokens, which models of every size read with care. */
const windowCharacters = 8_000;
const turnsBefore = 2;
const charactersBefore = 300;

/**
 * A unit in windows, filled from its beginning: what is added to its end leaves all windows but the last as
 * they are. Turns of programs and empty ones are left out.
 */
export function windowsOf({ turns }: Unit): Window[] {
  const windows: Turn[][] = [];
  let room = 0;
  const pieces = turns.filter(isSpoken).flatMap(piecesOf);
  for (const turn of pieces) {
    if (turn.text.length > room) {
      windows.push([]);
      room = windowCharacters;
    }
    lastOf(windows).push(turn);
    room -= turn.text.length;
  }
  let end = 0;
  return windows.map((read) => {
    const before = pieces.slice(Math.max(0, end - turnsBefore), end);
    end += read.length;
    return { turns: read, before: before.map((turn) => ({ ...turn, text: turn.text.slice(-charactersBefore) })) };
  });
}

function isSpoken({ role, text }: Turn): boolean {
  return role !== 'system' && role !== 'tool' && text.trim() !== '';
}

/** Cut at the end of a paragraph, else of a sentence, else between words. */
function piecesOf(turn: Turn): Turn[] {
  const pieces: Turn[] = [];
  for (let start = 0; start < turn.text.length;) {
    const length = cutOf(turn.text.slice(start, start + windowCharacters + 1));
    const text = turn.text.slice(start, start + length);
    pieces.push({ ...turn, text, start: turn.start === null ? null : turn.start + start });
    start += length;
  }
  return pieces;
}

function cutOf(text: string): number {
  if (text.length <= windowCharacters) return text.length;
  for (const boundary of [/\n\s*\n/g, /[.!?。]["'”’)]*\s/g, /\s/g]) {
    const ends = [...text.slice(0, windowCharacters).matchAll(boundary)].map((one) => one.index + one[0].length);
    const last = ends.at(-1) ?? 0;
    if (last > windowCharacters / 2) return last;
  }
  // Not between the halves of a surrogate pair.
  return /[\ud800-\udbff]/.test(text[windowCharacters - 1]!) ? windowCharacters - 1 : windowCharacters;
}
