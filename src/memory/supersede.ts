import { type KnownMemory, besidesOfSubject } from '../store/known-memories.ts';
import type { MemorySource } from '../store/memories.ts';
import { takesPlaceOf } from './rules/attribute.ts';
import { answerOf, type Statement } from './statement.ts';
import { isSamePerson, nameOf } from './authors.ts';
import { lastOf, valueOf } from '../base/collections.ts';

/** The statements of a document. */
export interface Mined {
  documentId: string;
  containerTag: string;
  date: Date;
  statements: readonly Statement[];
  metadata: Record<string, unknown>;
  /** Which memories of others it is compared with; null: all of the container. */
  filter: ContextFilter | null;
}

/** Changes to write. */
export interface Changes {
  added: { known: KnownMemory; statement: Statement; details: string | null }[];
  sources: MemorySource[];
  lostSources: { memoryId: string; documentId: string }[];
  forgotten: string[];
  /** Memories that only hidden documents still state: they come back with those. */
  hidden: string[];
  revived: string[];
  /** By id, when they were last said. */
  restated: Map<string, Date>;
  /** Facts whose versions have to be put in order. */
  chains: Set<string>;
}

interface Reconciling {
  known: Known;
  changes: Changes;
  makeId: () => string;
  now: Date;
}

/**
 * Compares what documents say (oldest first) with what is known: the same is said again (one more source),
 * another answer to the same question (a version of that fact), more detail, or something new. What a
 * document no longer says is forgotten when nothing else supports it. Deterministic, and writes nothing;
 * `memories` are changed. The time it takes grows with the statements, not with all that is known.
 */
export function supersede(
  memories: readonly KnownMemory[],
  mined: readonly Mined[],
  { makeId, now }: { makeId: () => string; now: Date },
): Changes {
  const changes: Changes = {
    added: [],
    sources: [],
    lostSources: [],
    forgotten: [],
    hidden: [],
    revived: [],
    restated: new Map(),
    chains: new Set(),
  };
  const reconciling = { known: createKnown(memories), changes, makeId, now };
  for (const document of mined) {
    const kept = new Set<string>();
    for (const statement of document.statements) {
      const same = sameAs(reconciling.known, document, statement);
      if (same) keep(reconciling, same, { statement, document });
      kept.add((same ?? add(reconciling, statement, document)).id);
    }
    dropUnsaid(reconciling, document, kept);
  }
  return changes;
}

function sameAs(known: Known, document: Mined, statement: Statement): KnownMemory | undefined {
  const { containerTag, documentId } = document;
  const alike = (one: KnownMemory) => one.kind === statement.kind && one.trust === statement.trust;
  const equal = known.withText(containerTag, statement).filter(alike);
  const before = equal.find((one) => one.documentIds.includes(documentId));
  if (before) return before;
  const current = equal.find(isCurrent);
  if (current || statement.kind === 'episode') return current;
  const seen = (one: KnownMemory) =>
    alike(one) && one.containerTag === containerTag && isCurrent(one) && isSeen(one, document);
  if (statement.slot === null) {
    return known.withWords(containerTag, statement).find((one) => seen(one) && one.slot === null);
  }
  const answer = answerOf(statement);
  return known
    .answering(containerTag, statement.subject, statement.slot)
    .find((one) => seen(one) && answer !== null && one.value === answer);
}

/** Its own memories a document always sees. */
function isSeen(one: KnownMemory, { documentId, filter }: Mined): boolean {
  return filter === null || one.documentIds.includes(documentId) || isInContext(filter, one.metadata);
}

function isCurrent(one: KnownMemory): boolean {
  return one.isLatest && !one.isForgotten;
}

