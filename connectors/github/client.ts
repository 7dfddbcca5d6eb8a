import { sourceMissing, transient, type Context, type HttpOptions, type HttpResponse } from 'memoryd/connector';
import { baseUrlOf, type GithubConfig } from './config.ts';

export type GithubContext = Context<GithubConfig>;

const headers = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' };

/** A GET of the REST API; `path` begins with a slash. */
export function get<Body = any>(
  ctx: GithubContext,
  path: string,
  options: HttpOptions = {},
): Promise<HttpResponse<Body>> {
  const all = { ...options, headers: { ...headers, ...options.headers } };
  return ctx.http.get<Body>(`${baseUrlOf(ctx.config)}${path}`, all);
}

/** A GET of something that is always there as long as its repository is. Throws `source_missing` otherwise. */
export async function getOf<Body = any>(
  ctx: GithubContext,
  repositoryId: string,
  path: string,
  options: HttpOptions = {},
): Promise<HttpResponse<Body>> {
  const accept = [200, ...(options.conditional ? [304] : []), ...(options.accept ?? []), 404];
  const answer = await get<Body>(ctx, `/repositories/${repositoryId}${path}`, { ...options, accept });
  if (answer.status !== 404 || options.accept?.includes(404)) return answer;
  throw sourceMissing(
    `GitHub answered 404 for repository ${repositoryId}: the repository or its branch was deleted, or is not shown to this token any more.`,
    'Give the token access to the repository again, or take it out of the selection.',
  );
}

/** A hidden repository is no deletion of what is in it. Throws `source_missing`. */
export async function expectShown(ctx: GithubContext, repositoryId: string): Promise<void> {
  await getOf(ctx, repositoryId, '', { conditional: true });
}

/** A query of the GraphQL API; what it could not find is null in the answer. */
export async function query<Data>(ctx: GithubContext, text: string, variables: object): Promise<Data> {
  const url = baseUrlOf(ctx.config).replace(/\/v3$/, '') + '/graphql';
  const { json } = await ctx.http.post<{ data?: Data | null }>(url, {
    json: { query: text, variables },
    idempotent: true,
  });
  if (!json?.data) throw transient('GitHub could not answer a GraphQL query.');
  return json.data;
}

/** A value that the verbs of one run share; each of them can do without. */
export function remember<Value>(ctx: GithubContext, what: string): Promise<Map<string, Value>> {
  return ctx.session(`github:${what}`, async () => new Map<string, Value>());
}
