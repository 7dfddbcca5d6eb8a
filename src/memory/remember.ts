import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Embedder } from '../models/embedder.ts';
import type { Bucket } from '../store/container-tags.ts';
import type { Queryable, Transaction } from '../store/database.ts';
import { finishDreaming, minedDocuments, type MinedDocument } from '../store/dreaming.ts';
import {
  addRelations,
  addSources,
  insertMemories,
  knownMemories,
  lockMemoriesOf,
  removeSources,
  setForgotten,
  supersede,
  type MemoryWrite,
} from '../store/memories.ts';
import { classify } from './classify.ts';
import { containerBuckets } from './container-buckets.ts';
import type { Extractor, Unit } from './extractor.ts';
import { indexTexts, memoryHash, type IndexedText, type Indexer } from './memory-rows.ts';
import { reconcile, sourceChanged, type Changes, type Mined, type Statement } from './reconcile.ts';
import { turnsOfMessages, turnsOfText } from './turns.ts';

export interface RememberingOptions {
  extractor: Extractor;
  embedder: Embedder;
  index: Indexer;
  clock: Clock;
}

/** What documents say, before it is compared with what is known. */
export interface Findings {
  documents: readonly Pick<MinedDocument, 'id' | 'revision'>[];
  mined: readonly Mined[];
  /** By the statements' hashes. */
  indexed: ReadonlyMap<string, IndexedText>;
}

/** From documents to memories, in two steps: models work outside of transactions, comparing works inside. */
export interface Remembering {
  find(documents: readonly MinedDocument[], signal: AbortSignal): Promise<Findings>;
  /** The same for documents whose text is not stored yet. */
  findIn(
    database: Queryable,
    texts: readonly { id: string; revision: number; text: string }[],
    signal: AbortSignal,
  ): Promise<Findings>;
  /** Writes the memories of those documents that are done and still have the revision that was read. */
  store(tx: Transaction, findings: Findings): Promise<void>;
}

export function createRemembering(options: RememberingOptions): Remembering {
  async function find(documents: readonly MinedDocument[], signal: AbortSignal): Promise<Findings> {
    const mined: Mined[] = [];
    for (const document of documents) mined.push(await statementsOf(options, document, signal));
    const texts = new Map(mined.flatMap(({ statements }) => statements.map(({ hash, text }) => [hash, text])));
    const indexed = await indexTexts([...texts.values()], { ...options, signal });
    return { documents, mined, indexed: new Map(indexed.map((one) => [one.content_hash, one])) };
  }

  return {
    find,
    async findIn(database, texts, signal) {
      const found = await minedDocuments(
        database,
        texts.map(({ id }) => id),
      );
      const given = new Map(texts.map((one) => [one.id, one]));
      return find(
        found.map((document) => ({ ...document, ...given.get(document.id) })),
        signal,
      );
    },
    async store(tx, findings) {
      const tags = await finishDreaming(tx, findings.documents);
      const mined = findings.mined.flatMap((one) => {
        const containerTag = tags.get(one.documentId);
        return containerTag === undefined ? [] : [{ ...one, containerTag }];
      });
      if (mined.length > 0) await remember(tx, mined, findings.indexed, options);
    },
  };
}

async function statementsOf(
  { extractor, index }: RememberingOptions,
  document: MinedDocument,
  signal: AbortSignal,
): Promise<Mined> {
  const { id: documentId, containerTag, date, entityContext, text, messages, metadata } = document;
  const turns = messages ? turnsOfMessages(messages) : turnsOfText(text);
  const unit: Unit = { turns, date, entityContext };
  const candidates = document.taskType === 'memory' ? await extractor.extract(unit, signal) : [];
  const statements = candidates.map((one): Statement => ({
    ...one,
    hash: memoryHash(one.text),
    terms: index(one.text).terms,
  }));
  return { documentId, containerTag, date, statements, metadata, filter: document.filterByMetadata };
}

async function remember(
  tx: Transaction,
  mined: readonly Mined[],
  indexed: Findings['indexed'],
  options: RememberingOptions,
): Promise<void> {
  const now = options.clock.now();
  const containerTags = [...new Set(mined.map((one) => one.containerTag))];
  const statements = mined.flatMap((one) => one.statements);
  await lockMemoriesOf(tx, containerTags);
  const known = await knownMemories(tx, {
    containerTags,
    subjects: [...new Set(statements.map(({ subject }) => subject))],
    hashes: statements.map(({ hash }) => hash),
    documentIds: mined.map(({ documentId }) => documentId),
    withMetadata: mined.some(({ filter }) => filter !== null),
  });
  const changes = reconcile(known, mined, () => newId(now), now);
  const buckets = changes.added.length === 0 ? () => [] : await containerBuckets(tx, containerTags);
  const rows = changes.added.map((one) => rowOf(one, indexed, buckets(one.known.containerTag), options));
  await write(tx, changes, rows, now);
}

function rowOf(
  { known, statement }: Changes['added'][number],
  indexed: Findings['indexed'],
  buckets: readonly Bucket[],
  { extractor, index }: RememberingOptions,
): MemoryWrite {
  return {
    ...indexed.get(statement.hash)!,
    id: known.id,
    container_tag: known.containerTag,
    memory: statement.text,
    metadata: null,
    temporal_context: {
      documentDate: known.documentDate,
      ...(statement.eventDates.length > 0 && { eventDate: statement.eventDates }),
    },
    kind: statement.kind,
    subject: known.subject,
    slot: known.slot,
    slot_value: known.value,
    buckets: classify(statement, buckets, (text) => index(text).terms),
    is_static: statement.isStatic,
    is_inference: statement.isInference,
    is_latest: known.isLatest,
    version: known.version,
    parent_memory_id: known.parentMemoryId,
    root_memory_id: known.rootMemoryId,
    forget_after: statement.forgetAfter,
    forget_reason: null,
    extractor: extractor.id,
  };
}

async function write(tx: Transaction, changes: Changes, rows: readonly MemoryWrite[], now: Date): Promise<void> {
  await supersede(tx, changes.superseded, now);
  await insertMemories(tx, rows, now);
  await addSources(tx, uniqueSources(changes.sources), now);
  await removeSources(tx, changes.lostSources);
  await addRelations(tx, relationsOf(changes), now);
  await setForgotten(tx, changes.revived, { forgotten: false, reason: null, now });
  // One that the same change both revived and dropped is not said any more.
  await setForgotten(tx, changes.forgotten, { forgotten: true, reason: sourceChanged, now });
}

/** One statement of a document may stand for several of its sentences. */
function uniqueSources(sources: Changes['sources']): Changes['sources'] {
  return [...new Map(sources.map((one) => [`${one.memory_id} ${one.document_id}`, one])).values()];
}

function relationsOf({ added }: Changes) {
  return added.flatMap(({ known, replaces, details }) => [
    ...(replaces === null ? [] : [{ from_id: known.id, to_id: replaces, relation: 'updates' as const }]),
    ...(details === null ? [] : [{ from_id: known.id, to_id: details, relation: 'extends' as const }]),
  ]);
}
