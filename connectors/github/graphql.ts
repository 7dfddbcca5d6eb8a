import { ConnectorError, rateLimited, sourceMissing, transient } from 'memoryd/connector';
import type { GithubContext } from './client.ts';
import { baseUrlOf } from './config.ts';

interface GraphqlError {
  type?: string;
  path?: (string | number)[];
}

/** The answer to a query, with the parts of it that do not exist: `node`, or a field of it, each of them null in the answer. */
export interface Found<Data> {
  data: Data;
  missing: ReadonlySet<string>;
}

const maxBytes = 64 * 1024 * 1024;
/** GitHub ends a query after ten seconds; the rest is the answer’s way. */
const timeoutMs = 60_000;
const defaultPauseMs = 60_000;

/**
 * A query whose answer is whole: whatever GitHub could not answer is an error, except what does not exist.
 * Throws `rate_limited`, `forbidden`, `cursor_expired` for a cursor that GitHub does not know, else `transient`.
 */
export async function ask<Data>(ctx: GithubContext, text: string, variables: object): Promise<Found<Data>> {
  const { data, errors = [] } = (await send(ctx, text, variables)) as GraphqlAnswer<Data>;
  const missing = errors.flatMap(({ type, path = [] }) =>
    type === 'NOT_FOUND' && path[0] === 'node' && path.length <= 2 ? [String(path.at(-1))] : [],
  );
  if (missing.length < errors.length) throw errorOf(ctx, errors);
  if (!data) throw transient('GitHub could not answer a GraphQL query.');
  return { data, missing: new Set(missing) };
}

interface GraphqlAnswer<Data> {
  data?: Data | null;
  errors?: GraphqlError[];
}

async function send(ctx: GithubContext, text: string, variables: object): Promise<GraphqlAnswer<unknown>> {
  const url = baseUrlOf(ctx.config).replace(/\/v3$/, '') + '/graphql';
  try {
    const options = { json: { query: text, variables }, idempotent: true, maxBytes, timeoutMs };
    return (await ctx.http.post<GraphqlAnswer<unknown> | null>(url, options)).json ?? {};
  } catch (error) {
    // An item would be left out for its size, this is a page of them.
    if (ConnectorError.is(error) && error.kind === 'skip') throw transient('GitHub’s answer is too large.', error);
    throw error;
  }
}

/** Uses only the types of errors, because their messages may quote content. */
function errorOf(ctx: GithubContext, errors: GraphqlError[]): ConnectorError {
  const types = new Set(errors.map(({ type }) => type));
  // With the header of its quota `classify` has seen it before.
  if (types.has('RATE_LIMITED') || types.has('RATE_LIMIT')) {
    return rateLimited(
      'GitHub allows no more GraphQL queries for now.',
      new Date(ctx.now().getTime() + defaultPauseMs),
    );
  }
  if (types.has('FORBIDDEN') || types.has('INSUFFICIENT_SCOPES')) {
    const remedy = 'Give the token read access to Discussions; a classic token needs the scope `repo`.';
    return new ConnectorError('forbidden', 'GitHub does not let the token read discussions.', { remedy });
  }
  if (types.has('INVALID_CURSOR_ARGUMENTS')) {
    return new ConnectorError('cursor_expired', 'GitHub no longer knows where reading stopped.');
  }
  return transient('GitHub answered a GraphQL query only in part.');
}

/** For a repository that a query did not find. Nothing of it is removed. */
export const hiddenRepository = (repositoryId: string) =>
  sourceMissing(
    `GitHub shows no repository ${repositoryId}: it was deleted, or is not shown to this token any more.`,
    'Give the token access to the repository again, or take it out of the selection.',
  );
