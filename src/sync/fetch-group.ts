import { firstOf, paired } from '../base/collections.ts';
import { MemorydError } from '../base/errors.ts';
import { readableBytes } from '../base/readable-bytes.ts';
import { storableText } from '../base/storable.ts';
import {
  ConnectorError,
  type ConnectorSpec,
  type Fetched,
  type FetchedDocument,
  type Ref,
} from '../connector/contract.ts';
import type { IngestResult, DocumentInput, Metadata } from '../engine/document.ts';
import { ingest } from '../engine/ingest.ts';
import { refusalOfType } from '../engine/read-document.ts';
import type { ConnectionRow } from '../store/connections.ts';
import { isStatementError, isTransactionConflict } from '../store/database-errors.ts';
import type { Transaction } from '../store/database.ts';
import { dropItemDocuments } from '../store/listed-pages.ts';
import { addUnlisted } from '../store/partial-listings.ts';
import type { PartitionKey } from '../store/partitions.ts';
import { type ClaimedItem, finishItems, lockLeased, type FinishedItem } from '../store/leases.ts';
import { markGone } from '../store/sync-items.ts';
import { addToRun, type RunCounters, type RunItemFailure } from '../store/sync-runs.ts';
import { checkFetched, contentBody, type TakenContent, customIdOf, timeOf } from './check-item.ts';
import { connectorFault, stopsFetching, wearsOut, failItem } from './failure.ts';
import { dropDocuments, removeItems } from './removal.ts';
import { emptyCounters } from './run-lease.ts';
import type { FetchingParts, PartitionRun, Ledger } from './run.ts';

interface GroupResult {
  outcomes: FetchOutcome[];
  /** Something about more than one item ended the group; items without an outcome are not touched. */
  stopped: { error: unknown } | null;
}

/** Items in one call of `fetchMany`. */
const manySize = 100;

type GroupFetch = PartitionRun & Pick<FetchingParts, 'extractor'>;

/** Content that is known without a `fetch` for the item alone. */
type Known = Map<string, () => Fetched>;

/** Fetches some items side by side; `contents` are those that came with the listing. */
export async function fetchGroup(
  part: GroupFetch,
  items: readonly ClaimedItem[],
  contents: ReadonlyMap<string, FetchedDocument>,
): Promise<GroupResult> {
  const result: GroupResult = { outcomes: [], stopped: null };
  const known: Known = new Map([...contents].map(([id, document]) => [id, () => document]));
  const wanted: ClaimedItem[] = [];
  for (const item of items) {
    const refused = refuse(part, item);
    if (refused) result.outcomes.push(refused);
    else wanted.push(item);
  }
  if (part.source.has('fetchMany')) await fetchMany(part, wanted, known, result);
  const queue = result.stopped ? wanted.filter((item) => known.has(item.extId)) : [...wanted];
  const worker = async () => {
    for (let item = queue.shift(); item; item = queue.shift()) await fetchInto(part, item, known, result);
  };
  await Promise.all(Array.from({ length: Math.min(part.settings.fetchConcurrency, queue.length) }, worker));
  return result;
}

/** The outcome of an item that needs no request to the source; null for all others. */
function refuse({ source, extractor }: GroupFetch, item: ClaimedItem): FetchOutcome | null {
  if (wearsOut(item)) {
    const error = new MemorydError('lost_worker', 'Workers keep dying while they fetch this item.');
    return { item, kind: 'failed', error };
  }
  const refusal = refusalOfType(item.ref['mimeType'] as string | undefined, extractor.readsPictures);
  if (refusal) return { item, kind: 'skipped', reason: 'unsupported_type', detail: refusal };
  const maxBytes = maxItemBytes(source.spec);
  const bytes = Number(item.ref['size'] ?? 0);
  return bytes > maxBytes ? tooLarge(item, bytes, maxBytes) : null;
}

const maxItemBytes = ({ maxItemBytes: bytes = 25 * 1024 * 1024 }: ConnectorSpec) => bytes;

function tooLarge(item: ClaimedItem, bytes: number, maxBytes: number): FetchOutcome {
  const detail = `It has ${readableBytes(bytes)}; at most ${readableBytes(maxBytes)} are read.`;
  return { item, kind: 'skipped', reason: 'too_large', detail };
}

/**
 * Asks for many at once. What was received counts even when the answer breaks off; what is missing in
 * it is fetched one by one.
 */
