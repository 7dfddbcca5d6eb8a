import type { KnownMemory } from '../store/memories.ts';
import { isInContext, type ContextFilter } from './context-filter.ts';
import type { Candidate } from './extractor.ts';

/** A statement with what it is compared by. */
export interface Statement extends Candidate {
  hash: string;
  terms: readonly string[];
}

export interface Mined {
  documentId: string;
  containerTag: string;
  date: Date;
  statements: readonly Statement[];
  metadata: Record<string, unknown>;
  /** Which memories of others it is compared with; null: all of the container. */
  filter: ContextFilter | null;
}

/** What is to be written. New memories are `known` entries with the statement they are made of. */
export interface Changes {
  added: {
    known: KnownMemory;
    statement: Statement;
    documentId: string;
    replaces: string | null;
    details: string | null;
  }[];
  superseded: string[];
  sources: { memory_id: string; document_id: string; span: Candidate['span'] }[];
  lostSources: { memory_id: string; document_id: string }[];
  forgotten: string[];
  revived: string[];
}

export const sourceChanged = 'source changed';

/**
 * Compares what documents say (oldest first) with what is known: the same is said again (one more source),
 * another answer to the same question (a new version), more detail, or something new. What a document no
 * longer says is forgotten when nothing else supports it. Deterministic, and writes nothing; `known` is changed.
 */
export function reconcile(known: KnownMemory[], mined: readonly Mined[], makeId: () => string, now: Date): Changes {
  const changes: Changes = { added: [], superseded: [], sources: [], lostSources: [], forgotten: [], revived: [] };
  for (const document of mined) {
    const kept = new Set<string>();
    for (const statement of document.statements) {
      const same = sameAs(known, document, statement);
      if (same) keep(same, statement, document, changes);
      const memory = same ?? add(known, statement, document, changes, { id: makeId(), now });
      if (memory) kept.add(memory.id);
    }
    dropUnsaid(known, document, kept, changes);
  }
  return changes;
}

function sameAs(known: readonly KnownMemory[], document: Mined, statement: Statement): KnownMemory | undefined {
  const there = known.filter((one) => one.containerTag === document.containerTag);
  const equal = there.filter((one) => one.contentHash === statement.hash);
  return (
    equal.find((one) => one.documentIds.includes(document.documentId)) ??
    equal.find((one) => one.isLatest && !one.isForgotten) ??
    there.find((one) => isCurrent(one) && isSeen(one, document) && saysTheSame(one, statement))
  );
}

/** Its own memories a document always sees. */
function isSeen(one: KnownMemory, { documentId, filter }: Mined): boolean {
  return filter === null || one.documentIds.includes(documentId) || isInContext(filter, one.metadata);
}

function isCurrent(one: KnownMemory): boolean {
  return one.isLatest && !one.isForgotten;
}

function saysTheSame(one: KnownMemory, statement: Statement): boolean {
  if (one.subject !== statement.subject) return false;
  if (one.slot !== null || statement.slot !== null) {
    return one.slot === statement.slot && one.value === answerOf(statement);
  }
  return isNearDuplicate(one, statement);
}

/** Nearly all words in common, and every number, name and negation. */
function isNearDuplicate(one: KnownMemory, statement: Statement): boolean {
  const other = new Set(statement.terms);
  const common = one.terms.filter((term) => other.has(term)).length;
  if (common < 0.85 * (one.terms.length + other.size - common)) return false;
  return weightyWords(one.memory) === weightyWords(statement.text);
}

function weightyWords(text: string): string {
  const words = text.match(/\b(?:\p{Lu}[\p{L}\p{N}]*|[\p{L}]*\d[\p{L}\p{N}.,:-]*|not|no|never|\p{L}+n['’]t)\b/gu) ?? [];
  return [...new Set(words.map((word) => word.toLowerCase()))].sort().join(' ');
}

/** The stored answer: an end of one has no value of its own. */
function answerOf({ value, ends }: Statement): string | null {
  return ends ? `not ${value}` : value;
}

function keep(same: KnownMemory, { span }: Statement, { documentId }: Mined, changes: Changes): void {
  if (same.isForgotten && same.forgetReason === sourceChanged) {
    same.isForgotten = false;
    changes.revived.push(same.id);
  }
  if (same.documentIds.includes(documentId)) return;
  same.documentIds.push(documentId);
  changes.sources.push({ memory_id: same.id, document_id: documentId, span });
}

/** Null when something newer is known. */
function add(
  known: KnownMemory[],
  statement: Statement,
  document: Mined,
  changes: Changes,
  { id, now }: { id: string; now: Date },
): KnownMemory | null {
  const before = replacedBy(known, statement, document);
  if (before && dateOf(before) > document.date.getTime() && !before.documentIds.includes(document.documentId))
    return null;
  const memory: KnownMemory = {
    id,
    containerTag: document.containerTag,
    memory: statement.text,
    subject: statement.subject,
    slot: statement.slot,
    value: answerOf(statement),
    contentHash: statement.hash,
    terms: [...statement.terms],
    version: before ? before.version + 1 : 1,
    parentMemoryId: before?.id ?? null,
    rootMemoryId: before ? (before.rootMemoryId ?? before.id) : null,
    isLatest: true,
    isForgotten: false,
    forgetReason: null,
    extractor: '',
    documentDate: document.date.toISOString(),
    createdAt: now,
    documentIds: [document.documentId],
    metadata: [document.metadata],
  };
  if (before) {
    before.isLatest = false;
    changes.superseded.push(before.id);
  }
  const details = before ? null : (known.find((one) => isSeen(one, document) && isDetailOf(one, memory))?.id ?? null);
  known.push(memory);
  changes.added.push({
    known: memory,
    statement,
    documentId: document.documentId,
    replaces: before?.id ?? null,
    details,
  });
  changes.sources.push({ memory_id: id, document_id: document.documentId, span: statement.span });
  return memory;
}

/** The current answer to what the statement answers. A statement that only ends an answer replaces just that one. */
function replacedBy(known: readonly KnownMemory[], statement: Statement, document: Mined): KnownMemory | undefined {
  if (statement.slot === null) return undefined;
  return known.find(
    (one) =>
      isCurrent(one) &&
      one.containerTag === document.containerTag &&
      isSeen(one, document) &&
      one.subject === statement.subject &&
      one.slot === statement.slot &&
      (!statement.ends || one.value === statement.value),
  );
}

function dateOf(one: KnownMemory): number {
  return one.documentDate === null ? one.createdAt.getTime() : Date.parse(one.documentDate);
}

/** All that is known is said again, with more. */
function isDetailOf(one: KnownMemory, memory: KnownMemory): boolean {
  if (!isCurrent(one) || one.containerTag !== memory.containerTag || one.subject !== memory.subject) return false;
  const more = new Set(memory.terms);
  return one.terms.length >= 3 && one.terms.length < more.size && one.terms.every((term) => more.has(term));
}

function dropUnsaid(known: KnownMemory[], { documentId }: Mined, kept: ReadonlySet<string>, changes: Changes): void {
  for (const one of known) {
    if (!isCurrent(one) || kept.has(one.id) || one.extractor === null || !one.documentIds.includes(documentId))
      continue;
    if (one.documentIds.length > 1) {
      one.documentIds = one.documentIds.filter((id) => id !== documentId);
      changes.lostSources.push({ memory_id: one.id, document_id: documentId });
    } else {
      one.isForgotten = true;
      one.forgetReason = sourceChanged;
      changes.forgotten.push(one.id);
    }
  }
}
