import type { Json, Partition } from 'memoryd/connector';
import { ask, type NotionContext } from './client.ts';
import { foundIn, pageSize, type Found } from './search.ts';

/** A data source as it is remembered from one sync to the next. */
export interface KnownSource {
  /** Its rows were read up to this time of their last edit; null: it was never read to its end. */
  since: string | null;
}

const prefix = 'source/';
const recordOf = (id: string) => `${prefix}${id}`;

/** Data sources by id: those that were remembered, and those that this run has met, which may not be stored yet. */
export async function knownSources(ctx: NotionContext, partition: Partition): Promise<Map<string, KnownSource>> {
  const stored = await ctx.records(partition, prefix);
  const known = new Map<string, KnownSource>();
  for (const [name, value] of Object.entries(stored)) {
    known.set(name.slice(prefix.length), value as unknown as KnownSource);
  }
  for (const [id, source] of await metSources(ctx)) {
    if (source === null) known.delete(id);
    else known.set(id, source);
  }
  return known;
}

/** Null: it is not there any more. */
const metSources = (ctx: NotionContext) =>
  ctx.session('notion:sources', async () => new Map<string, KnownSource | null>());

/** The records that a page stores to remember data sources; nothing for those that are known as they are. */
export async function remember(
  ctx: NotionContext,
  known: ReadonlyMap<string, KnownSource>,
  sources: Iterable<readonly [string, KnownSource | null]>,
): Promise<Record<string, Json | null>> {
  const met = await metSources(ctx);
  const records: Record<string, Json | null> = {};
  for (const [id, source] of sources) {
    if (known.has(id) ? known.get(id)!.since === source?.since : source === null) continue;
    met.set(id, source);
    records[recordOf(id)] = source as unknown as Json;
  }
  return records;
}

/** Selects rows of a data source: all by the time of their creation, or those edited since a time. */
export interface Rows {
  field: 'created_time' | 'last_edited_time';
  from?: string | undefined;
  cursor?: string | undefined;
}

export async function queryRows(ctx: NotionContext, id: string, { field, from, cursor }: Rows): Promise<Found> {
  const filter =
    field === 'created_time'
      ? { timestamp: field, created_time: { on_or_after: from ?? '' } }
      : { timestamp: field, last_edited_time: { on_or_after: from ?? '' } };
  const answer = await ask(ctx, (notion) =>
    notion.dataSources.query({
      data_source_id: id,
      sorts: [{ timestamp: field, direction: 'ascending' }],
      page_size: pageSize,
      ...(from === undefined ? {} : { filter }),
      ...(cursor && { start_cursor: cursor }),
    }),
  );
  return foundIn(answer);
}

/**
 * Where the rows go on. A query ends after 10,000 rows; the next one begins at the time of the last row, that time
 * included. Null: there is nothing more. `'stuck'`: more than 10,000 rows have one time, and some of them stay unseen.
 */
export function rowsAfter(rows: Rows, found: Found): Rows | null | 'stuck' {
  if (found.next !== undefined) return { ...rows, cursor: found.next };
  if (!found.isCut) return null;
  const last = found.pages.at(-1)?.[rows.field];
  if (last === undefined || last === rows.from) return 'stuck';
  return { field: rows.field, from: last };
}
