import type { gmail_v1 } from '@googleapis/gmail';
import { ConnectorError, forbidden, gone, transient } from 'memoryd/connector';
import { reasonOf, remedyOf } from '../google/refusals.ts';
import type { GmailContext } from './config.ts';

type Users = gmail_v1.Resource$Users;

/** The vendor's client over `ctx.http.fetch`, which waits, renews, counts and redacts. Its own retries are off. */
function openGmail(ctx: GmailContext): Promise<gmail_v1.Gmail> {
  return ctx.session('gmail', async () => {
    // Loaded when it is needed: it takes half a second.
    const { gmail } = await import('@googleapis/gmail');
    return gmail({ version: 'v1', fetchImplementation: ctx.http.fetch, retry: false });
  });
}

/** The answer to one call. Throws errors of the contract: `gone` for 404, `forbidden` with a remedy, else `transient`. */
export async function ask<Data>(ctx: GmailContext, call: (users: Users) => Promise<{ data: Data }>): Promise<Data> {
  const { users } = await openGmail(ctx);
  let data: Data;
  try {
    ({ data } = await call(users));
  } catch (error) {
    ctx.signal.throwIfAborted();
    throw toConnectorError(error);
  }
  if (typeof data !== 'object' || data === null) throw transient('Gmail answered something that is no JSON.');
  return data;
}

/** The error of the vendor's client for an answer (`GaxiosError`). */
interface AnswerError {
  status?: number;
  response?: { data?: unknown };
}

function toConnectorError(error: unknown): unknown {
  const known = ConnectorError.find(error);
  if (known) return known;
  const { status, response } = error as AnswerError;
  if (status === undefined) return transient('Gmail could not be asked.', error);
  const message = `Gmail answered ${status}`;
  if (status === 404 || status === 410) return gone(message);
  if (status === 400) return new RefusedRequest();
  if (status !== 403) return transient(message);
  const remedy = remedyOf(reasonOf({ json: () => response?.data }));
  return remedy === undefined
    ? forbidden(message)
    : new ConnectorError('forbidden', `${message} (${remedy.reason})`, { remedy: remedy.text });
}

/** Gmail takes a value of the request for wrong, e.g. a page token that has ended. */
export class RefusedRequest extends ConnectorError {
  constructor() {
    super('transient', 'Gmail answered 400');
  }
}
