import {
  ConnectorError,
  transient,
  type Fetched,
  type JsonObject,
  type Page,
  type Partition,
  type Ref,
} from 'memoryd/connector';
import { remember, type GithubContext } from './client.ts';
import { toBareRef, toRef } from './discussion-document.ts';
import {
  entriesQuery,
  feedQuery,
  listingQuery,
  numbersQuery,
  type DiscussionPage,
  type FeedEntry,
  type ShownDiscussion,
} from './discussion-queries.ts';
import { remarksOf, wholePage } from './discussion-remarks.ts';
import { ask, hiddenRepository } from './graphql.ts';
import { beginning, bounded, isoOf, sinceOf, type Seen } from './overlap.ts';
import { discussionIdOf, numberIn, placeOf } from './place.ts';
import { findById } from './repositories.ts';

/** Times are whole seconds: what was changed a moment ago may be changed again at the same time. */
const settledMs = 5_000;
const feedSize = 100;
/** Discussions in one query by their numbers. */
const batchSize = 10;
/** Discussions of a page of the listing; the smaller numbers are for pages that GitHub cannot make in its ten seconds. */
const pageSizes = [25, 5, 1];
/** When GitHub cannot show more of them at once, it is in trouble, and not they. */
const mostUnread = 3;

/** Where changes are read from. */
interface Position {
  /** The repository's id in GraphQL. */
  node: string;
  /** Newest time that was seen of a discussion. */
  newest: string;
  /** Numbers of the discussions in the overlap, each with its time and number of comments when it was read. */
  seen: Seen;
  /** Set between two pages of the feed. */
  reading?: { after: string; newest: string; seen: Seen };
}

/** A query about the repository. Throws `source_missing` when that is not there. */
async function askRepository<Node>(ctx: GithubContext, partition: Partition, text: string, variables: object) {
  const { data, missing } = await ask<{ node: Node | null }>(ctx, text, variables);
  if (missing.has('node')) throw hiddenRepository(placeOf(partition).repositoryId);
  if (!data.node) throw transient('GitHub could not answer a GraphQL query.');
  return { shown: data.node, missing };
}

const nodeOf = async (ctx: GithubContext, partition: Partition) =>
  (await findById(ctx, placeOf(partition).repositoryId)).node_id;

export async function headOfDiscussions(ctx: GithubContext, partition: Partition): Promise<JsonObject> {
  const node = await nodeOf(ctx, partition);
  const { entries } = await readFeed(ctx, partition, node);
  const newest = entries[0]?.updatedAt ?? beginning;
  return json({ node, newest, seen: seenOf(ctx, entries, newest) });
}

interface FeedPage {
  entries: FeedEntry[];
  /** Null on the last page. */
  after: string | null;
}

/** One page of what changed, newest first. */
async function readFeed(ctx: GithubContext, partition: Partition, node: string, after?: string): Promise<FeedPage> {
  const variables = { repository: node, first: feedSize, after: after ?? null };
  const { shown } = await askRepository<DiscussionPage<FeedEntry>>(ctx, partition, feedQuery, variables);
  // What was there before they were switched off is for the listing to miss.
  if (!shown.hasDiscussionsEnabled) return { entries: [], after: null };
  const { pageInfo } = shown.discussions;
  return { entries: wholePage(shown.discussions), after: pageInfo.hasNextPage ? pageInfo.endCursor : null };
}

const stampOf = ({ updatedAt, comments }: FeedEntry) => `${updatedAt} ${comments.totalCount}`;

/** Entries that the next reading shows again, except those that may change without a new stamp. */
function seenOf(ctx: GithubContext, entries: FeedEntry[], newest: string): Seen {
  const settled = isoOf(ctx.now().getTime() - settledMs);
  const since = sinceOf(newest);
  const again = entries.filter(({ updatedAt }) => updatedAt >= since && updatedAt < settled);
  return Object.fromEntries(again.map((entry) => [String(entry.number), stampOf(entry)]));
}

const json = (position: Position) => position as unknown as JsonObject;

/** One query while nothing happened, and one more for every ten discussions that changed. */
export async function changesOfDiscussions(
  ctx: GithubContext,
  partition: Partition,
  from: JsonObject,
): Promise<Page<JsonObject>> {
  const { reading, ...position } = from as unknown as Position;
  const { entries, after } = await readFeed(ctx, partition, position.node, reading?.after);
  const since = sinceOf(position.newest);
  const recent = entries.filter(({ updatedAt }) => updatedAt >= since);
  const fresh = recent.filter((entry) => position.seen[entry.number] !== stampOf(entry));
  const newest = reading?.newest ?? newerOf(position.newest, entries[0]?.updatedAt ?? beginning);
  const seen = bounded({ ...reading?.seen, ...seenOf(ctx, recent, newest) });
  const refs = await readChanged(ctx, partition, position.node, fresh);
  if (after === null || recent.length < entries.length) {
    return { refs, next: json({ ...position, newest, seen }), done: true };
  }
  return { refs, next: json({ ...position, reading: { after, newest, seen } }) };
}

const newerOf = (one: string, other: string) => (one > other ? one : other);