function keep(
  { known, changes }: Reconciling,
  same: KnownMemory,
  { statement: { span, said }, document: { documentId } }: Said,
): void {
  if (same.forgottenBy === 'source') {
    same.isForgotten = false;
    same.forgottenBy = null;
    changes.revived.push(same.id);
    changes.chains.add(chainOf(same));
    known.settle(same);
  }
  if (said > same.saidAt) {
    same.saidAt = said;
    changes.restated.set(same.id, said);
    changes.chains.add(chainOf(same));
    known.settle(same);
  }
  if (same.documentIds.includes(documentId)) return;
  known.addDocument(same, documentId);
  changes.sources.push({ memoryId: same.id, documentId, span });
}

function add({ known, changes, makeId, now }: Reconciling, statement: Statement, document: Mined): KnownMemory {
  const memory = newMemory(statement, document, { id: makeId(), now });
  const standing = standingFor(known, memory, { statement, document });
  const details = standing ? null : detailed(known, memory, { statement, document });
  if (standing) {
    memory.rootMemoryId = chainOf(standing);
    changes.chains.add(chainOf(standing));
  }
  known.add(memory);
  known.settle(memory);
  changes.added.push({ known: memory, statement, details: details?.id ?? null });
  changes.sources.push({ memoryId: memory.id, documentId: document.documentId, span: statement.span });
  return memory;
}

function newMemory(statement: Statement, document: Mined, { id, now }: { id: string; now: Date }): KnownMemory {
  const { kind, author, trust, subject, slot, hash, wordsHash, terms, said } = statement;
  return {
    ...{ id, kind, author, trust, subject, slot, wordsHash, terms },
    containerTag: document.containerTag,
    memory: statement.text,
    value: answerOf(statement),
    contentHash: hash,
    version: 1,
    parentMemoryId: null,
    rootMemoryId: null,
    isLatest: true,
    isForgotten: false,
    forgottenBy: null,
    extractor: '',
    saidAt: said,
    createdAt: now,
    documentIds: [document.documentId],
    hiddenDocumentIds: [],
    metadata: [document.metadata],
  };
}

interface Said {
  statement: Statement;
  document: Mined;
}

/** The fact that this is a version of. One that it replaces goes before one that it precedes. */
function standingFor(known: Known, memory: KnownMemory, { statement, document }: Said): KnownMemory | undefined {
  if (memory.kind === 'episode') return undefined;
  const { containerTag } = document;
  const { subject, slot, revises, relation } = statement;
  const named = relation?.kind === 'updates' ? known.byId(relation.id) : undefined;
  const answering = slot === null ? [] : known.answering(containerTag, subject, slot);
  // What says that something changed may name it in other words.
  const beside = revises ? known.aboutSubject(containerTag, subject) : [];
  const answers = [...answering, ...beside].filter((one) => takesPlaceOf(statement, one));
  const candidates = [...(named ? [named] : []), ...answers];
  const found = new Map<Succession, KnownMemory>();
  for (const one of candidates) {
    if (one.kind === 'episode' || one.containerTag !== containerTag || !isCurrent(one) || !isSeen(one, document))
      continue;
    const succession = successionOf(memory, one);
    if (!found.has(succession)) found.set(succession, one);
  }
  return found.get('replaces') ?? found.get('precedes');
}

/** The known memory that a statement repeats in more detail; only of equal trust, since read text adds nothing to told text. */
function detailed(known: Known, memory: KnownMemory, { statement, document }: Said): KnownMemory | undefined {
  if (memory.kind === 'episode') return undefined;
  const { relation, subject } = statement;
  const more = new Set(memory.terms);
  const fits = (one: KnownMemory) =>
    one.kind === 'fact' &&
    one.trust === memory.trust &&
    one.containerTag === memory.containerTag &&
    isCurrent(one) &&
    isSeen(one, document);
  const named = relation?.kind === 'extends' ? known.byId(relation.id) : undefined;
  if (named && fits(named)) return named;
  return known.aboutSubject(document.containerTag, subject).find((one) => fits(one) && saysLess(one.terms, more));
}

const leastTerms = 3;

