import { randomUUID } from 'node:crypto';
import type { DocumentBody, DocumentInput, IngestResult, Metadata } from '../engine/document.ts';
import { ingest } from '../engine/ingest.ts';
import { refusalOf, refusalOfType } from '../engine/refusal.ts';
import { removeDocuments } from '../engine/remove.ts';
import {
  claimItems,
  finishItems,
  lockLeased,
  releaseItems,
  type ClaimedItem,
  type FinishedItem,
  type PartitionKey,
} from '../store/sync-items.ts';
import type { Fetched, FetchedDocument, Partition, Ref } from './contract.ts';
import { failItem, stopsRun } from './failure.ts';
import { removeItems } from './ledger.ts';
import { keyOf, type Run } from './run.ts';

/** What came of one claimed item. */
type Outcome = { item: ClaimedItem } & (
  | { kind: 'document'; document: FetchedDocument; body: DocumentBody }
  | { kind: 'gone' }
  | { kind: 'skipped'; reason: string }
  | { kind: 'failed'; error: unknown }
);

/** Tells the fetching side that there may be more to claim, and that nothing will be added any more. */
export interface Supply {
  /** Resolves when pages were added since the last call, or the supply ended. */
  changed(): Promise<void>;
  ended(): boolean;
}

/**
 * Fetches what the ledger says is due, batch by batch, while the listing goes on filling it. Each
 * batch becomes documents and finished ledger rows in one transaction.
 */
export async function fetchItems(run: Run, partition: Partition, supply: Supply): Promise<void> {
  const key = keyOf(run, partition);
  for (;;) {
    run.signal.throwIfAborted();
    const ended = supply.ended();
    const fetched = await fetchBatch(run, partition, key);
    if (fetched > 0) continue;
    if (ended) return;
    await supply.changed();
  }
}

async function fetchBatch(run: Run, partition: Partition, key: PartitionKey): Promise<number> {
  const leaseToken = randomUUID();
  const now = run.clock.now();
  const items = await claimItems(run.database, key, {
    limit: run.settings.claimSize,
    leaseToken,
    now,
    leaseUntil: new Date(now.getTime() + run.settings.itemLeaseMs),
  });
  try {
    for (const group of groupBySize(items, run.settings.groupBytes)) {
      const outcomes = await fetchGroup(run, partition, group);
      await commit(run, key, outcomes, leaseToken);
    }
  } catch (error) {
    await releaseItems(run.database, key, leaseToken, run.clock.now());
    throw error;
  }
  return items.length;
}

/** Groups whose sizes add up to no more than `maxBytes`, so that a few large files do not fill the memory. */
function groupBySize(items: readonly ClaimedItem[], maxBytes: number): ClaimedItem[][] {
  const groups: ClaimedItem[][] = [];
  let bytes = Infinity;
  for (const item of items) {
    const size = Number(item.ref.size ?? 0);
    if (bytes + size > maxBytes) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)!.push(item);
    bytes += size;
  }
  return groups;
}

async function fetchGroup(run: Run, partition: Partition, items: readonly ClaimedItem[]): Promise<Outcome[]> {
  const many = run.connector.fetchMany ? await fetchMany(run, partition, items) : new Map<string, Fetched>();
  const outcomes: Outcome[] = [];
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item; item = queue.shift()) {
      outcomes.push(await fetchOne(run, partition, item, many.get(item.ext_id)));
    }
  };
  await Promise.all(Array.from({ length: Math.min(run.settings.fetchConcurrency, items.length) }, worker));
  return outcomes;
}

async function fetchMany(run: Run, partition: Partition, items: readonly ClaimedItem[]): Promise<Map<string, Fetched>> {
  const fetched = new Map<string, Fetched>();
  for await (const [id, one] of run.connector.fetchMany!(run.context, partition, items.map(refOf)))
    fetched.set(id, one);
  return fetched;
}

function refOf(item: ClaimedItem): Ref {
  return {
    ...(item.ref as Partial<Ref>),
    id: item.ext_id,
    rev: item.want_rev,
    ...(item.fingerprint === null ? {} : { fingerprint: item.fingerprint }),
  };
}

async function fetchOne(
  run: Run,
  partition: Partition,
  item: ClaimedItem,
  known: Fetched | undefined,
): Promise<Outcome> {
  run.signal.throwIfAborted();
  try {
    const refused = refusalOfType(item.ref.mimeType as string | undefined);
    if (refused) return { item, kind: 'skipped', reason: refused };
    let fetched = known ?? (await run.connector.fetch(run.context, partition, refOf(item)));
    // One answer "not there" may be a slip of the source; two are evidence.
    if ('gone' in fetched) fetched = await run.connector.fetch(run.context, partition, refOf(item));
    if ('gone' in fetched) return { item, kind: 'gone' };
    if ('skip' in fetched) return { item, kind: 'skipped', reason: fetched.detail ?? fetched.skip };
    const body = bodyOf(fetched);
    const unreadable = refusalOf(body);
    if (unreadable) return { item, kind: 'skipped', reason: unreadable };
    return { item, kind: 'document', document: fetched, body };
  } catch (error) {
    if (run.signal.aborted || stopsRun(error)) throw error;
    return { item, kind: 'failed', error };
  }
}

