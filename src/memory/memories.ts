import { isDeepStrictEqual } from 'node:util';
import { at, firstOf, valueOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Embedder } from '../models/embedder.ts';
import { writeEntityContext } from '../store/container-tags.ts';
import type { Database, Transaction } from '../store/database.ts';
import { allowStatements } from '../store/forgotten-statements.ts';
import { ensureContainers } from '../store/documents.ts';
import {
  addRelations,
  addSources,
  copySources,
  insertMemories,
  insertMemoryDocument,
  lockMemoriesOf,
  supersede,
  type MemoryRow,
} from '../store/memories.ts';
import { requireQuota } from '../store/quotas.ts';
import {
  findCurrent,
  listMemories,
  lockByHashes,
  lockById,
  lockByText,
  mergeMetadata,
  type ListedMemoryRow,
  type MemoryPage,
} from '../store/memory-lists.ts';
import { findMemory, type FoundMemory } from './find-memory.ts';
import { forget, forgetEach, type ForgottenEach } from './forgetting.ts';
import { classify, containerBuckets } from './buckets.ts';
import { indexTexts, memoryHash, type IndexedText, type Indexer } from './memory-rows.ts';

export type { ListedMemoryRow as ListedMemory, MemoryRow as Memory };
export type TemporalContext = { documentDate?: string | null; eventDate?: string[] | null };

export interface NewMemory {
  content: string;
  isStatic: boolean;
  metadata: Record<string, unknown> | null;
  temporalContext: TemporalContext | null;
  forgetAfter: Date | null;
  forgetReason: string | null;
}

/** `id` of any version, or the exact text. */
export interface MemoryChoice {
  containerTag: string;
  id?: string;
  content?: string;
}

/** A new version of a memory; absent fields are as in the version before. */
export interface MemoryChange {
  newContent: string;
  metadata?: Record<string, unknown> | undefined;
  temporalContext?: TemporalContext | undefined;
  forgetAfter?: Date | null | undefined;
  forgetReason?: string | null | undefined;
}

export interface Matching {
  containerTag: string;
  query?: string | undefined;
  ids?: readonly string[] | undefined;
  dryRun: boolean;
  threshold: number;
  maxForget: number;
  reason: string | null;
}

export interface Matched {
  id: string;
  memory: string;
  score: number;
}

/** Section 16 of the API. */
export interface Memories {
  /** In the order of the input; an exact duplicate answers what is there. Throws `conflict` during a merge. */
  create(
    containerTag: string,
    memories: readonly NewMemory[],
    written?: { entityContext?: string | undefined; addedBy?: string },
  ): Promise<{ documentId: string | null; memories: MemoryRow[] }>;
  list(page: Omit<MemoryPage, 'now'>): Promise<{ memories: ListedMemoryRow[]; total: number }>;
  /** A new version. Throws `not_found` when there is none, or it is forgotten. */
  update(choice: MemoryChoice, change: MemoryChange): Promise<MemoryRow>;
  /** Throws `not_found`, and `conflict` when it is forgotten already. */
  forget(choice: MemoryChoice, reason: string | null): Promise<string>;
  forgetMatching(matching: Matching): Promise<{ forgetBatchId: string | null; matched: Matched[] }>;
  /** By ids of any version, each on its own. */
  forgetEach(containerTag: string, ids: readonly string[]): Promise<ForgottenEach>;
  /** Any version, forgotten or not, with at most so many memories in each list of what stands beside it; null when there is none. */
  find(containerTag: string, id: string, relatedLimit: number): Promise<FoundMemory | null>;
}

export interface MemoriesOptions {
  database: Database;
  embedder: Embedder;
  index: Indexer;
  clock: Clock;
  /** Throws `conflict` while a container is merged. */
  requireWritable(tx: Transaction, containerTags: readonly string[]): Promise<void>;
  /** Search in a container's memories. */
  search(request: { containerTag: string; q: string; threshold: number; limit: number }): Promise<Matched[]>;
}

