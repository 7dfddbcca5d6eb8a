import type { Resource, ResourcePage } from 'memoryd/connector';
import { get, type GithubContext } from './client.ts';
import type { Repository } from './repositories.ts';

const pageSize = 100;
const shared = 'shared';
const installation = 'installation';

interface Owner {
  login: string;
}

/** Owners, their repositories, and the branches of these. */
export async function resourcesOf(ctx: GithubContext, parent?: string, page = '1'): Promise<ResourcePage> {
  if (parent === undefined) return owners(ctx, page);
  const query = { per_page: pageSize, page };
  if (/^\d+$/.test(parent)) return branches(ctx, parent, query);
  const [kind, login] = parent.split(':');
  if (kind === installation) {
    const { json } = await get<{ repositories: Repository[] }>(ctx, '/installation/repositories', { query });
    return pageOf(json.repositories.map(toResource), page);
  }
  const affiliation = kind === shared ? 'collaborator' : 'owner';
  const path = kind === 'organization' ? `/orgs/${encodeURIComponent(login ?? '')}/repos` : '/user/repos';
  const options = { query: { ...query, sort: 'full_name', ...(kind === 'organization' ? {} : { affiliation }) } };
  return pageOf((await get<Repository[]>(ctx, path, options)).json.map(toResource), page);
}

async function owners(ctx: GithubContext, page: string): Promise<ResourcePage> {
  const user = await get<Owner>(ctx, '/user', { accept: [200, 403] });
  // An app’s installation is no user.
  if (user.status === 403) return { resources: [ownerOf(installation, 'Repositories of the installation')] };
  const { json } = await get<Owner[]>(ctx, '/user/orgs', { query: { per_page: pageSize, page } });
  const organizations = json.map(({ login }) => ownerOf(`organization:${login}`, login));
  const own = [ownerOf(`user:${user.json.login}`, user.json.login), ownerOf(shared, 'Shared with you')];
  const { next } = pageOf(organizations, page);
  return {
    resources: page === '1' ? [...own, ...organizations] : organizations,
    ...(next === undefined ? {} : { next }),
  };
}

const ownerOf = (id: string, name: string): Resource => ({
  id,
  name,
  kind: 'owner',
  hasChildren: true,
  selectable: false,
});

function toResource({ id, full_name: name, default_branch: branch }: Repository): Resource {
  return { id: String(id), name, kind: 'repository', hasChildren: true, metadata: { defaultBranch: branch } };
}

async function branches(ctx: GithubContext, id: string, query: Record<string, string | number>): Promise<ResourcePage> {
  const { json } = await get<{ name: string }[]>(ctx, `/repositories/${id}/branches`, { query });
  return pageOf(
    json.map(({ name }) => ({ id: `${id}@${name}`, name, kind: 'branch' })),
    String(query['page']),
  );
}

function pageOf(resources: Resource[], page: string): ResourcePage {
  return resources.length < pageSize ? { resources } : { resources, next: String(Number(page) + 1) };
}
