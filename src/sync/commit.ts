import type { PartitionKey } from '../store/partitions.ts';
import { firstOf, paired } from '../base/collections.ts';
import { MemorydError } from '../base/errors.ts';
import type { IngestResult } from '../engine/document.ts';
import { ingest } from '../engine/ingest.ts';
import { isStatementError, isTransactionConflict } from '../store/database-errors.ts';
import type { Transaction } from '../store/database.ts';
import { addUnlisted } from '../store/partial-listings.ts';
import { finishItems, lockLeased, type FinishedItem } from '../store/sync-claims.ts';
import { dropItemDocuments } from '../store/sync-item-documents.ts';
import { markGone } from '../store/sync-items.ts';
import { addToRun, type RunCounters, type RunItemFailure } from '../store/sync-runs.ts';
import type { FetchedDocument } from '../connector/contract.ts';
import { customIdOf } from './ref.ts';
import { failItem } from './failure.ts';
import { dropDocuments, removeItems } from './item-removal.ts';
import { documentInput, type Outcome } from './outcome.ts';
import { emptyCounters } from './run-report.ts';
import type { Run } from './run.ts';

/** Items that were read again because their rev changed, and how many of them had the same content. */
export interface Tally {
  read: number;
  same: number;
}

export interface CommitOptions {
  leaseToken: string;
  tally: Tally;
}

/**
 * Stores what came of a batch: documents, finished ledger rows and the run's counters, in one
 * transaction. An outcome that the database refuses fails alone.
 */
export async function commit(
  run: Run,
  key: PartitionKey,
  outcomes: readonly Outcome[],
  options: CommitOptions,
): Promise<void> {
  if (outcomes.length === 0) return;
  try {
    await store(run, key, outcomes, options);
  } catch (error) {
    if (!isStatementError(error) || isTransactionConflict(error)) throw error;
    if (outcomes.length === 1) return storeRefused(run, key, firstOf(outcomes), { ...options, error });
    const half = Math.ceil(outcomes.length / 2);
    await commit(run, key, outcomes.slice(0, half), options);
    await commit(run, key, outcomes.slice(half), options);
  }
}

async function storeRefused(
  run: Run,
  key: PartitionKey,
  { item, kind }: Outcome,
  options: CommitOptions & { error: { code: string; constraint?: string; table?: string } },
): Promise<void> {
  const { code, constraint, table } = options.error;
  run.log.error(
    { connectionId: key.connectionId, customId: item.custom_id, code, constraint, table },
    'item not stored',
  );
  if (kind === 'failed') throw new MemorydError('internal', 'The failure of an item could not be stored; see the log.');
  const error = new MemorydError('index_failed', 'The item could not be stored; the log has the reason.');
  await store(run, key, [{ item, kind: 'failed', error }], options);
}

async function store(
  run: Run,
  key: PartitionKey,
  outcomes: readonly Outcome[],
  { leaseToken, tally }: CommitOptions,
): Promise<void> {
  const lease = run.handOver?.reserve() ?? null;
  const results = await run.hold.write(async (tx) => {
    const ids = outcomes.map(({ item }) => item.ext_id);
    const held = await lockLeased(tx, key, ids, leaseToken);
    const mine = outcomes.filter(({ item }) => held.has(item.ext_id));
    const documents = mine.filter((one) => one.kind === 'document');
    const inputs = documents.map((one) => documentInput(run, one));
    const ingested = await ingest(tx, inputs, run.clock, lease);
    await settleGone(tx, run, key, mine);
    const finished = [
      ...paired(documents, ingested).map(([one, result]) => doneItem(one, result)),
      ...leftovers(run, mine),
    ];
    if (finished.length > 0) await finishItems(tx, key, finished, { leaseToken, now: run.clock.now() });
    await dropKept(tx, key, mine);
    await noteMet(tx, run, key, documents);
    // What is not mirrored leaves its place under the document limit to others.
    if (mine.some((one) => one.kind === 'skipped')) run.documentLimit.unsettle();
    // What is no longer mirrored must not stay in memory either.
    const stale = mine.filter((one) => one.kind === 'skipped').flatMap(({ item }) => leftDocument(item.document_id));
    const dropped = await dropDocuments(tx, run, stale);
    const counters = count(ingested, dropped, mine);
    await addToRun(tx, run.id, { counters, failures: failuresOf(run, mine) }, run.clock.now());
    return { ingested, documents };
  });
  tellApart(run, key, tally, results);
  const claimed = results.ingested.flatMap((one) => one.claimed ?? []);
  if (lease) run.handOver?.accept(lease, claimed);
  const queued = results.ingested.filter((one) => one.status === 'queued').length - claimed.length;
  if (queued > 0) await run.wake(queued);
}

