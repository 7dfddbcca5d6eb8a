import { transient } from 'memoryd/connector';
import { expectShown, get, type GithubContext } from './client.ts';
import { findById } from './repositories.ts';

/** The fields of an issue or pull request in the API that are used. */
export interface ShownIssue {
  id: number;
  number: number;
  title: string;
  body?: string | null;
  state: string;
  user: { login?: string } | null;
  labels: (string | { name?: string | null })[];
  comments: number;
  pull_request?: object;
  html_url: string;
  repository_url: string;
  created_at: string;
  updated_at: string;
}

/** Undefined when it was deleted, or transferred to another repository, to which GitHub redirects. */
export async function findIssue(
  ctx: GithubContext,
  repositoryId: string,
  number: number,
): Promise<ShownIssue | undefined> {
  const path = `/repositories/${repositoryId}/issues/${number}`;
  const answer = await get<ShownIssue>(ctx, path, { accept: [200, 404, 410] });
  if (answer.status !== 200) {
    await expectShown(ctx, repositoryId);
    return undefined;
  }
  if (typeof answer.json?.number !== 'number') throw transient('GitHub answered something else than the issue.');
  if (answer.json.number !== number) return undefined;
  const moved = await isElsewhere(ctx, repositoryId, answer.json);
  return moved ? undefined : answer.json;
}

async function isElsewhere(ctx: GithubContext, repositoryId: string, issue: ShownIssue): Promise<boolean> {
  if (issue.repository_url.endsWith(`/repositories/${repositoryId}`)) return false;
  const { full_name: name } = await findById(ctx, repositoryId);
  return !issue.repository_url.toLowerCase().endsWith(`/repos/${name.toLowerCase()}`);
}
