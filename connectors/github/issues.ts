import { createHash } from 'node:crypto';
import type { JsonObject, Page, Partition, Ref } from 'memoryd/connector';
import { getOf, type GithubContext } from './client.ts';
import { toDocument } from './issue-document.ts';
import { readFeed, type FeedEntry, type FeedPlace } from './issue-feed.ts';
import { issueIdOf, numberIn, placeOf } from './place.ts';
import { findIssue, type ShownIssue } from './shown-issue.ts';

const beginning = '1970-01-01T00:00:00Z';
/** GitHub shows some changes late, and its machines disagree about the time. */
const overlapMs = 10 * 60_000;
/** New comments change their issue’s time; those that were only edited are looked for this often. */
const commentsEveryMs = 60 * 60_000;

/** Where changes are read from. */
interface Position {
  /** Newest time that was seen of an issue. */
  issues: string;
  comments: string;
  /** When comments were looked at. */
  lookedAt: string;
  /** Set between two pages. */
  reading?: { feed: Feed; place: FeedPlace; newest: string };
}

type Feed = 'issues' | 'comments' | 'reviews';
const paths: Record<Feed, string> = { issues: '/issues', comments: '/issues/comments', reviews: '/pulls/comments' };

export async function headOfIssues(ctx: GithubContext, partition: Partition): Promise<JsonObject> {
  const { repositoryId } = placeOf(partition);
  const query = { state: 'all', sort: 'updated', direction: 'desc', per_page: 1 };
  const answer = await getOf<ShownIssue[]>(ctx, repositoryId, '/issues', { query, accept: [410] });
  const newest = answer.status === 410 ? undefined : answer.json[0]?.updated_at;
  const now = newest ?? beginning;
  return { issues: now, comments: now, lookedAt: isoOf(ctx.now()) };
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
  const position = from as unknown as Position;
  const reading = position.reading ?? startOf('issues', position.issues);
  const path = paths[reading.feed];
  const feed = { repositoryId, path, from: reading.place, conditional: position.reading === undefined };
  const page = await readFeed(ctx, feed);
  const newest = page.entries.reduce((time, { updated_at }) => (updated_at > time ? updated_at : time), reading.newest);
  const fresh = page.entries.filter(({ updated_at }) => updated_at >= reading.place.since);
  const refs =
    reading.feed === 'issues'
      ? fresh.map((issue) => toRef(repositoryId, issue))
      : await commented(ctx, repositoryId, fresh);
  if (!page.done) return { refs, next: json({ ...position, reading: { ...reading, place: page.next, newest } }) };
  return { refs, ...nextFeed(ctx, position, reading.feed, newest) };
}

function startOf(feed: Feed, newest: string): NonNullable<Position['reading']> {
  const since = newest === beginning ? beginning : isoOf(new Date(Date.parse(newest) - overlapMs));
  return { feed, place: { since }, newest };
}

function nextFeed(
  ctx: GithubContext,
  position: Position,
  feed: Feed,
  newest: string,
): { next: JsonObject; done?: boolean } {
  const { issues, comments, lookedAt } = position;
  if (feed === 'comments') {
    return { next: json({ issues, comments, lookedAt, reading: { ...startOf('reviews', comments), newest } }) };
  }
  if (feed === 'reviews') return { next: json({ issues, comments: newest, lookedAt: isoOf(ctx.now()) }), done: true };
  const isDue = ctx.now().getTime() - Date.parse(lookedAt) >= commentsEveryMs;
  const seen = { issues: newest, comments, lookedAt };
  if (newest === issues && !isDue) return { next: json(seen), done: true };
  return { next: json({ ...seen, reading: startOf('comments', comments) }) };
}

const json = (position: Position) => position as unknown as JsonObject;

/** Whole seconds, as GitHub writes times. */
const isoOf = (time: Date) => time.toISOString().replace(/\.\d+Z$/, 'Z');

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
    if (issue) refs.push(toRef(repositoryId, issue, isoOf(ctx.now())));
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
function toRef(repositoryId: string, issue: ShownIssue, commentedAt?: string): Ref {
  const { number, title, comments, updated_at: updatedAt } = issue;
  const isBare = comments === 0 && issue.pull_request === undefined;
  const rev = `${updatedAt} ${comments} ${digest(issue)}`;
  return {
    id: issueIdOf(repositoryId, number),
    rev: commentedAt === undefined || commentedAt <= updatedAt ? rev : `${rev} ${commentedAt}`,
    title,
    url: issue.html_url,
    updatedAt,
    ...(isBare && commentedAt === undefined ? { document: toDocument(issue, []) } : {}),
  };
}
