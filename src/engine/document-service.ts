import type { Clock } from '../base/clock.ts';
import { createMemo } from '../base/collections.ts';
import type { Scope } from '../base/scope.ts';
import type { Database } from '../store/database.ts';
import { chunksOfDocument, listChunks } from '../store/document-contents.ts';
import { atFilepath } from '../store/document-selection.ts';
import {
  countByStatus,
  countDocuments,
  countOpenByStatus,
  type DocumentCount,
  type StatusCount,
  inContainers,
  oldestWaitingAt,
  findDocumentById,
  findDocumentsByCustomId,
  listDocuments,
  type DocumentPage,
  type DocumentPlace,
  requeueAllFailed,
  requeueFailed,
  type DocumentRow,
  type ListedDocumentRow,
  type DocumentWithContent,
} from '../store/documents.ts';
import { memoriesOfDocument, memoryEntries } from '../store/memory-lists.ts';
import { rawSql, type Sql, joinSql, sql, containsText } from '../store/sql.ts';
import {
  documentStatuses,
  type DocumentStatus,
  type Document,
  type DocumentContent,
  type DocumentInput,
  type IngestResult,
  type Metadata,
  type DocumentChanges,
  type DocumentListQuery,
  type DocumentReads,
  type Documents,
  type DocumentSelectionQuery,
  type ListedDocument,
} from './document.ts';
import { MemorydError } from '../base/errors.ts';
import { createGathering } from '../base/concurrency.ts';
import { compileFilter, filterable } from '../store/filters.ts';
import { suppressItemsOfDocuments } from '../store/sync-items.ts';
import { countFoundByWords } from '../store/stored-vectors.ts';
import { addDocuments } from './add-documents.ts';
import { changeDocument, reindexDocument } from './change-document.ts';
import { removeDocuments, removeSelected } from './remove.ts';

export interface DocumentServiceOptions {
  database: Database;
  clock: Clock;
  /** Called after documents were queued, to wake workers. */
  wake(count: number): Promise<void>;
}

/** Small documents of different requests that are stored in one transaction. */
const mostTogether = 64;
const smallLength = 16_384;

function isSmall({ body }: DocumentInput): boolean {
  return body.kind === 'url' || (body.kind !== 'file' && body.text.length <= smallLength);
}

export function createDocuments(options: DocumentServiceOptions): Documents {
  return { ...createReads(options.database, createDocumentCounts(options)), ...createChanges(options) };
}

function createReads(database: Database, counts: DocumentCounts): DocumentReads {
  return {
    find: (idOrCustomId, scope) => findDocument(database, idOrCustomId, scope),

    async chunks(documentId) {
      const rows = await chunksOfDocument(database, documentId);
      return rows.map((row) => ({ ...row, metadata: row.metadata as Metadata }));
    },

    async listChunks({ scope, ...page }) {
      const { chunks, total } = await listChunks(database, { ...page, containerTags: scope.containerTags });
      return { chunks: chunks.map((row) => ({ ...row, metadata: row.metadata as Metadata })), total };
    },

    async memories(documentId) {
      const rows = await memoriesOfDocument(database, documentId);
      return rows.map(({ temporalContext, ...row }) => ({
        ...row,
        metadata: { ...row.metadata, ...(temporalContext ? { temporalContext } : {}) },
      }));
    },

    async list(query) {
      const rows = await listDocuments(database, { ...pageOf(query), from: (query.page - 1) * query.limit });
      const { total } = await countDocuments(database, listCondition(query));
      return { documents: rows.map(toListed), total };
    },

    async listFrom(query, cursor) {
      const { limit } = query;
      const rows = await listDocuments(database, { ...pageOf(query), limit: limit + 1, from: placeOf(cursor) });
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      return { documents: rows.slice(0, limit).map(toListed), next: last ? cursorOf(last, query.sort) : null };
    },

    count: (query) => counts.count(listCondition(query)),

    memoryEntries: (documentIds) => memoryEntries(database, documentIds),

    oldestWaitingAt: (scope) => oldestWaitingAt(database, scope.containerTags),

    countFoundByWords: (scope) => countFoundByWords(database, scope.containerTags),

    countByStatus: counts.countByStatus,
  };
}