/** Writes the outcomes of items that this lease still holds, all in one transaction. */
async function commit(run: Run, key: PartitionKey, outcomes: readonly Outcome[], leaseToken: string): Promise<void> {
  const lease = run.handOver?.reserve() ?? null;
  const results = await run.database.transaction(async (tx) => {
    const held = await lockLeased(
      tx,
      key,
      outcomes.map(({ item }) => item.ext_id),
      leaseToken,
    );
    const mine = outcomes.filter(({ item }) => held.has(item.ext_id));
    const documents = mine.filter((one) => one.kind === 'document');
    const ingested = await ingest(
      tx,
      documents.map((one) => documentInput(run, one)),
      run.clock,
      lease,
    );
    const gone = mine.filter((one) => one.kind === 'gone').map(({ item }) => item.ext_id);
    const deleted = await removeItems(tx, run, key, gone);
    // What is no longer mirrored must not stay in memory either.
    const stale = mine.flatMap(({ kind, item }) => (kind === 'skipped' && item.document_id ? [item.document_id] : []));
    await removeDocuments(tx, stale);
    const finished = [...documents.map((one, index) => doneItem(one, ingested[index]!)), ...leftovers(run, mine)];
    if (finished.length > 0) await finishItems(tx, key, finished, { leaseToken, now: run.clock.now() });
    return { ingested, deleted, mine };
  });
  count(run, results.ingested, results.deleted, results.mine);
  const claimed = results.ingested.flatMap((one) => one.claimed ?? []);
  if (lease) run.handOver?.accept(lease, claimed);
  const queued = results.ingested.filter((one) => one.status === 'queued').length - claimed.length;
  if (queued > 0) await run.wake(queued);
}

function doneItem(outcome: { item: ClaimedItem; document: FetchedDocument }, result: IngestResult): FinishedItem {
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
    if (one.kind === 'skipped') {
      const { ext_id, want_rev } = one.item;
      const base = { ext_id, rev: want_rev, document_id: null, next_try: null };
      return [{ ...base, state: 'skipped', error_class: 'skipped', error: one.reason }];
    }
    return one.kind === 'failed' ? [failItem(one.item, one.error, run.clock.now())] : [];
  });
}

function count(run: Run, ingested: readonly IngestResult[], deleted: number, outcomes: readonly Outcome[]): void {
  const { counters } = run;
  counters.itemsDeleted += deleted;
  for (const { outcome } of ingested) {
    if (outcome === 'created') counters.itemsAdded += 1;
    else if (outcome === 'unchanged') counters.itemsSkipped += 1;
    else counters.itemsUpdated += 1;
  }
  for (const one of outcomes) {
    if (one.kind === 'skipped') counters.itemsSkipped += 1;
    if (one.kind !== 'failed') continue;
    counters.itemsFailed += 1;
    if (run.failures.length >= 50) continue;
    run.failures.push({
      customId: one.item.custom_id,
      documentId: one.item.document_id,
      title: typeof one.item.ref.title === 'string' ? one.item.ref.title : null,
      error: failItem(one.item, one.error, run.clock.now()).error ?? 'failed',
    });
  }
}

function documentInput(run: Run, outcome: Extract<Outcome, { kind: 'document' }>): DocumentInput {
  const { connection, connector } = run;
  const { item, document, body } = outcome;
  const ref = item.ref as Partial<Ref>;
  const updatedAt = document.updatedAt ?? ref.updatedAt;
  return {
    containerTag: connection.containerTag,
    customId: item.custom_id,
    connectionId: connection.id,
    source: connection.provider,
    body,
    metadata: { ...(connection.metadata as Metadata), ...ref.metadata, ...document.metadata },
    ...optional('title', document.title),
    ...optional('type', document.type ?? connector.spec.documentType),
    ...optional('url', document.url ?? ref.url),
    ...optional('filepath', document.path ?? ref.path),
    ...optional('documentDate', updatedAt === undefined ? undefined : new Date(updatedAt)),
    ...optional('createdAt', document.createdAt === undefined ? undefined : new Date(document.createdAt)),
  };
}

function optional<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { [K in Key]?: Value };
}

/** The content in the form that the engine takes; parts become one Markdown text under their titles. */
function bodyOf(document: FetchedDocument): DocumentBody {
  if (document.file) {
    const { bytes, mimeType, name } = document.file;
    return { kind: 'file', bytes, ...optional('mimeType', mimeType), ...optional('name', name) };
  }
  if (document.markdown !== undefined) return { kind: 'markdown', text: document.markdown };
  if (document.html !== undefined) return { kind: 'html', text: document.html };
  if (document.parts) return { kind: 'markdown', text: document.parts.map(partText).join('\n\n') };
  return { kind: 'text', text: document.text ?? '' };
}

function partText(part: FetchedDocument): string {
  const text = part.markdown ?? part.text ?? part.html ?? part.parts?.map(partText).join('\n\n') ?? '';
  return part.title === undefined ? text : `## ${part.title}\n\n${text}`;
}
