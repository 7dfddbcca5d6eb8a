import { transient, type JsonObject, type Page, type Partition } from 'memoryd/connector';
import { isKind, stopsAll, type NotionContext } from './client.ts';
import { nextSource, sourcesIn } from './list.ts';
import { refsOf } from './refs.ts';
import { search } from './search.ts';
import { knownSources, queryRows, remember, rowsAfter, type Rows } from './sources.ts';

/** Times are whole minutes, and the search shows some edits late. */
const overlapMs = 10 * 60_000;

/** Where changes are read from: the newest time of an edit that was seen, and how far the reading has come. */
interface Position {
  since: string;
  /** Counts how often it was read to the end, so that no two positions are the same. */
  round: number;
  reading?: Reading;
  /** Data sources that could not be read meanwhile. */
  failed?: number;
}

type Reading =
  | { stage: 'search'; begin: string; cursor: string }
  | { stage: 'trash'; begin: string; cursor?: string }
  | { stage: 'sources'; begin: string; at?: string; rows?: Rows };

const to = (position: Position): JsonObject => position as unknown as JsonObject;

/** One request: the time of the newest edit, by Notion’s own clock. */
export async function headOfPages(ctx: NotionContext): Promise<JsonObject> {
  const { pages, sources } = await search(ctx, {});
  const newest = [...pages, ...sources]
    .map((shown) => shown.last_edited_time)
    .toSorted()
    .at(-1);
  return to({ since: newest ?? '1970-01-01T00:00:00.000Z', round: 0 });
}

/** Two requests while nothing happens, the search and the trash, and one for each data source. */
export async function changesOfPages(
  ctx: NotionContext,
  partition: Partition,
  from: JsonObject,
): Promise<Page<JsonObject>> {
  const position = from as unknown as Position;
  const { since, round, reading, failed = 0 } = position;
  if (reading === undefined && failed > 0 && (await failures(ctx)).count > 0) {
    throw transient(`${failed} databases could not be read. Everything else is up to date.`);
  }
  if (reading === undefined || reading.stage === 'search') return edited(ctx, partition, { since, round, reading });
  if (reading.stage === 'trash') return trashed(ctx, partition, { since, round, reading });
  return rowsEdited(ctx, partition, { since, round, reading, failed });
}

const failures = (ctx: NotionContext) => ctx.session('notion:failures', async () => ({ count: 0 }));

const floorOf = (since: string): string => new Date(Date.parse(since) - overlapMs).toISOString();

/** Newest first, down to what was seen before. */
async function edited(
  ctx: NotionContext,
  partition: Partition,
  {
    since,
    round,
    reading,
  }: { since: string; round: number; reading: Extract<Reading, { stage: 'search' }> | undefined },
): Promise<Page<JsonObject>> {
  const found = await search(ctx, { cursor: reading?.cursor });
  const shown = [...found.pages, ...found.sources];
  const times = shown.map((one) => one.last_edited_time).toSorted();
  const begin = reading?.begin ?? [times.at(-1) ?? since, since].toSorted()[1]!;
  const floor = floorOf(since);
  const pages = found.pages.filter((page) => page.last_edited_time >= floor);
  const { refs, left } = await refsOf(ctx, { ...found, pages });
  const known = await knownSources(ctx, partition);
  const records = await remember(ctx, known, sourcesIn(found, known));
  const isDone = found.next === undefined || (times[0] ?? '') < floor;
  const next: Reading = isDone ? { stage: 'trash', begin } : { stage: 'search', begin, cursor: found.next! };
  return { refs, gone: left, records, next: to({ since, round, reading: next }) };
}

/** Only what says of itself that it is in the trash is gone: the list of the trash may be late as well. */
async function trashed(
  ctx: NotionContext,
  partition: Partition,
  { since, round, reading }: { since: string; round: number; reading: Extract<Reading, { stage: 'trash' }> },
): Promise<Page<JsonObject>> {
  const found = await search(ctx, { cursor: reading.cursor, inTrash: true });
  const floor = floorOf(since);
  const gone = found.pages.filter((page) => page.in_trash && page.last_edited_time >= floor).map(({ id }) => id);
  const known = await knownSources(ctx, partition);
  const sources = found.sources.filter((source) => source.in_trash);
  const records = await remember(
    ctx,
    known,
    sources.map(({ id }) => [id, null] as const),
  );
  const oldest = [...found.pages, ...found.sources].at(-1)?.last_edited_time ?? '';
  const { begin } = reading;
  const isDone = found.next === undefined || oldest < floor;
  const next: Reading = isDone ? { stage: 'sources', begin } : { stage: 'trash', begin, cursor: found.next! };
  return { refs: [], gone, records, next: to({ since, round, reading: next }) };
}

async function rowsEdited(
  ctx: NotionContext,
  partition: Partition,
  {
    since,
    round,
    reading,
    failed,
  }: { since: string; round: number; reading: Extract<Reading, { stage: 'sources' }>; failed: number },
): Promise<Page<JsonObject>> {
  const { begin, at = '', rows } = reading;
  const known = await knownSources(ctx, partition);
  const id = rows === undefined ? nextSource(known, at) : at;
  if (id === undefined) return { refs: [], ...ended(begin, round, failed) };
  const current = rows ?? rowsSince(known.get(id)?.since ?? null);
  const isLast = nextSource(known, id) === undefined;
  const after = (count: number) =>
    isLast
      ? ended(begin, round, count)
      : { next: to({ since, round, failed: count, reading: { stage: 'sources', begin, at: id } }) };
  try {
    const found = await queryRows(ctx, id, current);
    const { refs, left } = await refsOf(ctx, found);
    const next = rowsAfter(current, found);
    if (next !== null && next !== 'stuck') {
      return {
        refs,
        gone: left,
        next: to({ since, round, failed, reading: { stage: 'sources', begin, at: id, rows: next } }),
      };
    }
    return { refs, gone: left, records: await remember(ctx, known, [[id, { since: begin }]]), ...after(failed) };
  } catch (error) {
    if (isKind(error, 'gone')) return { refs: [], records: await remember(ctx, known, [[id, null]]), ...after(failed) };
    if (stopsAll(error) || isKind(error, 'cursor_expired')) throw error;
    (await failures(ctx)).count += 1;
    return { refs: [], ...after(failed + 1) };
  }
}

function rowsSince(since: string | null): Rows {
  return since === null ? { field: 'created_time' } : { field: 'last_edited_time', from: floorOf(since) };
}

/** Failures are reported by the call after the last page, when everything else is stored. */
function ended(begin: string, round: number, failed: number): Pick<Page<JsonObject>, 'next' | 'done'> {
  return failed > 0
    ? { next: to({ since: begin, round: round + 1, failed }) }
    : { next: to({ since: begin, round: round + 1 }), done: true };
}