function saysLess(terms: readonly string[], more: ReadonlySet<string>): boolean {
  return terms.length >= leastTerms && terms.length < more.size && terms.every((term) => more.has(term));
}

function dropUnsaid({ known, changes }: Reconciling, { documentId }: Mined, kept: ReadonlySet<string>): void {
  for (const one of known.ofDocument(documentId)) {
    const isSaid = kept.has(one.id) || !one.documentIds.includes(documentId);
    if (isSaid || one.extractor === null || one.isForgotten) continue;
    const hasOthers = one.documentIds.length > 1;
    if (hasOthers) {
      known.removeDocument(one, documentId);
      changes.lostSources.push({ memoryId: one.id, documentId });
    }
    if (hasOthers && one.documentIds.some((id) => !one.hiddenDocumentIds.includes(id))) continue;
    one.isForgotten = true;
    one.forgottenBy = 'source';
    (hasOthers ? changes.hidden : changes.forgotten).push(one.id);
    changes.chains.add(chainOf(one));
    known.settle(one);
  }
}

/** `filterByMetadata` of a document (section 12.1 of the API): all keys must fit, of an array any entry. */
type ContextFilter = Readonly<Record<string, unknown>>;

/** Whether a memory with one of these metadata is seen when a document with the filter is read. */
function isInContext(filter: ContextFilter | null, metadata: readonly Record<string, unknown>[]): boolean {
  if (filter === null) return true;
  return metadata.some((one) => Object.entries(filter).every(([key, wanted]) => haveCommon(one[key], wanted)));
}

function haveCommon(stored: unknown, wanted: unknown): boolean {
  const values = listOf(stored);
  return listOf(wanted).some((one) => values.includes(one));
}

/** Values are compared as filters compare them: by their text. */
function listOf(value: unknown): string[] {
  return value === undefined || value === null ? [] : [value].flat().map(String);
}

/** `replaces`: it is the newer version. `precedes`: it is an older one. Null: both stand side by side. */
type Succession = 'replaces' | 'precedes' | null;

/**
 * Whether a fact is another version of one that stands. Trust decides first: told over own over read. A fact of
 * lower trust never displaces one of higher; one of higher trust replaces it when it is newer, and else both stand.
 * Of equal trust the newer replaces the older, but only when both speak for the same person.
 */
function successionOf(added: KnownMemory, standing: KnownMemory): Succession {
  const isNewer = saidBy(added) >= saidBy(standing);
  const above = rankOf(added) - rankOf(standing);
  if (above < 0) return null;
  if (above > 0) return isNewer ? 'replaces' : null;
  if (!speaksForSame(added, standing)) return null;
  return isNewer ? 'replaces' : 'precedes';
}

function speaksForSame(added: KnownMemory, standing: KnownMemory): boolean {
  if (added.trust === 'told') return !isFirstHand(standing) || isFirstHand(added) || added.author === standing.author;
  if (isSamePerson(added.author, standing.author)) return true;
  if (added.author !== null || standing.author !== null) return false;
  return added.trust === 'own' || standing.documentIds.some((id) => added.documentIds.includes(id));
}

/** It says something of the person who says it. Others may know less. */
function isFirstHand({ author, subject, trust }: KnownMemory): boolean {
  if (subject === null) return false;
  if (author === null) return trust === 'told' && /^(?:the )?user$/.test(subject);
  return subject === nameOf(author).toLowerCase();
}

/** Known memories, indexed by the keys that statements are compared by: no comparison reads all of them. */
interface Known {
  byId(id: string): KnownMemory | undefined;
  /** Latest or not, with just this text. */
  withText(containerTag: string, statement: Statement): readonly KnownMemory[];
  withWords(containerTag: string, statement: Statement): readonly KnownMemory[];
  /** Facts that answer the question of a slot. */
  answering(containerTag: string, subject: string, slot: string): readonly KnownMemory[];
  /** The newest. */
  aboutSubject(containerTag: string, subject: string): readonly KnownMemory[];
  ofDocument(documentId: string): readonly KnownMemory[];
  add(memory: KnownMemory): void;
  addDocument(memory: KnownMemory, documentId: string): void;
  removeDocument(memory: KnownMemory, documentId: string): void;
  /** Decides anew which version of a fact is the latest. */
  settle(memory: KnownMemory): void;
}

