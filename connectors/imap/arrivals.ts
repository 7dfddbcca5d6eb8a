import type { ImapFlow, SearchObject } from 'imapflow';
import { cursorExpired, type Context, type Page } from 'memoryd/connector';
import { openMail } from './client.ts';
import type { ImapConfig } from './config.ts';
import { copyQuery, toCopies } from './copies.ts';
import { threadRef } from './map.ts';
import type { BoxState, Position } from './positions.ts';
import { allUids, fetchPresent, openBox, searchUids } from './requests.ts';
import { serverThread, toThreads, type ListedCopy } from './threads.ts';

/** More mails, or more relatives, are found faster by a listing. */
const maxArrivals = 500;
const maxIds = 200;
const idsPerSearch = 20;

/**
 * Threads that got mails since a position. Throws `CursorExpired` unless it is certain that mails only
 * came: what went cannot be asked for any more, and only a listing shows what it left.
 */
export async function arrivalsSince(
  ctx: Context<ImapConfig>,
  from: Position,
  now: Position,
): Promise<{ refs: Page['refs']; gone: string[] }> {
  const mail = await openMail(ctx);
  return mail.use(async (client) => {
    const arrived: ListedCopy[] = [];
    for (const change of changedBoxes(from, now)) arrived.push(...(await arrivalsIn(client, change)));
    if (arrived.length > maxArrivals) throw cursorExpired('Many mails came.');
    const related = await relativesOf(
      client,
      now.boxes!.map(([path]) => path),
      arrived,
    );
    return threadsWith(arrived, related);
  });
}

interface BoxChange {
  path: string;
  /** UIDVALIDITY, number of mails and next UID before. */
  before: BoxState;
}

function changedBoxes(from: Position, now: Position): BoxChange[] {
  const before = new Map((from.boxes ?? []).map((box) => [box[0], box]));
  if (!from.boxes || !now.boxes || before.size !== now.boxes.length) throw cursorExpired('The mailboxes are others.');
  const changes: BoxChange[] = [];
  for (const box of now.boxes) {
    const old = before.get(box[0]);
    if (!old || old[1] !== box[1]) throw cursorExpired('A mailbox was made anew.');
    if (old[2] !== box[2] || old[3] !== box[3]) changes.push({ path: box[0], before: old });
  }
  return changes;
}

/** Mails that came. Their number must explain the difference, else some went. */
async function arrivalsIn(client: ImapFlow, { path, before }: BoxChange): Promise<ListedCopy[]> {
  const [, uidValidity, messages, uidNext] = before;
  const box = await openBox(client, path);
  const uids = await allUids(client, box);
  // `n:*` would always show the last mail, also one that is older (RFC 3501 section 6.4.8).
  const came = uids.filter((uid) => uid >= uidNext);
  if (box.uidValidity !== uidValidity || uids.length - came.length !== messages) throw cursorExpired('Mails went.');
  if (came.length > maxArrivals) throw cursorExpired('Many mails came.');
  if (came.length === 0) return [];
  const answers = await fetchPresent(client, path, came, copyQuery);
  return toCopies(client, { path, uidValidity }, answers);
}

/** Mails that share an id with those that came, with one that shares one with these, and so on. */
async function relativesOf(
  client: ImapFlow,
  paths: readonly string[],
  arrived: readonly ListedCopy[],
): Promise<ListedCopy[]> {
  const found = new Map<string, ListedCopy>(arrived.map((copy) => [placeOf(copy), copy]));
  const asked = new Set<string>();
  let ids = newIds(arrived, asked);
  while (ids.length > 0) {
    if (asked.size > maxIds) throw cursorExpired('The threads that grew are long.');
    const relatives: ListedCopy[] = [];
    for (const path of paths) {
      for (const copy of await searchIds(client, path, ids)) {
        if (found.has(placeOf(copy))) continue;
        found.set(placeOf(copy), copy);
        relatives.push(copy);
      }
    }
    ids = newIds(relatives, asked);
  }
  assertFound(arrived, found.values());
  return [...found.values()];
}

/** An answer whose question is not found may be one that the server's search misses. */
function assertFound(arrived: readonly ListedCopy[], found: Iterable<ListedCopy>): void {
  const keys = new Set([...found].map(({ key }) => key));
  const isLost = ({ parents }: ListedCopy) => {
    const answered = parents.filter((parent) => !parent.startsWith(serverThread));
    return answered.length > 0 && !answered.some((parent) => keys.has(parent));
  };
  if (arrived.some(isLost)) throw cursorExpired('A mail answers one that is not found.');
}

function newIds(copies: readonly ListedCopy[], asked: Set<string>): string[] {
  const ids = new Set(copies.flatMap(({ key, parents }) => [key, ...parents]));
  const fresh = [...ids].filter((id) => !asked.has(id) && !id.startsWith('hash:'));
  for (const id of fresh) asked.add(id);
  return fresh;
}

async function searchIds(client: ImapFlow, path: string, ids: readonly string[]): Promise<ListedCopy[]> {
  const box = await openBox(client, path);
  if (box.exists === 0) return [];
  const uids = new Set<number>();
  for (let start = 0; start < ids.length; start += idsPerSearch) {
    const or = ids.slice(start, start + idsPerSearch).flatMap(criteria);
    for (const uid of await searchUids(client, path, or.length === 1 ? or[0]! : { or })) uids.add(uid);
  }
  if (uids.size === 0) return [];
  const sorted = [...uids].sort((a, b) => a - b);
  const shared = { path, uidValidity: box.uidValidity };
  return toCopies(client, shared, await fetchPresent(client, path, sorted, copyQuery));
}

function criteria(id: string): SearchObject[] {
  if (id.startsWith(serverThread)) return [{ threadId: id.slice(serverThread.length) }];
  return ['message-id', 'references', 'in-reply-to'].map((name) => ({ header: { [name]: id } }));
}

/** The threads in which the arrived mails are, and ids of those that they joined to another one. */
function threadsWith(arrived: readonly ListedCopy[], related: readonly ListedCopy[]) {
  const fresh = new Set(arrived.map(placeOf));
  const keys = new Set(arrived.map(({ key }) => key));
  const threads = toThreads(related).filter(({ members }) => members.some(({ key }) => keys.has(key)));
  const before = toThreads(related.filter((copy) => !fresh.has(placeOf(copy))));
  const members = new Set(threads.flatMap((thread) => thread.members.map(({ key }) => key)));
  const ids = new Set(threads.map(({ id }) => id));
  const gone = before.filter((thread) => !ids.has(thread.id) && thread.members.some(({ key }) => members.has(key)));
  return { refs: threads.map(threadRef), gone: gone.map(({ id }) => id) };
}

function placeOf({ box, uid }: ListedCopy): string {
  return `${box.path}\n${uid}`;
}