async function fetchMany(
  part: GroupFetch,
  items: readonly ClaimedItem[],
  known: Known,
  result: GroupResult,
): Promise<void> {
  const { signal } = part.ledger;
  const missing = items.filter((item) => !known.has(item.extId));
  for (let start = 0; start < missing.length && !result.stopped; start += manySize) {
    const refs = missing.slice(start, start + manySize).map((item) => ({ key: item.extId, ref: refOf(item) }));
    const keys = new Map(refs.map(({ key, ref }) => [ref.id, key]));
    const take = (id: string, answer: unknown) => {
      const key = keys.get(id);
      if (key !== undefined) known.set(key, () => checkFetched(answer));
    };
    const asked = refs.map(({ ref }) => ref);
    try {
      await part.source.fetchMany(part.partition, asked, take, signal);
    } catch (error) {
      if (signal.aborted || stopsFetching(error)) result.stopped = { error };
    }
  }
}

async function fetchInto(part: GroupFetch, item: ClaimedItem, known: Known, result: GroupResult): Promise<void> {
  // What is known already is worth keeping even when nothing more may be asked for.
  if (result.stopped && !known.has(item.extId)) return;
  try {
    const answer = known.get(item.extId)?.() ?? (await ask(part, item));
    // One answer "not there" may be a slip of the source; two are evidence.
    const fetched = 'gone' in answer && !result.stopped ? await ask(part, item) : answer;
    if ('gone' in fetched && result.stopped) return;
    result.outcomes.push(await outcomeOf(part, item, fetched));
  } catch (error) {
    if (part.ledger.signal.aborted || stopsFetching(error)) result.stopped ??= { error };
    else result.outcomes.push(failureOf(item, error));
  }
}

async function ask({ source, partition }: GroupFetch, item: ClaimedItem): Promise<Fetched> {
  try {
    return await source.fetch(partition, refOf(item));
  } catch (error) {
    if (ConnectorError.is(error) && error.kind === 'gone') return { gone: true };
    throw error;
  }
}

async function outcomeOf(
  { source, extractor, ledger }: GroupFetch,
  item: ClaimedItem,
  fetched: Fetched,
): Promise<FetchOutcome> {
  if ('gone' in fetched) return { item, kind: 'gone' };
  if ('skip' in fetched) {
    return { item, kind: 'skipped', reason: fetched.skip, detail: fetched.detail ?? fetched.skip };
  }
  const maxBytes = maxItemBytes(source.spec);
  const bytes = fetched.file?.bytes.byteLength ?? 0;
  if (bytes > maxBytes) return tooLarge(item, bytes, maxBytes);
  const content = await contentBody(fetched, extractor, ledger.signal);
  if ('refusal' in content) return { item, kind: 'skipped', reason: 'unsupported_type', detail: content.refusal };
  return { item, kind: 'document', document: fetched, content };
}

function failureOf(item: ClaimedItem, error: unknown): FetchOutcome {
  if (!ConnectorError.is(error) && !MemorydError.is(error)) {
    return { item, kind: 'failed', error: connectorFault('The content that fetch answered cannot be read.') };
  }
  if (!ConnectorError.is(error) || error.kind !== 'skip') return { item, kind: 'failed', error };
  return { item, kind: 'skipped', reason: error.skip ?? 'other', detail: error.message };
}

/** The outcome of one claimed item. */
type FetchOutcome = { item: ClaimedItem } & (
  | { kind: 'document'; document: FetchedDocument; content: TakenContent }
  | { kind: 'gone' }
  | { kind: 'skipped'; reason: string; detail: string }
  | { kind: 'failed'; error: unknown }
);

/** The ref of a claimed item, as the connector gave it. */
function refOf(item: ClaimedItem): Ref {
  const { sourceId, inline: _, ...ref } = item.ref as Partial<Ref> & { sourceId?: string; inline?: true };
  return {
    ...ref,
    id: sourceId ?? item.extId,
    rev: item.wantRev,
    ...(item.fingerprint !== null && { fingerprint: item.fingerprint }),
  };
}

/** What came of a batch, beside what the database holds of it. */
export interface Committed {
  /** Items that were read again because their rev changed, and how many of them had the same content. */
  readAgain: number;
  same: number;
  /** Content showed items that no listing has shown. */
  showsUnlisted: boolean;
}

type Committing = Pick<PartitionRun, 'source' | 'ledger'> & Pick<FetchingParts, 'handOver' | 'wake'>;

/**
 * Stores what came of a batch: documents, finished ledger rows and the run's counters, in one
 * transaction. An outcome that the database refuses fails alone.
 */
