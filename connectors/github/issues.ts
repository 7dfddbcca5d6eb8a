import { createHash } from 'node:crypto';
import type { JsonObject, Page, Partition, Ref } from 'memoryd/connector';
import { getOf, type GithubContext } from './client.ts';
import { toDocument } from './issue-document.ts';
import { readFeed, type FeedEntry, type FeedPath, type FeedPlace } from './issue-feed.ts';
import { beginning, bounded, isoOf, sinceOf, type Seen } from './overlap.ts';
import { issueIdOf, numberIn, placeOf } from './place.ts';
import { findIssue, type ShownIssue } from './shown-issue.ts';

/** New comments change their issue’s time; those that were only edited are looked for this often. */
const commentsEveryMs = 60 * 60_000;

/** Where changes are read from. */
interface Position {
  /** Newest time that was seen of an issue. */
  issues: string;
  comments: string;
  /** When comments were looked at. */
  lookedAt: string;
  /** Numbers of the issues in the overlap, each with its rev as the feed of issues showed it. */
  seen: Seen;
  /** Set between two pages. */
  reading?: { feed: Feed; place: FeedPlace; newest: string };
}

type Feed = 'issues' | 'comments' | 'reviews';
const paths: Record<Feed, FeedPath> = { issues: '/issues', comments: '/issues/comments', reviews: '/pulls/comments' };

export async function headOfIssues(ctx: GithubContext, partition: Partition): Promise<JsonObject> {
  const { repositoryId } = placeOf(partition);
  const newestFirst = { state: 'all', sort: 'updated', direction: 'desc', per_page: 1 } as const;
  const answer = await getOf(ctx, repositoryId, '/issues', newestFirst, { accept: [410] });
  const newest = answer.status === 410 ? undefined : answer.json[0]?.updated_at;
  const now = newest ?? beginning;
  return { issues: now, comments: now, lookedAt: isoOf(ctx.now().getTime()), seen: {} };
}

export async function listIssues(
  ctx: GithubContext,
  partition: Partition,
  from?: JsonObject,
  pageSize?: number,
): Promise<Page<JsonObject>> {
  const { repositoryId } = placeOf(partition);
  const place = (from as unknown as FeedPlace | undefined) ?? { since: beginning };
  const feed = { repositoryId, path: paths.issues, from: place, conditional: false };
  const page = await readFeed(ctx, pageSize === undefined ? feed : { ...feed, pageSize });
  const refs = page.entries.map((issue) => toRef(repositoryId, issue));
  return page.done ? { refs, done: true } : { refs, next: { ...page.next } as unknown as JsonObject };
}

/** One conditional request while nothing happened; then the comments of the repository as well. */
export async function changesOfIssues(
  ctx: GithubContext,
  partition: Partition,
  from: JsonObject,
): Promise<Page<JsonObject>> {
  const { repositoryId } = placeOf(partition);
  const position = positionIn(from);
  const reading = position.reading ?? startOf('issues', position.issues);
  const path = paths[reading.feed];
  const feed = { repositoryId, path, from: reading.place, conditional: position.reading === undefined };
  const page = await readFeed(ctx, feed);
  const newest = page.entries.reduce((time, { updated_at }) => (updated_at > time ? updated_at : time), reading.newest);
  const recent = page.entries.filter(({ updated_at }) => updated_at >= reading.place.since);
  const refs =
    reading.feed === 'issues'
      ? unseen(position.seen, repositoryId, recent)
      : await commented(ctx, repositoryId, recent);
  const seen = reading.feed === 'issues' ? seenOf(position.seen, recent, newest) : position.seen;
  const read = { ...position, seen };
  if (!page.done) return { refs, next: json({ ...read, reading: { ...reading, place: page.next, newest } }) };
  return { refs, ...nextFeed(ctx, read, reading.feed, newest) };
}

/** Positions from before the overlap was remembered have nothing in it. */
const positionIn = (from: JsonObject): Position => ({ seen: {}, ...from }) as unknown as Position;

/**
 * Drops repetitions of the feed of issues: it knows nothing of comments that were only edited, so that
 * its rev would undo the one that told of them.
 */
