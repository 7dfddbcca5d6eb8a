import { expectMoves, judgeRef } from './coverage.ts';
import { valueOf } from '../base/collections.ts';
import { writeRecords } from '../store/partitions.ts';
import { noteNews } from '../store/partial-listings.ts';
import type { Sql } from '../store/sql.ts';
import {
  moveToEpoch,
  recordPage,
  unlikeLedger,
  type ItemWrite,
  type ListedPage,
  type PageCounts,
  dropStrayDocuments,
  knownRevisions,
  writeItemDocuments,
  type ItemDocumentWrite,
} from '../store/listed-pages.ts';
import { markGone } from '../store/sync-items.ts';
import type { Json, Page, Ref } from '../connector/contract.ts';
import { customIdOf, type ListedRef, writeInline } from './check-item.ts';
import { dropSkipped } from './removal.ts';
import type { Coverage, Ledger, PartitionRows } from './run.ts';

/** Refs as the ledger takes them. The last ref of an id wins, as it does at the source. */
function listedPage(ledger: Ledger, refs: readonly Ref[]): ListedPage {
  const { coverage, connection, report } = ledger;
  const now = ledger.clock.now();
  const byId = new Map(refs.map((ref) => [ref.id, ref]));
  return {
    items: Array.from(byId.values(), ({ id, rev }) => ({ extId: id, wantRev: rev })),
    write(ids) {
      const items = Array.from(ids, (id) => itemWrite(connection.provider, coverage, valueOf(byId, id), now));
      report.counters.itemsSkipped += items.filter((item) => item.skip === 'filtered').length;
      return items;
    },
  };
}

function itemWrite(provider: string, coverage: Coverage, ref: Ref, now: Date): ItemWrite {
  const { id, rev, kind, parent, fingerprint, document: _, ...rest } = ref;
  return {
    extId: id,
    customId: customIdOf(provider, id),
    kind: kind ?? 'document',
    wantRev: rev,
    fingerprint: fingerprint ?? null,
    parent: parent ?? null,
    ref: rest,
    ...judgeRef(coverage, ref, now),
  };
}

/** One page of a listing with its checkpoint, in one transaction. */
export async function recordListed(
  ledger: Ledger,
  page: Page,
  options: { epoch: number; checkpoint: Sql },
): Promise<PageCounts> {
  await expectMoves(ledger);
  const listed = listedPage(ledger, page.refs);
  const { records = {} } = page;
  const counts = await ledger.lease.write(async (tx) => {
    await writeRecords(tx, ledger.key, records);
    const recorded = await recordPage(tx, ledger.key, listed, { ...options, now: ledger.clock.now() });
    if (recorded.added > 0 && ledger.isPartial) await noteNews(tx, ledger.key, recorded.added);
    return recorded;
  });
  if (counts.added + counts.changed > 0) await settlePage(ledger);
  ledger.report.counters.itemsSeen += listed.items.length;
  ledger.report.counters.itemsSkipped += counts.unchanged;
  return counts;
}

/**
 * The same for what is mirrored already: only what differs from the ledger is written, and no checkpoint. The ids of
 * the others go into `shown`.
 */
export async function recordDifferences(
  ledger: Ledger,
  page: Page,
  options: { epoch: number; checkpoint: Sql; shown: Set<string> },
): Promise<PageCounts> {
  const { items } = listedPage(ledger, page.refs);
  const unlike = await unlikeLedger(ledger.database, ledger.key, items);
  for (const { extId: id } of items) if (!unlike.has(id)) options.shown.add(id);
  // An earlier page may have shown it as it was; it is written now.
  for (const id of unlike) options.shown.delete(id);
  const unchanged = items.length - unlike.size;
  ledger.report.counters.itemsSeen += unchanged;
  ledger.report.counters.itemsSkipped += unchanged;
  if (unlike.size === 0 && Object.keys(page.records ?? {}).length === 0) return { added: 0, changed: 0, unchanged };
  const rest = page.refs.filter(({ id }) => unlike.has(id));
  const counts = await recordListed(ledger, { ...page, refs: rest }, options);
  return { ...counts, unchanged: counts.unchanged + unchanged };
}

/** Does what need not wait for the end of the listing. */
async function settlePage(ledger: Ledger): Promise<void> {
  if (ledger.coverage.key === '') return;
  ledger.documentLimit.unsettle();
  if (ledger.coverage.roots === null) await ledger.documentLimit.fill();
  await dropSkipped(ledger);
}

/** What a page of changes or of a look-up says about items. */
interface Changes {
  refs: readonly ListedRef[];
  /** Ids of what is certain to be mirrored no more: it goes at once. */
  tombstones: readonly string[];
  /** Ids of what was merely not found: the brake decides about it. */
  missing: readonly string[];
  records: Record<string, Json | null>;
}

/**
 * One page of changes or of a look-up: what is there now, what is not, and the cursor, in one transaction.
 * `asked`: items that a listing left out, and that this look-up answers for.
 */
export async function recordChanges(
  ledger: Ledger,
  changes: Changes,
  options: { epoch: number; checkpoint: Sql; asked?: readonly string[] },
): Promise<void> {
  const now = ledger.clock.now();
  const listed = listedPage(ledger, changes.refs);
  const present = new Set(listed.items.map((item) => item.extId));
  const absent = (ids: readonly string[]) => [...new Set(ids)].filter((id) => !present.has(id));
  const [tombstones, missing] = [absent(changes.tombstones), absent(changes.missing)];
  await keepContents(ledger, changes.refs);
  if (listed.items.length + tombstones.length + missing.length > 0) {
    await expectMoves(ledger);
    ledger.documentLimit.unsettle();
  }
  await ledger.lease.write(async (tx) => {
    await recordPage(tx, ledger.key, listed, { ...options, now });
    if (missing.length > 0) await markGone(tx, ledger.key, missing, { as: 'missing', now });
    if (tombstones.length > 0) await markGone(tx, ledger.key, tombstones, { as: 'stated', now });
    if (options.asked) await moveToEpoch(tx, ledger.key, options.asked, options.epoch);
    await writeRecords(tx, ledger.key, changes.records);
  });
  ledger.report.counters.itemsSeen += listed.items.length;
}

/**
 * Stores the content that a page brings along for items that are new or changed, before the page
 * itself: whatever happens then, an item that is in the ledger without being read has its content.
 * Marks their refs as `inline`; content that is too large is left to `fetch`.
 */
export async function keepContents({ key, database, lease }: PartitionRows, refs: readonly ListedRef[]): Promise<void> {
  const carrying = refs.flatMap((ref) =>
    ref.document !== undefined && ref.kind !== 'container' ? [{ ref, inline: ref.document }] : [],
  );
  if (carrying.length === 0) return;
  const ids = carrying.map(({ ref }) => ref.id);
  const known = await knownRevisions(database, key, ids);
  const writes = new Map<string, ItemDocumentWrite>();
  for (const { ref, inline } of carrying) {
    const document = known.get(ref.id) === ref.rev ? null : writeInline(inline);
    if (document === null) continue;
    ref.inline = true;
    writes.set(ref.id, { extId: ref.id, rev: ref.rev, document });
  }
  if (writes.size > 0) await lease.write((tx) => writeItemDocuments(tx, key, [...writes.values()]));
}

/** Removes content that no item waits for, e.g. of a page that was never recorded. */
export async function dropStrayContents({ key, lease }: PartitionRows): Promise<void> {
  await lease.write((tx) => dropStrayDocuments(tx, key));
}