export function createMemories(options: MemoriesOptions): Memories {
  const { database, clock } = options;

  /** One writer of a container at a time, and none while it is merged. */
  function change<T>(containerTag: string, work: (tx: Transaction, now: Date) => Promise<T>): Promise<T> {
    return database.transaction(async (tx) => {
      await options.requireWritable(tx, [containerTag]);
      await lockMemoriesOf(tx, [containerTag]);
      return work(tx, clock.now());
    });
  }

  return {
    async create(containerTag, memories, { entityContext, addedBy = null } = {}) {
      const indexed = await indexTexts(
        memories.map(({ content }) => content),
        options,
      );
      return change(containerTag, async (tx, now) => {
        await ensureContainers(tx, [{ tag: containerTag, id: newId(now) }], now);
        if (entityContext !== undefined) await writeEntityContext(tx, new Map([[containerTag, entityContext]]), now);
        return createIn(tx, { containerTag, memories, addedBy, indexed, now, options });
      });
    },
    list: (page) => listMemories(database, { ...page, now: clock.now() }),
    async update(choice, input) {
      const [indexed] = await indexTexts([input.newContent], options);
      return change(choice.containerTag, async (tx, now) => {
        const before = await locked(tx, choice);
        if (!before || isForgotten(before, now)) throw notFound();
        return writeVersion(tx, before, { input, indexed: indexed!, now, options });
      });
    },
    forget: (choice, reason) =>
      change(choice.containerTag, async (tx, now) => {
        const memory = await locked(tx, choice);
        if (!memory) throw notFound();
        if (isForgotten(memory, now))
          throw new MemorydError('conflict', 'Memory already forgotten', { shouldRetry: false });
        await forget(tx, [memory.id], { reason, now });
        return memory.id;
      }),
    forgetEach: (containerTag, ids) => change(containerTag, (tx, now) => forgetEach(tx, containerTag, ids, now)),
    find: (containerTag, id, relatedLimit) =>
      findMemory(database, { containerTag, id, relatedLimit, now: clock.now() }),
    async forgetMatching(matching) {
      const matched = await matchedBy(matching, options);
      if (matching.dryRun) return { forgetBatchId: null, matched };
      const { containerTag, reason } = matching;
      return change(containerTag, (tx, now) => forgetMatched(tx, matched, { containerTag, reason, now }));
    },
  };
}

/** Those that still stand. */
async function forgetMatched(
  tx: Transaction,
  matched: readonly Matched[],
  { containerTag, reason, now }: Pick<Matching, 'containerTag' | 'reason'> & { now: Date },
) {
  const batchId = newId(now);
  const idsOf = (list: readonly Matched[]) => list.map(({ id }) => id);
  const current = await findCurrent(tx, containerTag, idsOf(matched));
  const left = matched.filter(({ id }) => current.some((one) => one.id === id));
  await forget(tx, idsOf(left), { reason, batchId, now });
  return { forgetBatchId: batchId, matched: left };
}

interface Creating {
  containerTag: string;
  memories: readonly NewMemory[];
  addedBy: string | null;
  indexed: readonly IndexedText[];
  now: Date;
  options: MemoriesOptions;
}

async function createIn(tx: Transaction, creating: Creating) {
  const { containerTag, memories, indexed, now } = creating;
  const hashes = indexed.map((one) => one.contentHash);
  await allowStatements(tx, containerTag, hashes);
  const there = await lockByHashes(tx, containerTag, hashes, now);
  const ids = new Map(there.map((one) => [one.contentHash, one.id]));
  const places = hashes.flatMap((hash, place) => {
    if (ids.has(hash)) return [];
    ids.set(hash, newId(now));
    return [place];
  });
  const documentId = places.length === 0 ? null : await insertNew(tx, creating, places, ids);
  await mergeMetadata(tx, repeated(creating, new Set(places), ids), now);
  const stored = new Map((await lockByHashes(tx, containerTag, hashes, now)).map((one) => [one.contentHash, one]));
  return { documentId, memories: memories.map((_, place) => valueOf(stored, at(hashes, place))) };
}

/** Duplicates give their metadata to what is there; of several for one, later keys count. */
function repeated({ memories, indexed }: Creating, places: ReadonlySet<number>, ids: ReadonlyMap<string, string>) {
  const merged = new Map<string, Record<string, unknown>>();
  memories.forEach(({ metadata }, place) => {
    if (places.has(place) || metadata === null) return;
    const id = valueOf(ids, at(indexed, place).contentHash);
    merged.set(id, { ...merged.get(id), ...metadata });
  });
  return [...merged].map(([id, metadata]) => ({ id, metadata }));
}

async function insertNew(
  tx: Transaction,
  { containerTag, memories, addedBy, indexed, now, options }: Creating,
  places: readonly number[],
  ids: ReadonlyMap<string, string>,
): Promise<string> {
  const buckets = (await containerBuckets(tx, [containerTag]))(containerTag);
  const rows = places.map((place) => {
    const { content, isStatic, metadata, temporalContext, forgetAfter, forgetReason } = at(memories, place);
    const searched = at(indexed, place);
    return {
      ...searched,
      ...writtenByCaller,
      ...{ containerTag, metadata, temporalContext, isStatic, forgetAfter, forgetReason },
      id: valueOf(ids, searched.contentHash),
      saidAt: now,
      buckets: classify(statementOf(content), buckets, (text) => options.index(text).terms),
    };
  });
  const content = rows.map(({ memory }) => memory).join('\n');
  const document = {
    id: newId(now),
    containerTag,
    title: firstOf(rows).memory.slice(0, 100),
    content,
    contentHash: firstOf(rows).contentHash,
    addedBy,
  };
  await insertMemoryDocument(tx, document, now);
  await requireQuota(tx, { tags: [containerTag], keys: addedBy === null ? [] : [addedBy] });
  await insertMemories(tx, rows, now);
  await addSources(
    tx,
    rows.map(({ id }) => ({ memoryId: id, documentId: document.id, span: null })),
    now,
  );
  return document.id;
}