async function findDocument(database: Database, idOrCustomId: string, scope: Scope) {
  const byId = await findDocumentById(database, idOrCustomId, scope.containerTags);
  if (byId) return foundDocument(byId);
  const found = await findDocumentsByCustomId(database, idOrCustomId, scope.containerTags, 100);
  if (found.length > 1) {
    throw new MemorydError('conflict', 'customId is ambiguous', {
      details: `Found in ${found.length} containers; use /ns/{namespace}/document/{id} or the document id`,
      shouldRetry: false,
    });
  }
  return found[0] ? foundDocument(found[0]) : null;
}

function createChanges({ database, clock, wake }: DocumentServiceOptions): DocumentChanges {
  async function addAll(inputs: readonly DocumentInput[]): Promise<IngestResult[]> {
    const results = await database.transaction((tx) => addDocuments(tx, inputs, clock));
    const queued = results.filter((one) => one.status === 'queued').length;
    if (queued > 0) await wake(queued);
    return results;
  }

  const addSmall = createGathering<DocumentInput, IngestResult>({
    run: addAll,
    isOfOne: (error) => MemorydError.is(error) && error.status < 500,
    most: mostTogether,
  });

  return {
    async add(inputs) {
      const [first] = inputs;
      return inputs.length === 1 && first && isSmall(first) ? [await addSmall(first)] : addAll(inputs);
    },

    remove: (ids) =>
      database.transaction(async (tx) => {
        const now = clock.now();
        await suppressItemsOfDocuments(tx, ids, now);
        return removeDocuments(tx, ids, now);
      }),

    removeSelected: (selection) => removeSelected(database, selection, clock),

    async change(id, change) {
      if (await changeDocument(database, id, change, clock)) await wake(1);
      return byId(database, id);
    },

    async retryFailed({ scope, connectionId }) {
      const count = await requeueAllFailed(database, { tags: scope.containerTags, connectionId }, clock.now());
      if (count > 0) await wake(count);
      return count;
    },

    async retry(id) {
      if (!(await requeueFailed(database, id, clock.now()))) {
        throw new MemorydError('conflict', 'Only a failed document can be retried.', { shouldRetry: false });
      }
      await wake(1);
      return byId(database, id);
    },

    async reindex(id) {
      await reindexDocument(database, id, clock.now());
      await wake(1);
      return byId(database, id);
    },
  };
}

async function byId(database: Database, id: string): Promise<Document> {
  const row = await findDocumentById(database, id, null);
  if (!row) throw new MemorydError('not_found', 'Document not found');
  return toDocument(row);
}

const names = [rawSql('d.title'), rawSql('d.filepath')];

function pageOf(query: Omit<DocumentListQuery, 'page'>): Omit<DocumentPage, 'from'> {
  return {
    where: listCondition(query),
    sort: query.sort === 'createdAt' ? 'created_at' : 'updated_at',
    order: query.order,
    limit: query.limit,
    withContent: query.includeContent ?? false,
  };
}

function toListed(row: ListedDocumentRow): ListedDocument {
  return { ...toDocument(row), content: row.content, size: row.size };
}

function cursorOf(row: DocumentRow, sort: DocumentListQuery['sort']): string {
  return Buffer.from(`${row[sort].toISOString()} ${row.id}`).toString('base64url');
}

function placeOf(cursor: string): DocumentPlace | null {
  if (cursor === '') return null;
  const [moment = '', id] = Buffer.from(cursor, 'base64url').toString().split(' ');
  const at = new Date(moment);
  if (id !== undefined && !id.includes('\0') && !Number.isNaN(at.getTime())) return { at, id };
  throw new MemorydError('invalid_request', 'cursor is not one that a page before has given');
}

