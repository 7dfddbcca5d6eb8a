import type { Fetched, FetchedDocument, Partition, Ref } from 'memoryd/connector';
import { getOf, type GithubContext } from './client.ts';
import { numberIn, placeOf } from './place.ts';
import { findIssue, type ShownIssue } from './shown-issue.ts';

/** A comment, a review or a comment on a line of a review. */
interface Remark {
  body?: string | null;
  user: { login?: string } | null;
  created_at?: string;
  submitted_at?: string;
  path?: string;
  state?: string;
}

/** The issue with everything that was said about it, in the order of time. */
export async function fetchIssue(ctx: GithubContext, partition: Partition, ref: Ref): Promise<Fetched> {
  const { repositoryId } = placeOf(partition);
  const number = numberIn(ref.id);
  const issue = await findIssue(ctx, repositoryId, number);
  if (!issue) return { gone: true };
  const read = (path: string) => readAll(ctx, repositoryId, path);
  const remarks = issue.comments > 0 ? await read(`/issues/${number}/comments`) : [];
  if (issue.pull_request !== undefined) {
    remarks.push(...(await read(`/pulls/${number}/reviews`)), ...(await read(`/pulls/${number}/comments`)));
  }
  return toDocument(issue, remarks);
}

const pageSize = 100;

async function readAll(ctx: GithubContext, repositoryId: string, path: string): Promise<Remark[]> {
  const remarks: Remark[] = [];
  for (let page = 1; ; page++) {
    const { json } = await getOf<Remark[]>(ctx, repositoryId, path, { query: { per_page: pageSize, page } });
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
