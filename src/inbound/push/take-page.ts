import { hash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { paired, valueOf, present } from '../../base/collections.ts';
import { MemorydError } from '../../base/errors.ts';
import { newId } from '../../base/ids.ts';
import type { UnreadPart } from '../../connector/contract.ts';
import type { DocumentInput, IngestResult, Metadata } from '../../engine/document.ts';
import { ingest } from '../../engine/ingest.ts';
import type { Transaction } from '../../store/database.ts';
import { withdrawDocuments } from '../../store/hidden-documents.ts';
import { recordPage, type ItemWrite } from '../../store/listed-pages.ts';
import {
  noCheckpoint,
  type PartitionKey,
  noteUnread,
  startListing,
  type PartitionRow,
} from '../../store/partitions.ts';
import {
  countPushedItems,
  findPushedItems,
  finishPushedItems,
  forgetSkipped,
  markPushedSeen,
  type PushConnection,
  type PushedItemRow,
  abandonSnapshot,
  findSnapshot,
  insertSnapshot,
  updateSnapshot,
  type SnapshotRow,
} from '../../store/push.ts';
import { deleteItems, takeSkippedDocuments } from '../../store/sync-items.ts';
import { finishRun, findRun, startRun } from '../../store/sync-runs.ts';
import { customIdOf } from '../../sync/check-item.ts';
import { maxUnread } from '../../sync/check-page.ts';
import { readItemRules } from '../../sync/coverage.ts';
import { parseFilters, passes, updateTime, type Filters, ruledOutDetail, type ItemRules } from '../../sync/filters.ts';
import {
  canonicalText,
  type DeleteResult,
  type PushDelete,
  type PushEntry,
  type PushUpsert,
  type UpsertResult,
  type UpsertStatus,
  pushedPartition,
  type PushRequest,
} from './push-service.ts';

/** Where a page goes. */
export interface PagePlace {
  connection: PushConnection;
  key: PartitionKey;
  epoch: number;
  clock: Clock;
}

export interface TakenPage {
  upserts: UpsertResult[];
  deletes: DeleteResult[];
  /** Documents that wait for processing. */
  queued: number;
  /** Entries of which not even the item is known. */
  nameless: number;
}

type Known = ReadonlyMap<string, PushedItemRow>;

/**
 * Takes the entries of one request into the ledger and the engine, in the caller's transaction and a
 * constant number of statements. What is unchanged costs one of them for all.
 */
export async function takePage(
  tx: Transaction,
  place: PagePlace,
  entries: readonly PushEntry[],
  deletes: readonly PushDelete[],
): Promise<TakenPage> {
  const latest = latestUpserts(entries);
  const ids = [...latest.keys(), ...idsOf(deletes), ...refusedIds(entries)];
  const before = await findPushedItems(tx, place.key, ids);
  const admitted = await admit(tx, place, latest, before);
  const isChanged = await record(tx, place, admitted, before);
  const after = isChanged ? await findPushedItems(tx, place.key, [...admitted.keys()]) : before;
  const ingested = isChanged ? await ingestChanged(tx, place, admitted, after) : new Map<string, IngestResult>();
  if (isChanged) await dropSkipped(tx, place);
  await markPushedSeen(tx, place.key, refusedIds(entries), place.epoch);
  return {
    upserts: entries.map((entry) => upsertResult(entry, { latest, admitted, before, after, ingested })),
    deletes: await takeDeletes(tx, place, deletes, { upserted: latest, before }),
    queued: [...ingested.values()].filter((one) => one.status === 'queued' && one.outcome !== 'unchanged').length,
    nameless: entries.filter((entry) => 'refused' in entry && entry.refused.id === null).length,
  };
}

/** The last upsert of each id, as at any source. */
function latestUpserts(entries: readonly PushEntry[]): Map<string, PushUpsert> {
  return new Map(entries.flatMap((entry) => ('upsert' in entry ? [[entry.upsert.id, entry.upsert] as const] : [])));
}

function idsOf(deletes: readonly PushDelete[]): string[] {
  return deletes.flatMap((one) => ('id' in one ? [one.id] : []));
}

function refusedIds(entries: readonly PushEntry[]): string[] {
  return entries.flatMap((entry) => ('refused' in entry && entry.refused.id !== null ? [entry.refused.id] : []));
}

/** Items that the document limit lets in: existing ones, and new ones in the order of arrival. */
async function admit(
  tx: Transaction,
  { connection }: PagePlace,
  upserts: ReadonlyMap<string, PushUpsert>,
  before: Known,
): Promise<Map<string, PushUpsert>> {
  if (connection.documentLimit === null) return new Map(upserts);
  let free = connection.documentLimit - (await countPushedItems(tx, connection.id));
  return new Map([...upserts].filter(([id]) => (before.get(id)?.documentId ? true : free-- > 0)));
}

/** Stores what is listed; false when all of it was known. */
async function record(
  tx: Transaction,
  place: PagePlace,
  upserts: ReadonlyMap<string, PushUpsert>,
  before: Known,
): Promise<boolean> {
  if (upserts.size === 0) return false;
  const { connection, key, epoch, clock } = place;
  const now = clock.now();
  const filters = parseFilters(connection.filters);
  const rules = await readItemRules(tx);
  const skipped = [...upserts.keys()].filter((id) => before.get(id)?.state === 'skipped');
  if (skipped.length > 0) await forgetSkipped(tx, key, skipped);
  const write = (ids: ReadonlySet<string>) =>
    Array.from(ids, (id) => itemWrite(connection, valueOf(upserts, id), before.get(id), { filters, rules, now }));
  const items = Array.from(upserts.values(), (upsert) => ({ extId: upsert.id, wantRev: revOf(upsert) }));
  const options = { epoch, now, checkpoint: noCheckpoint(key, now) };
  const { added, changed } = await recordPage(tx, key, { items, write }, options);
  return added + changed > 0;
}

function itemWrite(
  connection: PushConnection,
  upsert: PushUpsert,
  before: PushedItemRow | undefined,
  { filters, rules, now }: { filters: Filters; rules: ItemRules | null; now: Date },
): ItemWrite {
  const { id, title, url, path, metadata, updatedAt, content } = upsert;
  const ref = {
    ...present({ title, url, path, metadata, updatedAt }),
    size: Buffer.byteLength(content.text),
  };
  const filter = passes(filters, ref, now);
  const ruledOut = rules?.admits(ref) === false ? ruledOutDetail : null;
  const detail = filter === null ? ruledOut : `The filter "${filter}" leaves it out.`;
  return {
    extId: id,
    // A document keeps its customId, also when the name of the connection changed.
    customId: before?.customId ?? customIdOf(namespaceOf(connection), id),
    kind: 'document',
    wantRev: revOf(upsert),
    fingerprint: null,
    parent: null,
    ref,
    sourceUpdatedAt: updateTime(updatedAt),
    skip: detail === null ? null : 'filtered',
    skipDetail: detail,
  };
}

function namespaceOf({ provider, config }: PushConnection): string {
  const { name } = config;
  return typeof name === 'string' && name !== 'default' ? `${provider}:${name}` : provider;
}

function revOf({ rev, ...rest }: PushUpsert): string {
  return rev ?? `sha256:${hash('sha256', canonicalText(rest), 'base64url')}`;
}

/** Hands what is new or changed to the engine; answers what became of it, by id. */
async function ingestChanged(
  tx: Transaction,
  { connection, key, clock }: PagePlace,
  upserts: ReadonlyMap<string, PushUpsert>,
  after: Known,
): Promise<Map<string, IngestResult>> {
  const changed = [...after.values()].filter(({ state }) => state === 'pending');
  const inputs = changed.map((row) => documentInput(connection, row, valueOf(upserts, row.extId)));
  const results = await ingest(tx, inputs, clock, null);
  const stored = paired(changed, results);
  const finished = stored.map(([{ extId }, { id }]) => ({ extId, documentId: id }));
  await finishPushedItems(tx, key, finished, clock.now());
  return new Map(stored.map(([{ extId }, result]) => [extId, result]));
}

function documentInput(connection: PushConnection, row: PushedItemRow, upsert: PushUpsert): DocumentInput {
  const { title, url, path, metadata, updatedAt, content } = upsert;
  return {
    containerTag: connection.containerTag,
    customId: row.customId,
    connectionId: connection.id,
    source: connection.provider,
    body: content,
    trust: 'read',
    metadata: { ...(connection.metadata as Metadata), ...metadata },
    title,
    url,
    filepath: path,
    ...(updatedAt !== undefined && { documentDate: new Date(updatedAt) }),
  };
}

const skippedAtOnce = 500;

/** Removes documents of items that the filters now leave out. */
async function dropSkipped(tx: Transaction, { connection, key, clock }: PagePlace): Promise<void> {
  for (let count = skippedAtOnce; count === skippedAtOnce;) {
    const left = await takeSkippedDocuments(tx, key, skippedAtOnce);
    count = left.length;
    if (count > 0) await withdrawDocuments(tx, left, { connectionId: connection.id, keep: false, now: clock.now() });
  }
}

interface Took {
  latest: ReadonlyMap<string, PushUpsert>;
  admitted: ReadonlyMap<string, PushUpsert>;
  before: Known;
  after: Known;
  ingested: ReadonlyMap<string, IngestResult>;
}

function upsertResult(entry: PushEntry, took: Took): UpsertResult {
  if ('refused' in entry) return { ...entry.refused, status: 'failed', documentId: null };
  const { id } = entry.upsert;
  const documentId = took.ingested.get(id)?.id ?? took.after.get(id)?.documentId ?? null;
  if (took.latest.get(id) !== entry.upsert) return { id, status: 'superseded', documentId, error: null };
  if (!took.admitted.has(id)) {
    return { id, status: 'failed', documentId: null, error: 'The document limit of the connection is reached.' };
  }
  const row = valueOf(took.after, id);
  const status = statusOf(row, took.ingested.get(id));
  return { id, status, documentId, error: status === 'skipped' ? row.error : null };
}

function statusOf(row: PushedItemRow, ingested: IngestResult | undefined): UpsertStatus {
  if (ingested) {
    if (ingested.outcome === 'created' || ingested.outcome === 'restored') return 'created';
    return ingested.outcome === 'unchanged' ? 'unchanged' : 'updated';
  }
  if (row.state === 'skipped' || row.state === 'suppressed') return row.state;
  return 'unchanged';
}

async function takeDeletes(
  tx: Transaction,
  { connection, key, clock }: PagePlace,
  deletes: readonly PushDelete[],
  { upserted, before }: { upserted: ReadonlyMap<string, PushUpsert>; before: Known },
): Promise<DeleteResult[]> {
  const results = deletes.map((one): DeleteResult => {
    if ('refused' in one) return { ...one.refused, status: 'failed' };
    if (upserted.has(one.id)) return { id: one.id, status: 'failed', error: 'It is among the upserts, too.' };
    return { id: one.id, status: before.has(one.id) ? 'deleted' : 'absent', error: null };
  });
  const ids = results.flatMap(({ id, status }) => (status === 'deleted' ? [id!] : []));
  await removePushed(tx, { connection, key, now: clock.now() }, ids);
  return results;
}

/** Forgets items and hides their documents, unless the connection keeps them. */
export async function removePushed(
  tx: Transaction,
  place: { connection: PushConnection; key: PartitionKey; now: Date },
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const { connection, key, now } = place;
  const left = await deleteItems(tx, key, ids);
  const keep = connection.onSourceDelete === 'keep';
  if (left.length > 0) await withdrawDocuments(tx, left, { connectionId: connection.id, keep, now });
}

/** The page of a snapshot that a request is. */
export interface PageOfSnapshot {
  id: string;
  page: number;
  epoch: number;
  runId: string;
  /** After this page. */
  nextPage: number;
  incomplete: string | null;
  /** Parts that its pages could not show so far. */
  unread: UnreadPart[];
  /** The snapshot was completed by this very page before. */
  isOver: boolean;
}

interface Continuing {
  connectionId: string;
  partition: PartitionRow;
  request: PushRequest;
  clock: Clock;
}

/**
 * Begins a snapshot with its first page, or goes on with the next one; the page before may come again,
 * because its answer may have been lost. A new snapshot ends the one before, and nothing is removed
 * for that. Null for a push that is no snapshot.
 */
export async function continueSnapshot(tx: Transaction, options: Continuing): Promise<PageOfSnapshot | null> {
  const { request, connectionId, partition, clock } = options;
  const now = clock.now();
  const wanted = request.snapshot ?? (request.completeSnapshot ? { id: newId(now), page: 1 } : null);
  if (!wanted) return null;
  const row = await findSnapshot(tx, connectionId, wanted.id);
  if (!row) return begin(tx, options, wanted);
  requireExpected(row, wanted.page);
  const nextPage = Math.max(row.nextPage, wanted.page + 1);
  const isOver = row.state === 'completed';
  const runId = isOver ? row.runId : await runOf(tx, connectionId, row, now);
  const unread = mergeUnread(partition.listingUnread, request.unread);
  return { ...wanted, epoch: row.epoch, runId, nextPage, incomplete: row.incomplete, unread, isOver };
}

async function begin(
  tx: Transaction,
  { connectionId, partition, request, clock }: Continuing,
  { id, page }: { id: string; page: number },
): Promise<PageOfSnapshot> {
  if (page !== 1) {
    throw new MemorydError('conflict', `There is no snapshot ${id.slice(0, 60)}; it begins with page 1`, {
      shouldRetry: false,
    });
  }
  const now = clock.now();
  const replaced = await abandonSnapshot(tx, connectionId, now);
  if (replaced) await finishRun(tx, replaced, { error: 'Another snapshot was begun.', errorCode: 'internal', now });
  const key = { connectionId, partitionId: pushedPartition };
  const epoch = await startListing(tx, key, { head: null, relist: partition.state !== 'new', now });
  const runId = newId(now);
  await startRun(tx, { id: runId, connectionId, mode: 'full', triggerType: 'event', now });
  await insertSnapshot(tx, { connectionId, id, epoch, runId, now });
  return {
    id,
    page,
    epoch,
    runId,
    nextPage: 2,
    incomplete: null,
    unread: mergeUnread([], request.unread),
    isOver: false,
  };
}

/** By path; a page may come again. */
function mergeUnread(before: readonly UnreadPart[], told: readonly UnreadPart[] = []): UnreadPart[] {
  return [...new Map([...before, ...told].map((part) => [part.path, part])).values()];
}

/** A page that was left out would look like deletions. */
function requireExpected({ id, state, nextPage }: SnapshotRow, page: number): void {
  const isRepeated = page === nextPage - 1;
  const refused = (message: string) => new MemorydError('conflict', message, { shouldRetry: false });
  if (state === 'abandoned') throw refused(`The snapshot ${id.slice(0, 60)} was replaced by another one`);
  if (state === 'completed' && !isRepeated) throw refused(`The snapshot ${id.slice(0, 60)} is complete`);
  if (isRepeated || page === nextPage) return;
  throw refused(`Page ${nextPage} of the snapshot is expected, page ${page} came`);
}

/** A run that was given up, because its snapshot stood still for too long, is followed by another one. */
async function runOf(tx: Transaction, connectionId: string, { runId }: SnapshotRow, now: Date): Promise<string> {
  const run = await findRun(tx, connectionId, runId);
  if (run?.status === 'running') return runId;
  const id = newId(now);
  await startRun(tx, { id, connectionId, mode: 'full', triggerType: 'event', now });
  return id;
}

/** Stores how far the snapshot is, together with the items of its page. */
export async function snapshotTaken(
  tx: Transaction,
  connectionId: string,
  page: PageOfSnapshot,
  { nameless, now }: { nameless: number; now: Date },
): Promise<void> {
  if (page.isOver) return;
  // What has no usable id may be an item that is there: its absence proves nothing then.
  if (nameless > 0) page.incomplete ??= `Page ${page.page} holds ${nameless} entries without a usable id.`;
  if (page.unread.length > maxUnread) page.incomplete ??= `More than ${maxUnread} parts could not be read.`;
  const { id, nextPage, incomplete, runId } = page;
  const key = { connectionId, partitionId: pushedPartition };
  if (page.unread.length > 0) await noteUnread(tx, key, page.unread.slice(0, maxUnread), now);
  await updateSnapshot(tx, connectionId, { id, state: 'open', nextPage, incomplete, runId, now });
}
