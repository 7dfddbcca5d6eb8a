import { sourceMissing, type Partition } from 'memoryd/connector';
import { getOf, remember, type GithubContext } from './client.ts';
import { placeOf } from './place.ts';

/** Where a branch stands. */
export interface Position {
  /** Null: nothing was ever committed. */
  commit: string | null;
  /** The repository's address, e.g. `https://github.com/owner/name`. */
  url: string;
  branch: string;
}

/** One conditional request: the newest commit of the branch and the present address of its repository. */
export async function readHead(
  ctx: GithubContext,
  partition: Partition,
): Promise<{ commit: string | null; url: string | null }> {
  const { repositoryId, branch } = placeOf(partition);
  const newest = { sha: branch, per_page: 1 };
  // 409 is the answer for an empty repository.
  const answer = await getOf(ctx, repositoryId, '/commits', newest, { conditional: true, accept: [409] });
  if (answer.status === 409) return { commit: null, url: null };
  const commit = answer.json[0];
  if (!commit) throw sourceMissing('GitHub shows no commit of the branch.', 'Check the branch.');
  return { commit: commit.sha, url: commit.html_url.slice(0, commit.html_url.indexOf('/commit/')) };
}

/** The last position that this run has seen of each partition; the verbs that follow need no request for it. */
export const seenPositions = (ctx: GithubContext) => remember<Position>(ctx, 'positions');
