import { hash } from 'node:crypto';
import type { FetchMessageObject, FetchQueryObject, ImapFlow } from 'imapflow';
import { transient } from 'memoryd/connector';
import { fetchPresent } from './requests.ts';
import { serverThread, type Box, type ListedCopy } from './threads.ts';

/** Only the first and the last entries of a longer list count, which bounds the cost of a mail. */
const maxReferences = 100;

/** Items to fetch for a mail's identity and its thread. Headers cost less than the envelope, which is a deep list. */
export const copyQuery: FetchQueryObject = {
  uid: true,
  internalDate: true,
  size: true,
  threadId: true,
  headers: ['message-id', 'references', 'in-reply-to', 'date'],
};

/** Bytes that are read of a mail without Message-ID, to tell it from others. */
const maxKeyBytes = 4_096;

/**
 * The mails of the open mailbox that some answers to `copyQuery` show, with one request more for those
 * without a Message-ID. Throws `transient` when the server left the headers out, without which a mail
 * would be taken for another one.
 */
export async function toCopies(
  client: ImapFlow,
  box: Box,
  answers: readonly FetchMessageObject[],
): Promise<ListedCopy[]> {
  const read = answers.map((answer) => ({ answer, headers: headersOf(box, answer) }));
  const unnamed = read.filter(({ headers }) => idOf(headers) === undefined).map(({ answer }) => answer.uid);
  const keys = await keysOf(
    client,
    box,
    unnamed.sort((a, b) => a - b),
  );
  return read.flatMap(({ answer, headers }) => {
    const key = idOf(headers) ?? keys.get(answer.uid);
    return key === undefined ? [] : [toCopy(box, answer, headers, key)];
  });
}

/** Identifies mails without an id by their first bytes, wherever they lie. Mails deleted meanwhile are left out. */
async function keysOf(client: ImapFlow, { path }: Box, uids: readonly number[]): Promise<Map<number, string>> {
  if (uids.length === 0) return new Map();
  const query = { uid: true, size: true, source: { start: 0, maxLength: maxKeyBytes } };
  const begun = await fetchPresent(client, path, uids, query);
  return new Map(
    begun.map(({ uid, size, source }) => {
      if (source === undefined) throw transient(`The server did not show a mail in ${JSON.stringify(path)}.`);
      return [uid, `hash:${hash('sha256', Buffer.concat([Buffer.from(`${size}\n`), source]), 'hex').slice(0, 40)}`];
    }),
  );
}

function headersOf({ path }: Box, { headers, size }: FetchMessageObject): Map<string, string> {
  if (headers === undefined || size === undefined) {
    throw transient(`The server did not show the headers of a mail in ${JSON.stringify(path)}.`);
  }
  return readHeaders(Buffer.from(headers).toString('latin1'));
}

const idOf = (headers: ReadonlyMap<string, string>): string | undefined => idsIn(headers.get('message-id') ?? '')[0];

function toCopy(box: Box, answer: FetchMessageObject, headers: ReadonlyMap<string, string>, key: string): ListedCopy {
  const received = secondsOf(answer.internalDate) ?? 0;
  const time = secondsOf(headers.get('date')) ?? received;
  const references = idsIn(headers.get('references') ?? '');
  const few =
    references.length <= maxReferences ? references : [references[0]!, ...references.slice(1 - maxReferences)];
  const parents = [...few, ...idsIn(headers.get('in-reply-to') ?? '')].filter((parent) => parent !== key);
  const [first] = parents;
  if (answer.threadId !== undefined) parents.push(`${serverThread}${answer.threadId}`);
  return { key, first, box, uid: answer.uid, bytes: answer.size ?? 0, time, received, parents };
}

/** The first one counts of a header that occurs twice. */
function readHeaders(text: string): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of text.replace(/\r?\n[ \t]/g, ' ').split(/\r?\n/)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    if (colon > 0 && !headers.has(name)) headers.set(name, line.slice(colon + 1).trim());
  }
  return headers;
}

/** Message-IDs in a header's text. What has no angle brackets is taken as one when it looks like one. */
export function idsIn(text: string): string[] {
  const found = text.match(/<[^<>\s]{1,900}>/g);
  if (found) return found.map(own);
  const bare = text.trim();
  return /^[^\s<>]{1,900}$/.test(bare) ? [own(`<${bare}>`)] : [];
}

/** A string of its own: a piece of the server's answer would hold all of that in memory. */
function own(id: string): string {
  return Buffer.from(id.toWellFormed()).toString();
}

/** Undefined for what is no date. Comments, such as the name of the zone, are left out (RFC 5322 section 3.3). */
export function secondsOf(value: Date | string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const timeMs = new Date(typeof value === 'string' ? value.replace(/\([^()]*\)/g, ' ') : value).getTime();
  return Number.isNaN(timeMs) ? undefined : Math.floor(timeMs / 1_000);
}