function unseen(seen: Seen, repositoryId: string, issues: readonly ShownIssue[]): Ref[] {
  const fresh = issues.filter((issue) => seen[issue.number] !== revOf(issue));
  return fresh.map((issue) => toRef(repositoryId, issue));
}

/** Reported issues that the next reading shows again. A rev begins with its time. */
function seenOf(before: Seen, issues: readonly ShownIssue[], newest: string): Seen {
  const all = { ...before, ...Object.fromEntries(issues.map((issue) => [issue.number, revOf(issue)])) };
  return bounded(Object.fromEntries(Object.entries(all).filter(([, rev]) => rev >= sinceOf(newest))));
}

function startOf(feed: Feed, newest: string): NonNullable<Position['reading']> {
  return { feed, place: { since: sinceOf(newest) }, newest };
}

function nextFeed(
  ctx: GithubContext,
  { reading: _, ...position }: Position,
  feed: Feed,
  newest: string,
): { next: JsonObject; done?: boolean } {
  const { issues, comments, lookedAt } = position;
  const now = ctx.now().getTime();
  if (feed === 'comments') return { next: json({ ...position, reading: { ...startOf('reviews', comments), newest } }) };
  if (feed === 'reviews') return { next: json({ ...position, comments: newest, lookedAt: isoOf(now) }), done: true };
  const isDue = now - Date.parse(lookedAt) >= commentsEveryMs;
  const read = { ...position, issues: newest };
  if (newest === issues && !isDue) return { next: json(read), done: true };
  return { next: json({ ...read, reading: startOf('comments', comments) }) };
}

const json = (position: Position) => position as unknown as JsonObject;

/** The issues of comments that are newer than what their issue says about itself. */
async function commented(ctx: GithubContext, repositoryId: string, comments: FeedEntry[]): Promise<Ref[]> {
  const newest = new Map<number, string>();
  for (const { issue_url: issue, pull_request_url: pull, updated_at: time } of comments) {
    const number = Number((issue ?? pull ?? '').split('/').at(-1));
    if (number > 0 && time > (newest.get(number) ?? '')) newest.set(number, time);
  }
  const refs: Ref[] = [];
  for (const [number, time] of newest) {
    const issue = await findIssue(ctx, repositoryId, number);
    if (issue && time > issue.updated_at) refs.push(toRef(repositoryId, issue, time));
  }
  return refs;
}

export async function lookUpIssues(ctx: GithubContext, partition: Partition, ids: string[]): Promise<Page<JsonObject>> {
  const { repositoryId } = placeOf(partition);
  const refs: Ref[] = [];
  const gone: string[] = [];
  for (const id of ids) {
    const issue = await findIssue(ctx, repositoryId, numberIn(id));
    // What the hint tells of may be a comment, which need not change the time of its issue.
    if (issue) refs.push(toRef(repositoryId, issue, isoOf(ctx.now().getTime())));
    else gone.push(id);
  }
  return { refs, gone };
}

function digest({ title, body, state, labels }: ShownIssue): string {
  const names = labels.map((label) => (typeof label === 'string' ? label : label.name));
  return createHash('sha256')
    .update(JSON.stringify([title, body, state, names]))
    .digest('base64url')
    .slice(0, 16);
}

/**
 * Deleting a comment need not change the time of its issue, but changes their number. Edits within one second have the
 * same time.
 */
const revOf = (issue: ShownIssue) => `${issue.updated_at} ${issue.comments} ${digest(issue)}`;

function toRef(repositoryId: string, issue: ShownIssue, commentedAt?: string): Ref {
  const { number, title, comments, updated_at: updatedAt } = issue;
  const isBare = comments === 0 && issue.pull_request === undefined;
  const rev = revOf(issue);
  return {
    id: issueIdOf(repositoryId, number),
    rev: commentedAt === undefined || commentedAt <= updatedAt ? rev : `${rev} ${commentedAt}`,
    title,
    url: issue.html_url,
    updatedAt,
    ...(isBare && commentedAt === undefined ? { document: toDocument(issue, []) } : {}),
  };
}