/** Forgets items that were never mirrored. Mirrored ones stay, because the source has not said that they were deleted. */
async function settleGone(tx: Transaction, run: Run, key: PartitionKey, outcomes: readonly Outcome[]): Promise<void> {
  const gone = outcomes.filter((one) => one.kind === 'gone').map(({ item }) => item);
  const ids = (isMirrored: boolean) =>
    gone.filter((item) => (item.document_id !== null) === isMirrored).map((item) => item.ext_id);
  const [unknown, missing] = [ids(false), ids(true)];
  if (unknown.length > 0) await removeItems(tx, run, key, unknown);
  if (missing.length > 0) await markGone(tx, key, missing, { as: 'missing', now: run.clock.now() });
}

function leftDocument(id: string | null): { id: string; rev: null }[] {
  return id === null ? [] : [{ id, rev: null }];
}

/** Content that came with the listing is needed no more, unless the item is to be tried again. */
async function dropKept(tx: Transaction, key: PartitionKey, outcomes: readonly Outcome[]): Promise<void> {
  const ids = outcomes.filter((one) => one.kind !== 'failed' && one.item.ref['inline'] === true);
  if (ids.length === 0) return;
  await dropItemDocuments(
    tx,
    key,
    ids.map(({ item }) => item.ext_id),
  );
}

/** Items that the stored content shows, and that no listing may ever show. */
async function noteMet(
  tx: Transaction,
  run: Run,
  key: PartitionKey,
  outcomes: readonly { document: FetchedDocument }[],
): Promise<void> {
  if (run.connector.spec.listing !== 'partial') return;
  // In one order, so that batches that show the same items wait for each other instead of deadlocking.
  const ids = [...new Set(outcomes.flatMap(({ document }) => document.leadsTo ?? []))].toSorted();
  if (ids.length === 0) return;
  const items = ids.map((id) => ({ ext_id: id, custom_id: customIdOf(run.connection.provider, id) }));
  if ((await addUnlisted(tx, key, items, run.clock.now())) > 0) run.met.add(key.partitionId);
}

function doneItem(outcome: Extract<Outcome, { kind: 'document' }>, result: IngestResult): FinishedItem {
  return {
    ext_id: outcome.item.ext_id,
    state: 'done',
    rev: outcome.document.rev ?? outcome.item.want_rev,
    document_id: result.id,
    next_try: null,
    error_class: null,
    error: null,
  };
}

function leftovers(run: Run, outcomes: readonly Outcome[]): FinishedItem[] {
  return outcomes.flatMap((one): FinishedItem[] => {
    if (one.kind === 'failed') return [failItem(one.item, one.error, run.clock.now())];
    if (one.kind !== 'skipped') return [];
    const { ext_id, want_rev } = one.item;
    const base = { ext_id, rev: want_rev, document_id: null, next_try: null };
    return [{ ...base, state: 'skipped', error_class: skipClass(one.reason), error: one.detail }];
  });
}

/** The framework's own filters have the class `filtered`, and let items in again when they change. */
function skipClass(reason: string): string {
  return reason === 'filtered' ? 'left_out' : reason;
}

function count(ingested: readonly IngestResult[], deleted: number, outcomes: readonly Outcome[]): RunCounters {
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

function failuresOf(run: Run, outcomes: readonly Outcome[]): RunItemFailure[] {
  return outcomes.flatMap((one) => {
    if (one.kind !== 'failed') return [];
    const { custom_id: customId, document_id: documentId, ref } = one.item;
    const title = typeof ref['title'] === 'string' ? ref['title'] : null;
    return [{ customId, documentId, title, error: failItem(one.item, one.error, run.clock.now()).error ?? 'failed' }];
  });
}

const suspiciousItems = 20;
const suspiciousShare = 0.8;

/** A rev that changes without the content costs a download at every sync; only the connector can mend it. */
function tellApart(
  run: Run,
  key: PartitionKey,
  tally: Tally,
  { ingested, documents }: { ingested: readonly IngestResult[]; documents: readonly Outcome[] },
): void {
  if (run.connector.spec.revs === 'loose') return;
  for (const [{ item }, { outcome }] of paired(documents, ingested)) {
    if (item.document_id === null) continue;
    tally.read += 1;
    if (outcome === 'unchanged') tally.same += 1;
  }
  if (tally.same < suspiciousItems || tally.same < tally.read * suspiciousShare) return;
  const message = `${tally.same} of ${tally.read} items that were read again had the same content as before. Their rev changes although nothing else does, so each sync downloads them; this is to be mended in the connector.`;
  run.report.warn(key.partitionId, 'unstable_revisions', message);
}