export async function commit(
  parts: Committing,
  outcomes: readonly FetchOutcome[],
  leaseToken: string,
): Promise<Committed> {
  if (outcomes.length === 0) return { readAgain: 0, same: 0, showsUnlisted: false };
  try {
    return await store(parts, outcomes, leaseToken);
  } catch (error) {
    if (!isStatementError(error) || isTransactionConflict(error)) throw error;
    if (outcomes.length === 1) return storeRefused(parts, firstOf(outcomes), leaseToken, error);
    const half = Math.ceil(outcomes.length / 2);
    const first = await commit(parts, outcomes.slice(0, half), leaseToken);
    const second = await commit(parts, outcomes.slice(half), leaseToken);
    return {
      readAgain: first.readAgain + second.readAgain,
      same: first.same + second.same,
      showsUnlisted: first.showsUnlisted || second.showsUnlisted,
    };
  }
}

async function storeRefused(
  parts: Committing,
  { item, kind }: FetchOutcome,
  leaseToken: string,
  { code, constraint, table }: { code: string; constraint?: string; table?: string },
): Promise<Committed> {
  const { key, log } = parts.ledger;
  log.error({ connectionId: key.connectionId, customId: item.customId, code, constraint, table }, 'item not stored');
  if (kind === 'failed') throw new MemorydError('internal', 'The failure of an item could not be stored; see the log.');
  const error = new MemorydError('index_failed', 'The item could not be stored; the log has the reason.');
  return store(parts, [{ item, kind: 'failed', error }], leaseToken);
}

async function store(parts: Committing, outcomes: readonly FetchOutcome[], leaseToken: string): Promise<Committed> {
  const { ledger, source, handOver, wake } = parts;
  const { key, runId, connection, lease, clock, documentLimit } = ledger;
  const reserved = handOver?.reserve() ?? null;
  const { ingested, documents, showsUnlisted } = await lease.write(async (tx) => {
    const ids = outcomes.map(({ item }) => item.extId);
    const leased = await lockLeased(tx, key, ids, leaseToken);
    const mine = outcomes.filter(({ item }) => leased.has(item.extId));
    const documents = mine.filter((one) => one.kind === 'document');
    const inputs = documents.map((one) => documentInput(connection, source.spec.documentType, one));
    const ingested = await ingest(tx, inputs, clock, reserved);
    await settleGone(tx, ledger, mine);
    const finished = [
      ...paired(documents, ingested).map(([one, result]) => doneItem(one, result)),
      ...leftovers(mine, clock.now()),
    ];
    if (finished.length > 0) await finishItems(tx, key, finished, { leaseToken, now: clock.now() });
    await dropKept(tx, key, mine);
    const showsUnlisted = await noteUnlisted(tx, ledger, documents);
    // What is not mirrored leaves its place under the document limit to others.
    if (mine.some((one) => one.kind === 'skipped')) documentLimit.unsettle();
    // What is no longer mirrored must not stay in memory either.
    const stale = mine.filter((one) => one.kind === 'skipped').flatMap(({ item }) => leftDocument(item.documentId));
    const dropped = await dropDocuments(tx, ledger, stale);
    const counters = count(ingested, dropped, mine);
    await addToRun(tx, runId, { counters, failures: failuresOf(mine, clock.now()) }, clock.now());
    return { ingested, documents, showsUnlisted };
  });
  const claimed = ingested.flatMap((one) => one.claimed ?? []);
  if (reserved) handOver?.accept(reserved, claimed);
  const queued = ingested.filter((one) => one.status === 'queued').length - claimed.length;
  if (queued > 0) await wake(queued);
  const readAgain = paired(documents, ingested).filter(([{ item }]) => item.documentId !== null);
  const same = readAgain.filter(([, { outcome }]) => outcome === 'unchanged');
  return { readAgain: readAgain.length, same: same.length, showsUnlisted };
}

/** Forgets items that were never mirrored. Mirrored ones stay, because the source has not said that they were deleted. */
async function settleGone(tx: Transaction, ledger: Ledger, outcomes: readonly FetchOutcome[]): Promise<void> {
  const gone = outcomes.filter((one) => one.kind === 'gone').map(({ item }) => item);
  const ids = (isMirrored: boolean) =>
    gone.filter((item) => (item.documentId !== null) === isMirrored).map((item) => item.extId);
  const [unknown, missing] = [ids(false), ids(true)];
  if (unknown.length > 0) await removeItems(tx, ledger, unknown);
  if (missing.length > 0) await markGone(tx, ledger.key, missing, { as: 'missing', now: ledger.clock.now() });
}

function leftDocument(id: string | null): { id: string; rev: null }[] {
  return id === null ? [] : [{ id, rev: null }];
}