/** Changed discussions that still exist. One that GitHub cannot show does not keep the others waiting. */
async function readChanged(
  ctx: GithubContext,
  partition: Partition,
  node: string,
  entries: readonly FeedEntry[],
): Promise<Ref[]> {
  const refs: Ref[] = [];
  let unread = 0;
  async function read(some: readonly FeedEntry[]): Promise<void> {
    try {
      const numbers = some.map(({ number }) => number);
      const found = await readDiscussions(ctx, partition, node, numbers);
      refs.push(...[...found.values()].filter((ref) => ref !== undefined));
    } catch (error) {
      if (!isTransient(error) || (some.length === 1 && ++unread > mostUnread)) throw error;
      if (some.length === 1) refs.push(toBareRef(placeOf(partition).repositoryId, some[0]!));
      else for (const one of some) await read([one]);
    }
  }
  for (let start = 0; start < entries.length; start += batchSize) await read(entries.slice(start, start + batchSize));
  return refs;
}

function isTransient(error: unknown): boolean {
  return ConnectorError.is(error) && error.kind === 'transient';
}

/** The present state of each discussion; undefined when it was deleted or moved to another repository. */
async function readDiscussions(
  ctx: GithubContext,
  partition: Partition,
  node: string,
  numbers: readonly number[],
): Promise<Map<number, Ref | undefined>> {
  const { repositoryId } = placeOf(partition);
  const refs = new Map<number, Ref | undefined>();
  for (let start = 0; start < numbers.length; start += batchSize) {
    const batch = numbers.slice(start, start + batchSize);
    const variables = { repository: node };
    type Answer = Record<string, ShownDiscussion | null>;
    const { shown, missing } = await askRepository<Answer>(ctx, partition, numbersQuery(batch), variables);
    for (const [index, number] of batch.entries()) {
      const discussion = shown[`d${index}`];
      if (!discussion && !missing.has(`d${index}`)) throw transient('GitHub could not answer a GraphQL query.');
      const isHere = discussion?.number === number && discussion.repository.id === node;
      refs.set(number, isHere ? toRef(repositoryId, discussion, await remarksOf(ctx, discussion)) : undefined);
    }
  }
  return refs;
}

/** All discussions with what was said in them, so that each edit is found. */
export async function listDiscussions(
  ctx: GithubContext,
  partition: Partition,
  from?: JsonObject,
): Promise<Page<JsonObject>> {
  const variables = { repository: await nodeOf(ctx, partition), after: from?.['after'] ?? null };
  const { shown, refs } = await readListing(ctx, partition, variables);
  if (!shown.hasDiscussionsEnabled) return { refs, done: true };
  const { totalCount: total, pageInfo } = shown.discussions;
  if (!pageInfo.hasNextPage) return { refs, total, done: true };
  return { refs, total, next: { after: pageInfo.endCursor } };
}

interface Listing {
  shown: DiscussionPage<unknown>;
  refs: Ref[];
}

/** A page of a size that GitHub can show; a discussion that it cannot show at all is listed without its content. */
async function readListing(ctx: GithubContext, partition: Partition, variables: object): Promise<Listing> {
  const { repositoryId } = placeOf(partition);
  let failure: unknown;
  for (const first of pageSizes) {
    try {
      type Answer = DiscussionPage<ShownDiscussion>;
      const { shown } = await askRepository<Answer>(ctx, partition, listingQuery, { ...variables, first });
      const refs: Ref[] = [];
      for (const one of entriesOf(shown)) refs.push(toRef(repositoryId, one, await remarksOf(ctx, one)));
      return { shown, refs };
    } catch (error) {
      if (!isTransient(error)) throw error;
      failure = error;
    }
  }
  const unread = await remember<number>(ctx, 'unread-discussions');
  const count = (unread.get(partition.id) ?? 0) + 1;
  if (count > mostUnread) throw failure;
  unread.set(partition.id, count);
  const sized = { ...variables, first: 1 };
  const { shown } = await askRepository<DiscussionPage<FeedEntry>>(ctx, partition, entriesQuery, sized);
  return { shown, refs: entriesOf(shown).map((entry) => toBareRef(repositoryId, entry)) };
}

const entriesOf = <Node>({ hasDiscussionsEnabled, discussions }: DiscussionPage<Node>): Node[] =>
  hasDiscussionsEnabled ? wholePage(discussions) : [];

/** Hints tell of comments as well, which need not change the time of their discussion. */
export async function lookUpDiscussions(
  ctx: GithubContext,
  partition: Partition,
  ids: string[],
): Promise<Page<JsonObject>> {
  const { repositoryId } = placeOf(partition);
  const found = await readDiscussions(ctx, partition, await nodeOf(ctx, partition), ids.map(numberIn));
  const gone = [...found].flatMap(([number, ref]) => (ref ? [] : [discussionIdOf(repositoryId, number)]));
  return { refs: [...found.values()].filter((ref) => ref !== undefined), gone };
}

export async function fetchDiscussion(ctx: GithubContext, partition: Partition, ref: Ref): Promise<Fetched> {
  const number = numberIn(ref.id);
  const found = (await readDiscussions(ctx, partition, await nodeOf(ctx, partition), [number])).get(number);
  return found ? { ...found.document!, rev: found.rev } : { gone: true };
}
