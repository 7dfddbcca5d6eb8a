import { APIErrorCode, APIResponseError, Client } from '@notionhq/client';
import { ConnectorError, cursorExpired, forbidden, gone, transient, type Context } from 'memoryd/connector';
import type { NotionConfig } from './config.ts';

export type NotionContext = Context<NotionConfig>;

export const apiOrigin = 'https://api.notion.com';
/** The newest that the client knows; the Markdown of pages needs it. https://developers.notion.com/reference/versioning */
export const apiVersion = '2026-03-11';

/** Longer than `ctx.http` takes for a call with all its waits and repeats, so that only that one gives up. */
const timeoutMs = 600_000;

/** Notion’s own client over `ctx.http`: budgets, renewal and repeats are the framework’s, and nothing goes to the console. */
function clientOf(ctx: NotionContext): Promise<Client> {
  return ctx.session('notion:client', async () => {
    const fetch = ctx.http.fetch as unknown as NonNullable<ConstructorParameters<typeof Client>[0]>['fetch'];
    return new Client({
      notionVersion: apiVersion,
      retry: false,
      timeoutMs,
      logger: () => {},
      ...(fetch && { fetch }),
    });
  });
}

/** One call of the client, with its errors as those of the contract. */
export async function ask<Answer>(ctx: NotionContext, call: (notion: Client) => Promise<Answer>): Promise<Answer> {
  const notion = await clientOf(ctx);
  try {
    return await call(notion);
  } catch (error) {
    ctx.signal.throwIfAborted();
    throw errorOf(error);
  }
}

/** Only what Notion itself says counts: a 404 of somebody between is no news about a page. */
function errorOf(error: unknown): Error {
  const known = ConnectorError.find(error);
  if (known) return known;
  if (!APIResponseError.isAPIResponseError(error)) {
    return transient('Notion gave an answer that cannot be read.');
  }
  const { code, status } = error;
  if (code === APIErrorCode.ObjectNotFound) return gone('Notion does not show it to the integration.');
  if (code === APIErrorCode.RestrictedResource) {
    return forbidden('The integration lacks a capability, or access to the requested page.');
  }
  if (code === APIErrorCode.ValidationError && /cursor/i.test(error.message)) {
    return cursorExpired('Notion no longer knows where the list was.');
  }
  if (code === APIErrorCode.ValidationError || code === APIErrorCode.InvalidRequestURL) {
    return badRequest(`Notion refused a request as malformed (${code}).`);
  }
  return transient(`Notion answered ${status} (${code}).`);
}

const refused = new WeakSet<Error>();

/** One item is not readable in this way; that is no reason to stop the connection. */
function badRequest(message: string): Error {
  const error = transient(message);
  refused.add(error);
  return error;
}

/** Whether Notion refused the request itself, so that asking again in the same way is in vain. */
export const isRefused = (error: unknown): boolean => error instanceof Error && refused.has(error);

export const isKind = (error: unknown, ...kinds: ConnectorError['kind'][]): boolean =>
  ConnectorError.is(error) && kinds.includes(error.kind);

/** Whether an error stops every request, not only the one that met it. */
export const stopsAll = (error: unknown): boolean =>
  isKind(error, 'auth_expired', 'rate_limited', 'bad_config') || !ConnectorError.is(error);

/** The list in an answer. A proxy’s empty answer is none. */
export function listIn<Entry>(answer: { results?: Entry[]; has_more?: boolean; next_cursor?: string | null }): {
  results: Entry[];
  next: string | undefined;
} {
  const { results, has_more: hasMore, next_cursor: next } = answer;
  if (!Array.isArray(results) || typeof hasMore !== 'boolean') {
    throw transient('Notion answered a list without entries.');
  }
  if (hasMore && !next) throw transient('Notion answered a list without its next cursor.');
  return { results, next: hasMore ? (next ?? undefined) : undefined };
}
