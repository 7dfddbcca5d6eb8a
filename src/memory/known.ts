import { lastOf, valueOf } from '../base/collections.ts';
import { besidesOfSubject, type KnownMemory } from '../store/known-memories.ts';
import type { Statement } from './statement.ts';

/** Known memories, indexed by the keys that statements are compared by: no comparison reads all of them. */
export interface Known {
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

export function rankOf({ trust }: Pick<KnownMemory, 'trust'>): number {
  return ranks[trust];
}

/** The versions of one fact have the same. */
export function chainOf({ rootMemoryId, id }: Pick<KnownMemory, 'rootMemoryId' | 'id'>): string {
  return rootMemoryId ?? id;
}

/** The time by which a memory was said: one dated in the future was said when it was stored, at the latest. */
export function saidBy({ saidAt, createdAt }: Pick<KnownMemory, 'saidAt' | 'createdAt'>): number {
  return Math.min(saidAt.getTime(), createdAt.getTime());
}

export function createKnown(memories: readonly KnownMemory[]): Known {
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