/** Content that came with the listing is needed no more, unless the item is to be tried again. */
async function dropKept(tx: Transaction, key: PartitionKey, outcomes: readonly FetchOutcome[]): Promise<void> {
  const ids = outcomes.filter((one) => one.kind !== 'failed' && one.item.ref['inline'] === true);
  if (ids.length === 0) return;
  await dropItemDocuments(
    tx,
    key,
    ids.map(({ item }) => item.extId),
  );
}

/** Writes down items that the stored content shows, and that no listing may ever show. Answers whether there are any. */
async function noteUnlisted(
  tx: Transaction,
  { key, connection, isPartial, clock }: Ledger,
  outcomes: readonly { document: FetchedDocument }[],
): Promise<boolean> {
  if (!isPartial) return false;
  // In one order, so that batches that show the same items wait for each other instead of deadlocking.
  const ids = [...new Set(outcomes.flatMap(({ document }) => document.leadsTo ?? []))].toSorted();
  if (ids.length === 0) return false;
  const items = ids.map((id) => ({ extId: id, customId: customIdOf(connection.provider, id) }));
  return (await addUnlisted(tx, key, items, clock.now())) > 0;
}

function doneItem(outcome: Extract<FetchOutcome, { kind: 'document' }>, result: IngestResult): FinishedItem {
  return {
    extId: outcome.item.extId,
    state: 'done',
    rev: outcome.document.rev ?? outcome.item.wantRev,
    documentId: result.id,
    nextTry: null,
    errorClass: null,
    error: null,
  };
}

function leftovers(outcomes: readonly FetchOutcome[], now: Date): FinishedItem[] {
  return outcomes.flatMap((one): FinishedItem[] => {
    if (one.kind === 'failed') return [failItem(one.item, one.error, now)];
    if (one.kind !== 'skipped') return [];
    const { extId, wantRev } = one.item;
    const base = { extId, rev: wantRev, documentId: null, nextTry: null };
    // The framework's own filters have the class `filtered`, and let items in again when they change.
    const errorClass = one.reason === 'filtered' ? 'left_out' : one.reason;
    return [{ ...base, state: 'skipped', errorClass, error: one.detail }];
  });
}

function count(ingested: readonly IngestResult[], deleted: number, outcomes: readonly FetchOutcome[]): RunCounters {
  const counters = { ...emptyCounters(), itemsDeleted: deleted };
  for (const { outcome } of ingested) {
    if (outcome === 'created' || outcome === 'restored') counters.itemsAdded += 1;
    else if (outcome === 'unchanged') counters.itemsSkipped += 1;
    else counters.itemsUpdated += 1;
  }
  for (const { kind } of outcomes) {
    if (kind === 'skipped') counters.itemsSkipped += 1;
    if (kind === 'failed') counters.itemsFailed += 1;
  }
  return counters;
}

function failuresOf(outcomes: readonly FetchOutcome[], now: Date): RunItemFailure[] {
  return outcomes.flatMap((one) => {
    if (one.kind !== 'failed') return [];
    const { customId, documentId, ref } = one.item;
    const title = typeof ref['title'] === 'string' ? ref['title'] : null;
    return [{ customId, documentId, title, error: failItem(one.item, one.error, now).error ?? 'failed' }];
  });
}

/** `documentType`: that of the connector's documents that have none of their own. */
function documentInput(
  connection: ConnectionRow,
  documentType: string | undefined,
  outcome: Extract<FetchOutcome, { kind: 'document' }>,
): DocumentInput {
  const { item, document, content } = outcome;
  const ref = item.ref as Partial<Ref>;
  const metadata = { ...(connection.metadata as Metadata), ...ref.metadata, ...document.metadata };
  const ownId = (item.ref as { sourceId?: string }).sourceId;
  return {
    containerTag: connection.containerTag,
    customId: item.customId,
    connectionId: connection.id,
    source: connection.provider,
    ...content,
    trust: isOwn(outcome) ? 'own' : 'read',
    // An id that is too long for a customId is found again here.
    metadata: ownId === undefined ? metadata : { sourceId: storableText(ownId, 2_000), ...metadata },
    author: document.author,
    title: document.title,
    type: document.type ?? documentType,
    url: document.url ?? ref.url,
    filepath: document.path ?? ref.path,
    documentDate: timeOf(document.updatedAt ?? ref.updatedAt),
    createdAt: timeOf(document.createdAt),
  };
}

/** Of a text by several people: at least a piece of it. */
function isOwn({ document, content }: Extract<FetchOutcome, { kind: 'document' }>): boolean {
  return document.own === true || (content.turns ?? []).some(({ own }) => own);
}
