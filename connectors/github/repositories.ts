import { badConfig, ConnectorError, sourceMissing, type Partition } from 'memoryd/connector';
import { get, getOf, remember, type GithubContext, type Shown } from './client.ts';
import { contentOf } from './config.ts';
import { partitionIdOf } from './place.ts';

/** Its `node_id` is its id in GraphQL; like its number it outlives renames and transfers. */
export type Repository = Shown<'/repos/{owner}/{repo}'>;

/** A repository as it was chosen: `owner/name` or its number, each perhaps with `@branch`. */
export interface Choice {
  repository: string;
  branch: string | undefined;
}

export async function partitionsOf(ctx: GithubContext): Promise<Partition[]> {
  const choices = choicesOf(ctx);
  if (choices.length === 0) {
    throw badConfig('No repository is chosen.', 'Choose repositories for the connection, or set `repositories`.');
  }
  const partitions = new Map<string, Partition>();
  for (const choice of choices) {
    // Two branches of a repository share its issues and releases.
    for (const partition of await partitionsOfChoice(ctx, choice)) {
      if (!partitions.has(partition.id)) partitions.set(partition.id, partition);
    }
  }
  return [...partitions.values()];
}

export function choicesOf(ctx: GithubContext): Choice[] {
  if (ctx.selection.length > 0) return ctx.selection.map(({ id }) => choiceOf(id));
  return (ctx.config.repositories ?? []).map(choiceOf);
}

function choiceOf(text: string): Choice {
  const at = text.indexOf('@');
  return at < 0
    ? { repository: text, branch: undefined }
    : { repository: text.slice(0, at), branch: text.slice(at + 1) };
}

async function partitionsOfChoice(ctx: GithubContext, choice: Choice): Promise<Partition[]> {
  const { repository, branch } = choice;
  const named = repository.includes('/') ? await findShown(ctx, repository) : undefined;
  if (ConnectorError.is(named)) {
    return [{ id: repository, title: repository, unread: [named.message, named.remedy].filter(Boolean).join(' ') }];
  }
  const repositoryId = named === undefined ? repository : String(named.id);
  if (!/^\d+$/.test(repositoryId)) throw badConfig('A chosen resource is no repository.', 'Choose repositories.');
  return contentOf(ctx.config).map((kind) => ({
    id: partitionIdOf({ repositoryId, kind, branch: kind === 'files' ? branch : undefined }),
    title: `${named?.full_name ?? repository} ${kind}`,
    // As the list of resources has it, so that a selection that leaves it out removes it.
    resource: branch === undefined ? repositoryId : `${repositoryId}@${branch}`,
  }));
}

/** The error in place of a repository that GitHub does not show, or does not let the token read: others are not hidden by it. */
async function findShown(ctx: GithubContext, name: string): Promise<Repository | ConnectorError> {
  try {
    return await findByName(ctx, name);
  } catch (error) {
    if (ConnectorError.is(error) && ['source_missing', 'forbidden'].includes(error.kind)) return error;
    throw error;
  }
}

/** Follows renames and transfers. */
export async function findByName(ctx: GithubContext, name: string): Promise<Repository> {
  const [owner = '', repo = ''] = name.split('/');
  const options = { conditional: true, accept: [200, 304, 404] };
  const answer = await get(ctx, '/repos/{owner}/{repo}', { owner, repo }, options);
  if (answer.status === 404) {
    const scopes = answer.headers['x-oauth-scopes'];
    // Only classic tokens and those of OAuth apps have scopes.
    const lacksScope = scopes !== undefined && !/(^|[\s,])repo($|[\s,])/.test(scopes);
    throw sourceMissing(
      `There is no repository ${name}, or the token may not see it.`,
      `Check the name and the token.${lacksScope ? ' Private repositories need the scope `repo`.' : ''}`,
    );
  }
  (await remember<Repository>(ctx, 'repositories')).set(String(answer.json.id), answer.json);
  return answer.json;
}

export async function findById(ctx: GithubContext, id: string): Promise<Repository> {
  const known = await remember<Repository>(ctx, 'repositories');
  const found = known.get(id) ?? (await getOf(ctx, id, '', {}, { conditional: true })).json;
  known.set(id, found);
  return found;
}