function listCondition(query: DocumentSelectionQuery): Sql {
  const conditions = [inContainers(rawSql('d.container_tag'), query.scope.containerTags)];
  if (query.namedTags) {
    conditions.push(sql`coalesce(d.container_tags, array[d.container_tag::text]) && ${query.namedTags}::text[]`);
  }
  if (query.ids) conditions.push(sql`d.id = any(${query.ids}::text[])`);
  if (query.customIds) conditions.push(sql`d.custom_id = any(${query.customIds}::text[])`);
  if (query.filters) conditions.push(compileFilter(query.filters, filterable));
  if (query.filepath !== undefined) conditions.push(atFilepath(query.filepath));
  if (query.text !== undefined) conditions.push(containsText(names, query.text));
  if (query.statuses) conditions.push(sql`d.status = any(${query.statuses}::text[])`);
  if (query.sources) conditions.push(sql`d.source = any(${query.sources}::text[])`);
  if (query.connectionId !== undefined) conditions.push(sql`d.connection_id = ${query.connectionId}`);
  if (query.type !== undefined) conditions.push(sql`d.type = ${query.type}`);
  return joinSql(conditions, ' and ');
}

function foundDocument(row: DocumentWithContent): Document & DocumentContent {
  const { content, raw, hasMemories } = row;
  return { ...toDocument(row), content, raw, hasMemories };
}

function toDocument(row: DocumentRow): Document {
  const { errorCode, errorMessage, attempts, nextAttemptAt, ...rest } = row;
  return {
    ...rest,
    status: row.status as DocumentStatus,
    dreamingStatus: row.dreamingStatus as Document['dreamingStatus'],
    taskType: row.taskType as Document['taskType'],
    metadata: row.metadata as Metadata,
    error:
      errorCode === null || row.status === 'done'
        ? null
        : { code: errorCode, message: errorMessage ?? '', attempts, nextRetryAt: nextAttemptAt },
  };
}

export interface DocumentCounts {
  /** Of those for which `where` holds, on a document `d`. */
  count(where: Sql): Promise<DocumentCount>;
  countByStatus(scope: Scope): Promise<Record<DocumentStatus, number>>;
}

export interface DocumentCountsOptions {
  database: Database;
  clock: Clock;
  /** More documents than this are counted once in `keptMs`. */
  manyRows?: number;
  keptMs?: number;
}

const isFinal = (status: string) => ['done', 'failed', 'unknown'].includes(status);
const sumOf = (counts: readonly StatusCount[]) => counts.reduce((sum, { count }) => sum + count, 0);

/**
 * Counts documents. To count many takes long, and pages ask every few seconds; those that wait are
 * always those of now, because whoever waits until all is read must not be told that of before.
 */
export function createDocumentCounts(options: DocumentCountsOptions): DocumentCounts {
  const { database, clock, manyRows = 20_000, keptMs = 5_000 } = options;
  const kept = { maxEntries: 1_000, lifetimeMs: keptMs };
  const selected = createMemo<DocumentCount>(clock, kept);
  const statuses = createMemo<StatusCount[]>(clock, kept);
  return {
    async count(where) {
      const key = JSON.stringify([where.text, where.values]);
      const known = selected.get(key);
      if (known) return { ...known, waiting: sumOf(await countOpenByStatus(database, where)) };
      const counted = await countDocuments(database, where);
      if (counted.total > manyRows) selected.set(key, counted);
      return counted;
    },
    async countByStatus({ containerTags }) {
      const key = JSON.stringify(containerTags);
      const known = statuses.get(key);
      if (known) {
        const where = inContainers(rawSql('d.container_tag'), containerTags);
        return withAll([...known, ...(await countOpenByStatus(database, where))]);
      }
      const counted = await countByStatus(database, containerTags);
      const finals = counted.filter(({ status }) => isFinal(status));
      if (sumOf(counted) > manyRows) statuses.set(key, finals);
      return withAll(counted);
    },
  };
}

/** With those that there are none of. */
function withAll(counts: readonly StatusCount[]): Record<DocumentStatus, number> {
  const none = Object.fromEntries(documentStatuses.map((status) => [status, 0])) as Record<DocumentStatus, number>;
  return { ...none, ...Object.fromEntries(counts.map(({ status, count }) => [status, count])) };
}