const writtenByCaller = {
  kind: 'fact' as const,
  category: null,
  author: null,
  trust: 'told' as const,
  subject: null,
  slot: null,
  slotValue: null,
  extractor: null,
  isInference: false,
  isLatest: true,
  version: 1,
  parentMemoryId: null,
  rootMemoryId: null,
};

const preference = /\b(?:prefers?|likes?|loves?|enjoys?|hates?|dislikes?|favou?rites?|rather|allergic)\b/i;

function statementOf(text: string) {
  return { text, category: preference.test(text) ? 'preference' : null, slot: null };
}

async function writeVersion(
  tx: Transaction,
  before: MemoryRow,
  { input, indexed, now, options }: { input: MemoryChange; indexed: IndexedText; now: Date; options: MemoriesOptions },
): Promise<MemoryRow> {
  const after = changed(before, input);
  if (isDeepStrictEqual(after, before)) return before;
  const { containerTag } = before;
  const id = newId(now);
  const buckets = (await containerBuckets(tx, [containerTag]))(containerTag);
  const row = {
    ...indexed,
    ...writtenByCaller,
    id,
    containerTag,
    metadata: after.metadata,
    saidAt: now,
    temporalContext: after.temporalContext,
    buckets: classify(statementOf(input.newContent), buckets, (text) => options.index(text).terms),
    isStatic: before.isStatic,
    isInference: before.isInference,
    version: before.version + 1,
    parentMemoryId: before.id,
    rootMemoryId: before.rootMemoryId ?? before.id,
    forgetAfter: after.forgetAfter,
    forgetReason: after.forgetReason,
  };
  await allowStatements(tx, containerTag, [indexed.contentHash]);
  await supersede(tx, [before.id], now);
  await insertMemories(tx, [row], now);
  await copySources(tx, before.id, id);
  await addRelations(tx, [{ fromId: id, toId: before.id, relation: 'updates' }], now);
  return {
    ...after,
    id,
    version: row.version,
    parentMemoryId: before.id,
    rootMemoryId: row.rootMemoryId,
    createdAt: now,
    updatedAt: now,
  };
}

function changed(before: MemoryRow, input: MemoryChange): MemoryRow {
  const forgetAfter = input.forgetAfter === undefined ? before.forgetAfter : input.forgetAfter;
  const reason = input.forgetReason === undefined ? before.forgetReason : input.forgetReason;
  return {
    ...before,
    memory: input.newContent,
    metadata: input.metadata ?? before.metadata,
    temporalContext: input.temporalContext
      ? { ...before.temporalContext, ...input.temporalContext }
      : before.temporalContext,
    forgetAfter,
    forgetReason: forgetAfter === null ? null : reason,
  };
}

function locked(tx: Transaction, { containerTag, id, content }: MemoryChoice): Promise<MemoryRow | null> {
  if (id !== undefined) return lockById(tx, containerTag, id);
  const text = content ?? '';
  return lockByText(tx, containerTag, text, memoryHash(text));
}

/** Or expired. */
export function isForgotten(
  { isForgotten: marked, forgetAfter }: Pick<MemoryRow, 'isForgotten' | 'forgetAfter'>,
  now: Date,
): boolean {
  return marked || (forgetAfter !== null && forgetAfter <= now);
}

/** Words of an instruction that are not its topic. */
const instruction =
  /^\s*(?:please\s+)?(?:(?:forget|remove|delete|erase|drop)\s+)?(?:(?:everything|all|anything|what(?:ever)? (?:you|i) (?:know|said)|(?:the |all )?(?:memories|facts))\s+)?(?:(?:about|regarding|concerning|related to|on|that)\s+)?/i;

/** The topic of an instruction; the instruction itself when nothing else is in it. */
export function topicOf(query: string): string {
  const topic = query.replace(instruction, '').trim();
  return topic === '' ? query.trim() : topic;
}

async function matchedBy(matching: Matching, { database, search }: MemoriesOptions): Promise<Matched[]> {
  const { containerTag, query, ids, threshold, maxForget } = matching;
  if (query === undefined) {
    const found = await findCurrent(database, containerTag, ids ?? []);
    return found.map((one) => ({ ...one, score: 1 }));
  }
  const q = topicOf(query).replace(/^(?:the|my|an?)\s+(?=\S)/i, '');
  return search({ containerTag, q, threshold, limit: maxForget });
}

function notFound(): MemorydError {
  return new MemorydError('not_found', 'Memory not found');
}
