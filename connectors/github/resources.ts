import type { Resource, ResourcePage } from 'memoryd/connector';
import { get, getOf, type GithubContext, type Shown } from './client.ts';

const pageSize = 100;
const shared = 'shared';
const installation = 'installation';

/** Owners, their repositories, and the branches of these. */
export async function resourcesOf(ctx: GithubContext, parent?: string, page = '1'): Promise<ResourcePage> {
  if (parent === undefined) return owners(ctx, page);
  const asked = { per_page: pageSize, page: Number(page) };
  if (/^\d+$/.test(parent)) return branches(ctx, parent, asked);
  const [kind, login] = parent.split(':');
  if (kind === installation) {
    const { json } = await get(ctx, '/installation/repositories', asked);
    return pageOf(json.repositories.map(toResource), page);
  }
  const sorted = { ...asked, sort: 'full_name' } as const;
  const { json } =
    kind === 'organization'
      ? await get(ctx, '/orgs/{org}/repos', { ...sorted, org: login ?? '' })
      : await get(ctx, '/user/repos', { ...sorted, affiliation: kind === shared ? 'collaborator' : 'owner' });
  return pageOf(json.map(toResource), page);
}

async function owners(ctx: GithubContext, page: string): Promise<ResourcePage> {
  const user = await get(ctx, '/user', {}, { accept: [200, 403] });
  // An app’s installation is no user.
  if (user.status === 403) return { resources: [ownerOf(installation, 'Repositories of the installation')] };
  const { json } = await get(ctx, '/user/orgs', { per_page: pageSize, page: Number(page) });
  const organizations = json.map(({ login }) => ownerOf(`organization:${login}`, login));
  const own = [ownerOf(`user:${user.json.login}`, user.json.login), ownerOf(shared, 'Shared with you')];
  const { next } = pageOf(organizations, page);
  return {
    resources: page === '1' ? [...own, ...organizations] : organizations,
    ...(next === undefined ? {} : { next }),
  };
}

/** GitHub leaves the branch out of the least that it may show of a repository. */
type ListedRepository = Pick<Shown<'/orgs/{org}/repos'>[number], 'id' | 'full_name' | 'default_branch'>;

const ownerOf = (id: string, name: string): Resource => ({
  id,
  name,
  kind: 'owner',
  hasChildren: true,
  selectable: false,
});

function toResource({ id, full_name: name, default_branch: branch }: ListedRepository): Resource {
  const metadata = branch === undefined ? {} : { defaultBranch: branch };
  return { id: String(id), name, kind: 'repository', hasChildren: true, metadata };
}

async function branches(
  ctx: GithubContext,
  id: string,
  asked: { per_page: number; page: number },
): Promise<ResourcePage> {
  const { json } = await getOf(ctx, id, '/branches', asked);
  return pageOf(
    json.map(({ name }) => ({ id: `${id}@${name}`, name, kind: 'branch' })),
    String(asked.page),
  );
}

function pageOf(resources: Resource[], page: string): ResourcePage {
  return resources.length < pageSize ? { resources } : { resources, next: String(Number(page) + 1) };
}
