import type { JsonObject, Page, Partition, Ref } from 'memoryd/connector';
import { ask, isKind, stopsAll, type NotionContext } from './client.ts';
import { freshOnes, refsOf, walkOf } from './refs.ts';
import { search, type Found } from './search.ts';
import { isPage, sourceIdOf, type ShownPage } from './shown.ts';
import { knownSources, queryRows, remember, rowsAfter, type KnownSource, type Rows } from './sources.ts';

/**
 * Notion promises of no list that it shows everything, so that several are joined: the search, the rows of every data
 * source, pages that others name as their parent. What all of them leave out is kept as long as it can be read.
 */
type Place =
  | { stage: 'search'; begin?: string; cursor?: string }
  /** Again from the other end, because the search was cut off or showed something twice. */
  | { stage: 'again'; begin: string; cursor?: string; reaches: string | null }
  | { stage: 'sources'; begin: string; at?: string; rows?: Rows }
  | { stage: 'parents'; begin: string };

const parentsAtOnce = 50;
const beginning = '1970-01-01T00:00:00.000Z';

export async function listPages(
  ctx: NotionContext,
  partition: Partition,
  from?: JsonObject,
): Promise<Page<JsonObject>> {
  const place = (from as unknown as Place | undefined) ?? { stage: 'search' };
  if (place.stage === 'search') return listSearch(ctx, partition, place);
  if (place.stage === 'again') return listAgain(ctx, partition, place);
  if (place.stage === 'sources') return listRows(ctx, partition, place);
  return listParents(ctx, place);
}

const to = (place: Place): JsonObject => place as unknown as JsonObject;

async function listSearch(
  ctx: NotionContext,
  partition: Partition,
  place: Extract<Place, { stage: 'search' }>,
): Promise<Page<JsonObject>> {
  const walk = await walkOf(ctx);
  if (place.cursor === undefined) Object.assign(walk, { seen: new Set(), parents: new Set(), isOdd: false });
  const found = await search(ctx, { cursor: place.cursor });
  const begin = place.begin ?? newestIn(found) ?? beginning;
  const page = await pageOf(ctx, partition, found);
  if (found.next !== undefined) return { ...page, next: to({ stage: 'search', begin, cursor: found.next }) };
  const oldest = found.pages.at(-1)?.last_edited_time ?? null;
  const isOdd = found.isCut || walk.isOdd;
  return {
    ...page,
    next: to(isOdd ? { stage: 'again', begin, reaches: found.isCut ? oldest : null } : { stage: 'sources', begin }),
  };
}

async function listAgain(
  ctx: NotionContext,
  partition: Partition,
  { begin, cursor, reaches }: Extract<Place, { stage: 'again' }>,
): Promise<Page<JsonObject>> {
  const found = await search(ctx, { cursor, direction: 'ascending' });
  const page = await pageOf(ctx, partition, found);
  const last = found.pages.at(-1)?.last_edited_time ?? beginning;
  if (found.next !== undefined) return { ...page, next: to({ stage: 'again', begin, cursor: found.next, reaches }) };
  const isShort = found.isCut && (reaches === null || last < reaches);
  const incomplete = 'The search of Notion ends before its end, from both sides.';
  return { ...page, ...(isShort && { incomplete }), next: to({ stage: 'sources', begin }) };
}

function newestIn({ pages, sources }: Found): string | undefined {
  return [...pages, ...sources]
    .map((shown) => shown.last_edited_time)
    .toSorted()
    .at(-1);
}

async function pageOf(ctx: NotionContext, partition: Partition, found: Found): Promise<Page<JsonObject>> {
  const walk = await walkOf(ctx);
  const fresh = freshOnes(walk, found.pages, { repeatsAreOdd: true });
  const { refs } = await refsOf(ctx, { ...found, pages: fresh });
  const known = await knownSources(ctx, partition);
  const records = await remember(ctx, known, sourcesIn(found, known));
  const incomplete = 'Notion shows some pages by their ids alone: the integration may not read content.';
  return { refs, records, ...(found.bare > 0 && { incomplete }) };
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
  if (id === undefined) return { refs: [], next: to({ stage: 'parents', begin }) };
  const current = rows ?? { field: 'created_time' };
  const done = to({ stage: 'sources', begin, at: id });
  try {
    const found = await queryRows(ctx, id, current);
    const next = rowsAfter(current, found);
    const { refs } = await refsOf(ctx, {
      ...found,
      pages: freshOnes(await walkOf(ctx), found.pages, { repeatsAreOdd: false }),
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
async function listParents(
  ctx: NotionContext,
  { begin }: Extract<Place, { stage: 'parents' }>,
): Promise<Page<JsonObject>> {
  const walk = await walkOf(ctx);
  const pages: ShownPage[] = [];
  for (const id of [...walk.parents].slice(0, parentsAtOnce)) {
    const page = await findPage(ctx, id);
    walk.seen.add(id);
    walk.parents.delete(id);
    if (page) pages.push(page);
  }
  for (const { parent } of pages) {
    if (parent.type === 'page_id' && !walk.seen.has(parent.page_id)) walk.parents.add(parent.page_id);
  }
  const { refs }: { refs: Ref[] } = await refsOf(ctx, { pages, sources: [] });
  return walk.parents.size > 0 ? { refs, next: to({ stage: 'parents', begin }) } : { refs, done: true };
}

/** Undefined when the integration may not see it, or it is in the trash. */
export async function findPage(ctx: NotionContext, id: string): Promise<ShownPage | undefined> {
  try {
    const page = await ask(ctx, (notion) => notion.pages.retrieve({ page_id: id }));
    return isPage(page) && !page.in_trash ? page : undefined;
  } catch (error) {
    if (isKind(error, 'gone', 'forbidden')) return undefined;
    throw error;
  }
}
