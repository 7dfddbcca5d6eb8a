import { probe, sourceMissing, type CheckResult } from 'memoryd/connector';
import { get, type GithubContext } from './client.ts';
import { contentOf } from './config.ts';
import { headOfDiscussions } from './discussions.ts';
import { partitionIdOf } from './place.ts';
import { choicesOf, findById, findByName, type Choice } from './repositories.ts';
import { headOfWiki } from './wiki.ts';

/** Whether GitHub takes the credential, and one probe for each chosen repository. */
export async function checkGithub(ctx: GithubContext): Promise<CheckResult[]> {
  const credential = await probe('credential', 'GitHub accepts the credential', async () => {
    // Every kind of token may ask for it, and it costs nothing.
    const { json, headers } = await get(ctx, '/rate_limit', {});
    const scopes = headers['x-oauth-scopes'];
    return `${json.resources.core.remaining} of ${json.resources.core.limit} requests are left.${scopes ? ` Scopes: ${scopes}.` : ''}`;
  });
  if (credential.status !== 'ok') return [credential];
  const choices = choicesOf(ctx);
  const repositories = choices.map(({ repository, branch }, index) =>
    probe(`repository-${index + 1}`, `The repository ${repository} can be read`, async () => {
      const found = await find(ctx, repository);
      if (branch !== undefined) await findBranch(ctx, found.full_name, branch);
      return `${found.full_name}, branch ${branch ?? found.default_branch}`;
    }),
  );
  const rights = choices.flatMap((choice, index) => probesOfRights(ctx, choice, index + 1));
  return [credential, ...(await Promise.all([...repositories, ...rights]))];
}

const find = (ctx: GithubContext, repository: string) =>
  repository.includes('/') ? findByName(ctx, repository) : findById(ctx, repository);

const titles = { discussions: 'The discussions of', wiki: 'The wiki of' };

/** Checks of parts that need other rights than the repository itself. */
function probesOfRights(ctx: GithubContext, { repository }: Choice, number: number): Promise<CheckResult>[] {
  const kinds = contentOf(ctx.config).filter((kind) => kind === 'discussions' || kind === 'wiki');
  return kinds.map((kind) =>
    probe(`${kind}-${number}`, `${titles[kind]} ${repository} can be read`, async () => {
      const { id } = await find(ctx, repository);
      const partition = { id: partitionIdOf({ repositoryId: String(id), kind, branch: undefined }) };
      if (kind === 'discussions') await headOfDiscussions(ctx, partition);
      else if ((await headOfWiki(ctx, partition))['commit'] === null) return 'There is none.';
      return undefined;
    }),
  );
}

async function findBranch(ctx: GithubContext, name: string, branch: string): Promise<void> {
  const [owner = '', repo = ''] = name.split('/');
  const head = { owner, repo, ref: `heads/${branch}` };
  const { status } = await get(ctx, '/repos/{owner}/{repo}/git/ref/{ref}', head, { accept: [200, 404] });
  if (status === 404) throw sourceMissing(`${name} has no branch of this name.`, 'Check the branch.');
}
