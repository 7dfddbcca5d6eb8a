import { getOf, type GithubContext } from './client.ts';
import type { ShownIssue } from './shown-issue.ts';

/** A comment of an issue, or of a line of a pull request. */
interface ShownComment {
  issue_url?: string;
  pull_request_url?: string;
}

export type FeedPath = '/issues' | '/issues/comments' | '/pulls/comments';

/** An entry of a feed that is sorted by the time of its last change. */
export type FeedEntry = ShownIssue & ShownComment;

/** Where a feed was read up to; `page` only while one second fills more than a page. */
export interface FeedPlace {
  since: string;
  page?: number;
  /** Entries of the second `since` that were shown already. */
  shown?: number[];
}

const pageSize = 100;

/**
 * One page of what changed since a time, the time included. The next page asks for the time of the last
 * entry instead of counting on: what is changed or deleted meanwhile moves entries between pages.
 */
export async function readFeed(
  ctx: GithubContext,
  options: { repositoryId: string; path: FeedPath; from: FeedPlace; conditional: boolean; pageSize?: number },
): Promise<{ entries: FeedEntry[]; next: FeedPlace; done: boolean }> {
  const { from, path, conditional } = options;
  const size = options.pageSize ?? pageSize;
  const asked = { sort: 'updated', direction: 'asc', since: from.since, per_page: size, page: from.page } as const;
  const all = path === '/issues' ? { ...asked, state: 'all' } : asked;
  // Issues can be switched off.
  const answer = await getOf(ctx, options.repositoryId, path, all, { conditional, accept: [410] });
  const json = answer.status === 410 ? [] : (answer.json as FeedEntry[]);
  const shown = new Set(from.shown);
  const last = json.at(-1);
  if (!last || json.length < size) {
    return { entries: json.filter(({ id }) => !shown.has(id)), next: from, done: true };
  }
  const entries = json.filter(({ id }) => !shown.has(id));
  if (last.updated_at === from.since) return { entries, next: { ...from, page: (from.page ?? 1) + 1 }, done: false };
  const atEnd = json.filter(({ updated_at }) => updated_at === last.updated_at).map(({ id }) => id);
  return { entries, next: { since: last.updated_at, shown: atEnd }, done: false };
}
