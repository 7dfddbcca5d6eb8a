import type { FetchMessageObject, FetchQueryObject, ImapFlow, SearchObject } from 'imapflow';
import { transient } from 'memoryd/connector';
import { noteRefusal } from './closed.ts';
import type { Box } from './threads.ts';

/** A mailbox opened by EXAMINE, with its facts of that moment: the vendor's client changes its own while it reads. */
export interface OpenBox extends Box {
  exists: number;
}

/** Mails that VANISHED from the open mailbox, which the vendor's client does not count (RFC 7162 section 3.2.10). */
const removals = new WeakMap<ImapFlow, number>();

export function countRemovals(client: ImapFlow): void {
  client.on('expunge', ({ vanished, earlier }: { vanished: boolean; earlier?: boolean | undefined }) => {
    if (vanished && earlier !== true) removals.set(client, (removals.get(client) ?? 0) + 1);
  });
}

/**
 * Opens a mailbox read-only, so that nothing is ever marked as seen. Throws `transient` when the server
 * does not say what RFC 3501 section 6.3.2 wants: an answer without a count is not an empty mailbox.
 */
export async function openBox(client: ImapFlow, path: string): Promise<OpenBox> {
  const opened: { exists?: number; uidValidity?: bigint } = await client
    .mailboxOpen(path, { readOnly: true })
    .catch((error: unknown) => {
      noteRefusal(error);
      throw error;
    });
  removals.set(client, 0);
  const { exists, uidValidity } = opened;
  if (typeof exists !== 'number' || uidValidity === undefined) {
    throw transient(`The server did not tell what ${JSON.stringify(path)} holds.`);
  }
  return { path, exists, uidValidity: String(uidValidity) };
}

/** The same without a request when it is open already: its count may be old, its UIDVALIDITY cannot be. */
export async function reopenBox(client: ImapFlow, path: string): Promise<OpenBox> {
  const { mailbox } = client;
  if (!mailbox || mailbox.path !== path || mailbox.uidValidity === undefined) return openBox(client, path);
  return { path, exists: mailbox.exists, uidValidity: String(mailbox.uidValidity) };
}

/** All answers of one FETCH. They are gathered first, since a command inside of the loop would wait for itself. */
export async function fetchAll(client: ImapFlow, uids: string, query: FetchQueryObject): Promise<FetchMessageObject[]> {
  const answers: FetchMessageObject[] = [];
  for await (const answer of client.fetch(uids, query, { uid: true })) answers.push(answer);
  return answers;
}

/** UIDs of all mails of the open mailbox, sorted. Throws `transient` when there are fewer than it counts. */
export async function allUids(client: ImapFlow, { path, exists }: OpenBox): Promise<number[]> {
  // Some servers refuse the range `1:*` in an empty mailbox.
  if (exists === 0) return [];
  const uids = await searchUids(client, path, { all: true });
  const { mailbox } = client;
  const now = mailbox === false ? 0 : mailbox.exists - (removals.get(client) ?? 0);
  if (uids.length < Math.min(exists, now)) throw incomplete(path);
  return uids;
}

/** UIDs of the open mailbox, sorted. The vendor's client answers false for a search that failed. */
export async function searchUids(client: ImapFlow, path: string, query: SearchObject): Promise<number[]> {
  const uids = await client.search(query, { uid: true });
  if (!Array.isArray(uids)) throw transient(`The server did not search ${JSON.stringify(path)}.`);
  return uids.sort((a, b) => a - b);
}

/** Throws `transient` when a mail that was not shown is still there. */
export async function assertRemoved(client: ImapFlow, path: string, missing: ReadonlySet<number>): Promise<void> {
  const present = await allUids(client, await openBox(client, path));
  if (present.some((uid) => missing.has(uid))) throw incomplete(path);
}

/** FETCH of some mails in the open mailbox; those that it did not show are removed, or it throws `transient`. */
export async function fetchPresent(
  client: ImapFlow,
  path: string,
  uids: readonly number[],
  query: FetchQueryObject,
): Promise<FetchMessageObject[]> {
  const wanted = new Set(uids);
  const answers = await fetchAll(client, toUidSet(uids), query);
  const shown = answers.filter((answer) => wanted.delete(answer.uid));
  if (wanted.size > 0) await assertRemoved(client, path, wanted);
  return shown;
}

function incomplete(path: string) {
  return transient(`The server did not show all mails of ${JSON.stringify(path)}.`);
}

/** RFC 3501 `sequence-set`, e.g. `1:3,7`. The numbers must be sorted. */
export function toUidSet(uids: readonly number[]): string {
  const ranges: string[] = [];
  for (let start = 0; start < uids.length;) {
    let end = start;
    while (uids[end + 1] === uids[end]! + 1) end += 1;
    ranges.push(start === end ? `${uids[start]}` : `${uids[start]}:${uids[end]}`);
    start = end + 1;
  }
  return ranges.join(',');
}

/** The numbers of a set that `toUidSet` wrote. */
export function fromUidSet(set: string): number[] {
  return set.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split(':').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