const ranks = { read: 0, own: 1, told: 2 } as const;

function rankOf({ trust }: Pick<KnownMemory, 'trust'>): number {
  return ranks[trust];
}

/** The versions of one fact have the same. */
function chainOf({ rootMemoryId, id }: Pick<KnownMemory, 'rootMemoryId' | 'id'>): string {
  return rootMemoryId ?? id;
}

/** The time by which a memory was said: one dated in the future was said when it was stored, at the latest. */
function saidBy({ saidAt, createdAt }: Pick<KnownMemory, 'saidAt' | 'createdAt'>): number {
  return Math.min(saidAt.getTime(), createdAt.getTime());
}

function createKnown(memories: readonly KnownMemory[]): Known {
  const byId = new Map<string, KnownMemory>();
  const byText = new Map<string, KnownMemory[]>();
  const byWords = new Map<string, KnownMemory[]>();
  const bySlot = new Map<string, KnownMemory[]>();
  const bySubject = new Map<string, KnownMemory[]>();
  const byDocument = new Map<string, KnownMemory[]>();
  const byChain = new Map<string, KnownMemory[]>();

  function add(memory: KnownMemory): void {
    const { id, containerTag, contentHash, wordsHash, subject, slot, documentIds } = memory;
    byId.set(id, memory);
    push(byText, key(containerTag, contentHash), memory);
    push(byChain, key(containerTag, chainOf(memory)), memory);
    if (wordsHash !== null) push(byWords, key(containerTag, wordsHash), memory);
    if (subject !== null) push(bySubject, key(containerTag, subject), memory);
    if (subject !== null && slot !== null) push(bySlot, key(containerTag, subject, slot), memory);
    for (const documentId of documentIds) push(byDocument, documentId, memory);
  }

  for (const memory of memories) add(memory);
  return {
    byId: (id) => byId.get(id),
    withText: (containerTag, { hash }) => byText.get(key(containerTag, hash)) ?? [],
    withWords: (containerTag, { wordsHash }) => byWords.get(key(containerTag, wordsHash)) ?? [],
    answering: (containerTag, subject, slot) => bySlot.get(key(containerTag, subject, slot)) ?? [],
    aboutSubject: (containerTag, subject) => (bySubject.get(key(containerTag, subject)) ?? []).slice(-besidesOfSubject),
    ofDocument: (documentId) => byDocument.get(documentId) ?? [],
    add,
    addDocument(memory, documentId) {
      memory.documentIds.push(documentId);
      push(byDocument, documentId, memory);
    },
    removeDocument(memory, documentId) {
      memory.documentIds = memory.documentIds.filter((id) => id !== documentId);
    },
    settle(memory) {
      const versions = valueOf(byChain, key(memory.containerTag, chainOf(memory))).sort(inOrder);
      const latest = versions.findLast(({ forgottenBy }) => forgottenBy !== 'source') ?? lastOf(versions);
      for (const version of versions) version.isLatest = version === latest;
    },
  };
}

/** As the store orders the versions of a fact. */
function inOrder(left: KnownMemory, right: KnownMemory): number {
  const bySaid = rankOf(left) - rankOf(right) || saidBy(left) - saidBy(right);
  return bySaid || left.createdAt.getTime() - right.createdAt.getTime() || (left.id < right.id ? -1 : 1);
}

function key(...parts: string[]): string {
  return parts.join('\n');
}

function push(map: Map<string, KnownMemory[]>, name: string, memory: KnownMemory): void {
  const list = map.get(name);
  if (list) list.push(memory);
  else map.set(name, [memory]);
}
