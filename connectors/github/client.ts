import { endpoint } from '@octokit/endpoint';
import type { Endpoints } from '@octokit/types';
import { sourceMissing, transient, type Context, type HttpOptions, type HttpResponse } from 'memoryd/connector';
import { baseUrlOf, type GithubConfig } from './config.ts';

export type GithubContext = Context<GithubConfig>;

/** A GET that GitHub describes, e.g. `/user/orgs`. */
type Path = keyof Endpoints extends infer Route ? (Route extends `GET ${infer Rest}` ? Rest : never) : never;
/** What follows `/repos/{owner}/{repo}`: answered the same below `/repositories/{number}`, which outlives renames. */
type PathBelow = Path extends infer All ? (All extends `/repos/{owner}/{repo}${infer Rest}` ? Rest : never) : never;

type Below<Rest extends PathBelow> = `/repos/{owner}/{repo}${Rest}` & Path;
type Parameters<Route extends Path> = OrUndefined<Endpoints[`GET ${Route}`]['parameters']>;
type OrUndefined<Values> = { [Name in keyof Values]: Values[Name] | undefined };

/** What GitHub shows in answer to a GET. */
export type Shown<Route extends Path> = Parsed<Endpoints[`GET ${Route}`]['response']['data']>;
/** The same below the address of a repository. */
export type ShownBelow<Rest extends PathBelow> = Shown<Below<Rest>>;
/** Octokit describes ids as its own parser reads them. */
type Parsed<Value> = Value extends bigint ? never : { [Name in keyof Value]: Parsed<Value[Name]> };

interface Options extends Omit<HttpOptions, 'query' | 'headers'> {
  /** `raw`: the content itself in place of JSON that describes it. */
  format?: 'raw';
}

/** A GET of the REST API. */
export function get<Route extends Path>(
  ctx: GithubContext,
  route: Route,
  parameters: Parameters<Route>,
  options?: Options,
): Promise<HttpResponse<Shown<Route>>> {
  return send(ctx, route, parameters, options);
}

/** Octokit makes the address and the media type. Its own requests are not used, see decision 0025. */
function send<Body>(
  ctx: GithubContext,
  url: string,
  parameters: object,
  { format = '' as 'raw', ...options }: Options = {},
): Promise<HttpResponse<Body>> {
  const base = { method: 'GET', baseUrl: baseUrlOf(ctx.config), url, mediaType: { format } } as const;
  const made = endpoint({ ...base, ...parameters });
  const headers = { accept: String(made.headers.accept), 'x-github-api-version': '2022-11-28' };
  return ctx.http.get<Body>(made.url, { ...options, headers });
}

/** A GET of something that is always there as long as its repository is. Throws `source_missing` otherwise. */
export async function getOf<Rest extends PathBelow>(
  ctx: GithubContext,
  repositoryId: string,
  path: Rest,
  parameters: Omit<Parameters<Below<Rest>>, 'owner' | 'repo'>,
  options: Options = {},
): Promise<HttpResponse<ShownBelow<Rest>>> {
  const accept = [200, ...(options.conditional ? [304] : []), ...(options.accept ?? []), 404];
  const all = { repositoryId, ...parameters };
  const answer = await send<ShownBelow<Rest>>(ctx, `/repositories/{repositoryId}${path}`, all, { ...options, accept });
  if (answer.status !== 404 || options.accept?.includes(404)) return answer;
  throw sourceMissing(
    `GitHub answered 404 for repository ${repositoryId}: the repository or its branch was deleted, or is not shown to this token any more.`,
    'Give the token access to the repository again, or take it out of the selection.',
  );
}

/** A hidden repository is no deletion of what is in it. Throws `source_missing`. */
export async function expectShown(ctx: GithubContext, repositoryId: string): Promise<void> {
  await getOf(ctx, repositoryId, '', {}, { conditional: true });
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
