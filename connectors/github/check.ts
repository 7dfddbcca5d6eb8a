import { probe, sourceMissing, type CheckResult } from 'memoryd/connector';
import { get, type GithubContext } from './client.ts';
import { choicesOf, findById, findByName } from './repositories.ts';

/** Whether GitHub takes the credential, and one probe for each chosen repository. */
export async function checkGithub(ctx: GithubContext): Promise<CheckResult[]> {
  const credential = await probe('credential', 'GitHub accepts the credential', async () => {
    // Every kind of token may ask for it, and it costs nothing.
    const { json, headers } = await get(ctx, '/rate_limit');
    const scopes = headers['x-oauth-scopes'];
    return `${json.resources.core.remaining} of ${json.resources.core.limit} requests are left.${scopes ? ` Scopes: ${scopes}.` : ''}`;
  });
  if (credential.status !== 'ok') return [credential];
  const repositories = choicesOf(ctx).map(({ repository, branch }, index) =>
    probe(`repository-${index + 1}`, `The repository ${repository} can be read`, async () => {
      const found = await (repository.includes('/') ? findByName(ctx, repository) : findById(ctx, repository));
      if (branch !== undefined) await findBranch(ctx, found.full_name, branch);
      return `${found.full_name}, branch ${branch ?? found.default_branch}`;
    }),
  );
  return [credential, ...(await Promise.all(repositories))];
}

async function findBranch(ctx: GithubContext, name: string, branch: string): Promise<void> {
  const path = `/repos/${name}/git/ref/heads/${branch.split('/').map(encodeURIComponent).join('/')}`;
  const { status } = await get(ctx, path, { accept: [200, 404] });
  if (status === 404) throw sourceMissing(`${name} has no branch of this name.`, 'Check the branch.');
}
