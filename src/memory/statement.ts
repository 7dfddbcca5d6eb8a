import { hash } from 'node:crypto';
import type { Candidate, Trust } from './extractor.ts';
import { memoryHash, wordsHashOf } from './memory-rows.ts';

/** A statement found in a document, with the keys for comparing it. */
export interface Statement extends Candidate {
  trust: Trust;
  /** When it was said. */
  said: Date;
  hash: string;
  /** Equal for statements with the same words, in whatever order and form. */
  wordsHash: string;
  /** Of the answer to its question; null for statements that answer none. */
  slotHash: string | null;
  terms: readonly string[];
}

export function statementOf(
  candidate: Candidate,
  { trust, date, author }: { trust: Trust; date: Date; author: string | null },
  termsOf: (text: string) => readonly string[],
): Statement {
  const terms = termsOf(candidate.text);
  const isFact = candidate.kind === 'fact';
  const statement = { ...candidate, author, trust, terms, ...(!isFact && { slot: null, value: null, ends: false }) };
  return {
    ...statement,
    said: candidate.saidAt ?? date,
    hash: memoryHash(candidate.text),
    wordsHash: wordsHashOf(candidate.text, terms),
    slotHash: slotHashOf(statement),
  };
}

/** The stored answer: an end of one has no value of its own. */
export function answerOf({ value, ends }: Pick<Candidate, 'value' | 'ends'>): string | null {
  return ends ? `not ${value}` : value;
}

function slotHashOf(statement: Pick<Candidate, 'subject' | 'slot' | 'value' | 'ends'>): string | null {
  const { subject, slot, value } = statement;
  if (slot === null || value === null) return null;
  return hash('sha256', `${subject}\n${slot}\n${answerOf(statement)}`, 'base64');
}
