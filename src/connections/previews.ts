import { present } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import type { ConnectionRow } from '../store/connections.ts';
import type { Connector, Context, Json, Partition } from '../connector/contract.ts';
import { keepInside } from '../sync/dry-run.ts';
import { parseFilters, passes, type FilteredRef } from '../sync/filters.ts';
import { checkPage, checkPartitions, createPageGuard } from '../sync/check-page.ts';
import type { ListedRef } from '../sync/check-item.ts';
import { rootsOf } from '../sync/coverage.ts';

/** The part of a source that filters would let through. */
export interface SourcePreview {
  listed: Amount;
  chosen: Amount;
  /** A few names of each. */
  examples: { chosen: string[]; leftOut: string[] };
  /** False: the source shows more than was looked at. */
  complete: boolean;
}

/** Bytes are those of the items whose size the source tells. */
export interface Amount {
  items: number;
  bytes: number;
}

export type Ask = <Answer>(
  row: ConnectionRow,
  question: (connector: Connector<any, any>, context: Context<any>) => Promise<Answer>,
) => Promise<Answer>;

/** Repeated previews reuse a listing for this long, so that trying filters need not wait for the source each time. */
const keptMs = 5 * 60_000;
/** Only the first items of a larger source are counted. */
const maxItems = 50_000;
/** Less than what a person waits for an answer. */
const listingMs = 20_000;
const maxExamples = 5;

type Item = FilteredRef & { id: string; parent: string | undefined };

interface Listing {
  key: string;
  until: Date;
  items: Map<string, Item>;
  complete: boolean;
}

/**
 * Counts what filters take, without storing anything. What a source has shown is kept for a while, of one
 * connection at a time, so that filters can be tried out.
 */
export function createPreviews({ ask, clock }: { ask: Ask; clock: Clock }) {
  let kept: Listing | null = null;
  return {
    async preview(row: ConnectionRow, wanted: unknown): Promise<SourcePreview> {
      const filters = parseFilters(wanted ?? row.filters);
      const key = JSON.stringify([row.id, row.config, row.selection]);
      const now = clock.now();
      const known = kept?.key === key && kept.until > now ? kept : null;
      const listing = known ?? { key, until: new Date(now.getTime() + keptMs), ...(await listAll(row, ask, clock)) };
      kept = listing;
      return counted(listing, (item) => passes(filters, item, now) === null);
    },
  };
}

async function listAll(row: ConnectionRow, ask: Ask, clock: Clock): Promise<Pick<Listing, 'items' | 'complete'>> {
  const items = new Map<string, Item>();
  const folders = new Map<string, string | undefined>();
  const until = new Date(clock.now().getTime() + listingMs);
  const isEnough = () => items.size >= maxItems || clock.now() > until;
  const complete = await ask(row, async (connector, context) => {
    const partitions = checkPartitions(await connector.partitions(context)).filter(
      ({ unread }) => unread === undefined,
    );
    const roots = connector.spec.scope === 'tree' ? await rootsOf(connector, context) : null;
    let isComplete = true;
    for (const partition of partitions) {
      isComplete &&= await listPartition({ connector, context, partition }, isEnough, (ref) => {
        if (ref.kind === 'container') folders.set(ref.id, ref.parent);
        else items.set(`${partition.id}\n${ref.id}`, itemOf(ref));
      });
    }
    if (roots !== null) keepInside(items, folders, new Set(roots));
    return isComplete;
  });
  return { items, complete };
}

/** Whether it came to the end. */
async function listPartition(
  source: { connector: Connector<any, any>; context: Context<any>; partition: Partition },
  isEnough: () => boolean,
  take: (ref: ListedRef) => void,
): Promise<boolean> {
  const { connector, context, partition } = source;
  const guard = createPageGuard('list');
  let cursor: Json | undefined;
  let isWhole = true;
  for (;;) {
    if (isEnough()) return false;
    const page = checkPage(await connector.list(context, partition, cursor), 'list');
    guard.pass(cursor, page);
    for (const ref of page.refs) take(ref);
    isWhole &&= page.incomplete === undefined;
    cursor = page.next;
    if (page.done || cursor === undefined) return isWhole;
  }
}

function itemOf({ id, parent, path, title, mimeType, size, updatedAt, metadata }: ListedRef): Item {
  const labels = metadata?.labels;
  return {
    ...{ id, parent },
    ...present({ path, title, mimeType, size, updatedAt }),
    ...(labels !== undefined && { metadata: { labels } }),
  };
}

function counted({ items, complete }: Listing, isChosen: (item: Item) => boolean): SourcePreview {
  const preview: SourcePreview = {
    listed: { items: 0, bytes: 0 },
    chosen: { items: 0, bytes: 0 },
    examples: { chosen: [], leftOut: [] },
    complete,
  };
  for (const item of items.values()) {
    const takes = isChosen(item);
    add(preview.listed, item);
    if (takes) add(preview.chosen, item);
    const examples = takes ? preview.examples.chosen : preview.examples.leftOut;
    const name = exampleOf(item);
    if (name !== undefined && examples.length < maxExamples) examples.push(name);
  }
  return preview;
}

/** The path tells files of one name apart; that of a mail is its mailbox, and says nothing of the mail. */
function exampleOf({ path, title }: Item): string | undefined {
  return title !== undefined && path?.endsWith(title) !== true ? title : path;
}

function add(amount: Amount, { size }: Item): void {
  amount.items += 1;
  amount.bytes += size ?? 0;
}
