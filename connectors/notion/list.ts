import type { JsonObject, Page, Partition, Ref } from 'memoryd/connector';
import { isKind, stopsAll, type NotionContext } from './client.ts';
import { readPage } from './page.ts';
import { freshOnes, refsOf, walkOf } from './refs.ts';
import { search, type Found } from './search.ts';
import { sourceIdOf, type ShownPage } from './shown.ts';
import { knownSources, queryRows, remember, rowsAfter, type KnownSource, type Rows } from './sources.ts';

/**
 * Notion promises of no list that it shows everything, so that several are joined: the search, the rows of every data
 * source, pages that others name as their parent. What all of them leave out is kept as long as it can be read.
 */
type Place =
  | { stage: 'search'; begin: string; cursor: string }
  | { stage: 'sources'; begin: string; at?: string; rows?: Rows }
  | { stage: 'parents' };

const parentsAtOnce = 50;
const beginning = '1970-01-01T00:00:00.000Z';

/** `pass`: every second time the search is read from its other end, which shows what moved while it was read. */
export async function listPages(
  ctx: NotionContext,
  partition: Partition,
  from?: JsonObject,
  pass = 0,
): Promise<Page<JsonObject>> {
  const place = from as unknown as Place | undefined;
  if (place === undefined || place.stage === 'search') return listSearch(ctx, partition, place, pass);
  return place.stage === 'sources' ? listRows(ctx, partition, place) : listParents(ctx);
}

const to = (place: Place): JsonObject => place as unknown as JsonObject;

async function listSearch(
  ctx: NotionContext,
  partition: Partition,
  place: Extract<Place, { stage: 'search' }> | undefined,
  pass: number,
): Promise<Page<JsonObject>> {
  const walk = await walkOf(ctx);
  if (place === undefined) Object.assign(walk, { seen: new Set(), parents: new Set() });
  const direction = pass % 2 === 0 ? 'descending' : 'ascending';
  const found = await search(ctx, { cursor: place?.cursor, direction });
  const begin = place?.begin ?? (direction === 'descending' ? newestIn(found) : undefined) ?? beginning;
  const { refs } = await refsOf(ctx, { ...found, pages: freshOnes(walk, found.pages) });
  const known = await knownSources(ctx, partition);
  const records = await remember(ctx, known, sourcesIn(found, known));
  const incomplete = 'Notion shows some pages by their ids alone: the integration may not read content.';
  const next: Place =
    found.next === undefined ? { stage: 'sources', begin } : { stage: 'search', begin, cursor: found.next };
  return { refs, records, ...(found.bare > 0 && { incomplete }), next: to(next) };
}

function newestIn({ pages, sources }: Found): string | undefined {
  return [...pages, ...sources]
    .map((shown) => shown.last_edited_time)
    .toSorted()
    .at(-1);
}

/** Data sources that are shown, and those of rows that are shown. */
export function* sourcesIn(
  { pages, sources }: Pick<Found, 'pages' | 'sources'>,
  known: ReadonlyMap<string, KnownSource>,
): Generator<[string, KnownSource]> {
  const ids = new Set([...sources.map(({ id }) => id), ...pages.flatMap((page) => sourceIdOf(page) ?? [])]);
  for (const id of ids) if (!known.has(id)) yield [id, { since: null }];
}

async function listRows(
  ctx: NotionContext,
  partition: Partition,
  { begin, at = '', rows }: Extract<Place, { stage: 'sources' }>,
): Promise<Page<JsonObject>> {
  const known = await knownSources(ctx, partition);
  const id = rows === undefined ? nextSource(known, at) : at;
  if (id === undefined) return { refs: [], next: to({ stage: 'parents' }) };
  const current = rows ?? { field: 'created_time' };
  const done = to({ stage: 'sources', begin, at: id });
  try {
    const found = await queryRows(ctx, id, current);
    const next = rowsAfter(current, found);
    const { refs } = await refsOf(ctx, {
      ...found,
      pages: freshOnes(await walkOf(ctx), found.pages),
    });
    const isDone = next === null || next === 'stuck';
    const records = isDone ? await remember(ctx, known, [[id, { since: next === null ? begin : null }]]) : {};
    const incomplete = 'More than 10,000 rows of a database were made in one minute, of which Notion shows no more.';
    return {
      refs,
      records,
      ...(next === 'stuck' && { incomplete }),
      next: isDone ? done : to({ stage: 'sources', begin, at: id, rows: next }),
    };
  } catch (error) {
    return { ...(await failedSource(ctx, known, id, error)), next: done };
  }
}

export const nextSource = (known: ReadonlyMap<string, KnownSource>, after: string): string | undefined =>
  [...known.keys()].filter((id) => id > after).toSorted()[0];

/** One data source that fails holds up no other; it is read from its beginning by the next sync. */
async function failedSource(
  ctx: NotionContext,
  known: ReadonlyMap<string, KnownSource>,
  id: string,
  error: unknown,
): Promise<Page<JsonObject>> {
  // Not shared any more. Its rows go when they cannot be read either.
  if (isKind(error, 'gone')) return { refs: [], records: await remember(ctx, known, [[id, null]]) };
  if (stopsAll(error) || isKind(error, 'cursor_expired')) throw error;
  const records = await remember(ctx, known, [[id, { since: null }]]);
  return { refs: [], records, incomplete: `A database could not be read: ${(error as Error).message}` };
}

/** Parents that no list has shown are asked for by their ids. */
async function listParents(ctx: NotionContext): Promise<Page<JsonObject>> {
  const walk = await walkOf(ctx);
  const pages: ShownPage[] = [];
  for (const id of [...walk.parents].slice(0, parentsAtOnce)) {
    const page = await readPage(ctx, id).catch((error: unknown) => {
      // A parent that is not shared says nothing about its children.
      if (isKind(error, 'forbidden')) return undefined;
      throw error;
    });
    walk.seen.add(id);
    walk.parents.delete(id);
    if (page) pages.push(page);
  }
  for (const { parent } of pages) {
    if (parent.type === 'page_id' && !walk.seen.has(parent.page_id)) walk.parents.add(parent.page_id);
  }
  const { refs }: { refs: Ref[] } = await refsOf(ctx, { pages, sources: [] });
  return walk.parents.size > 0 ? { refs, next: to({ stage: 'parents' }) } : { refs, done: true };
}
