import type { Fetched, FetchedDocument, Partition, Ref } from 'memoryd/connector';
import { getOf, type GithubContext, type ShownBelow } from './client.ts';
import { numberIn, placeOf } from './place.ts';
import { findIssue, type ShownIssue } from './shown-issue.ts';

type Comment = ShownBelow<'/issues/{issue_number}/comments'>[number];
type Review = ShownBelow<'/pulls/{pull_number}/reviews'>[number];
type LineComment = ShownBelow<'/pulls/{pull_number}/comments'>[number];
/** A comment, a review or a comment on a line of a review. */
type Remark = Pick<Comment, 'body' | 'user'> &
  Partial<Pick<Comment, 'created_at'> & Pick<Review, 'submitted_at' | 'state'> & Pick<LineComment, 'path'>>;

/** The issue with everything that was said about it, in the order of time. */
export async function fetchIssue(ctx: GithubContext, partition: Partition, ref: Ref): Promise<Fetched> {
  const { repositoryId } = placeOf(partition);
  const number = numberIn(ref.id);
  const issue = await findIssue(ctx, repositoryId, number);
  if (!issue) return { gone: true };
  const ofIssue = { issue_number: number };
  const ofPull = { pull_number: number };
  const remarks: Remark[] = [];
  if (issue.comments > 0) {
    const read = (page: Asked) => getOf(ctx, repositoryId, '/issues/{issue_number}/comments', { ...ofIssue, ...page });
    remarks.push(...(await readAll(read)));
  }
  if (issue.pull_request !== undefined) {
    const reviews = (page: Asked) => getOf(ctx, repositoryId, '/pulls/{pull_number}/reviews', { ...ofPull, ...page });
    const lines = (page: Asked) => getOf(ctx, repositoryId, '/pulls/{pull_number}/comments', { ...ofPull, ...page });
    remarks.push(...(await readAll(reviews)), ...(await readAll(lines)));
  }
  return toDocument(issue, remarks);
}

const pageSize = 100;

interface Asked {
  per_page: number;
  page: number;
}

async function readAll(read: (asked: Asked) => Promise<{ json: Remark[] }>): Promise<Remark[]> {
  const remarks: Remark[] = [];
  for (let page = 1; ; page++) {
    const { json } = await read({ per_page: pageSize, page });
    remarks.push(...json);
    if (json.length < pageSize) return remarks;
  }
}

export function toDocument(issue: ShownIssue, remarks: Remark[]): FetchedDocument {
  const { title, created_at: createdAt, updated_at: updatedAt, html_url: url } = issue;
  const said = remarks
    .filter(({ body }) => (body ?? '').trim() !== '')
    .toSorted((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1));
  const texts = [`# ${title}`, issue.body ?? '', ...said.map(textOf)];
  return {
    title,
    markdown: texts.filter((text) => text.trim() !== '').join('\n\n'),
    url,
    createdAt,
    updatedAt,
    metadata: metadataOf(issue),
  };
}

const timeOf = ({ created_at: created, submitted_at: submitted }: Remark) => created ?? submitted ?? '';

function textOf(remark: Remark): string {
  const where = remark.path === undefined ? '' : ` on \`${remark.path}\``;
  const verdict = remark.state === undefined ? '' : ` (${remark.state.toLowerCase().replaceAll('_', ' ')})`;
  return `## ${remark.user?.login ?? 'ghost'}${where}${verdict}, ${timeOf(remark)}\n\n${remark.body ?? ''}`;
}

function metadataOf(issue: ShownIssue): Record<string, string | number | string[]> {
  const labels = issue.labels.map((label) => (typeof label === 'string' ? label : (label.name ?? '')));
  return {
    type: issue.pull_request === undefined ? 'github_issue' : 'github_pull_request',
    repository: new URL(issue.html_url).pathname.split('/').slice(-4, -2).join('/'),
    number: issue.number,
    state: issue.state,
    author: issue.user?.login ?? 'ghost',
    labels: labels.filter((label) => label !== ''),
  };
}
