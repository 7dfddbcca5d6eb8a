import { transient } from 'memoryd/connector';
import { expectShown, getOf, type GithubContext, type ShownBelow } from './client.ts';
import { findById } from './repositories.ts';

/** An issue or pull request. */
export type ShownIssue = ShownBelow<'/issues/{issue_number}'>;

/** Undefined when it was deleted, or transferred to another repository, to which GitHub redirects. */
export async function findIssue(
  ctx: GithubContext,
  repositoryId: string,
  number: number,
): Promise<ShownIssue | undefined> {
  const issue = { issue_number: number };
  const answer = await getOf(ctx, repositoryId, '/issues/{issue_number}', issue, { accept: [404, 410] });
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
