import type { ImapFlow, SearchObject } from 'imapflow';
import { cursorExpired, type Context } from 'memoryd/connector';
import { openMail } from './client.ts';
import type { ImapConfig } from './config.ts';
import { countOf, factsOf, markOf, type KnownBoxes } from './known.ts';
import { reopenBox, searchUids } from './requests.ts';
import { serverThread, type Box, type ListedCopy } from './threads.ts';

const idsPerSearch = 20;
/** So many ids are always looked up; more of them as long as a listing takes more requests. */
const leastIds = 200;
const mailsPerRequest = 500;

/**
 * The threads, as the ledger knows them, to which mails that came may belong; null for those with too long
 * an id. Mails are known by their ids; only what nobody knows has to be searched for.
 */
export async function relatedThreads(
  ctx: Context<ImapConfig>,
  known: KnownBoxes,
  boxes: ReadonlyMap<string, Box>,
  came: readonly ListedCopy[],
): Promise<Set<string | null>> {
  const threads = new Set<string | null>();
  if (came.length === 0) return threads;
  const ids = unknownIds(known, came, threads);
  if (ids.length > maxIds(known, boxes.size)) throw cursorExpired('Mails of many threads came.');
  if (ids.length === 0) return threads;
  const mail = await openMail(ctx);
  for (const [name, box] of boxes) {
    const mails = known.get(name);
    if (mails === undefined) continue;
    const uids = await mail.use((client) => searchIds(client, box, ids));
    for (const uid of uids) {
      const found = mails.get(uid);
      if (found) threads.add(found.thread);
    }
  }
  return threads;
}

function maxIds(known: KnownBoxes, boxes: number): number {
  const searches = countOf(known) / mailsPerRequest / boxes;
  return Math.max(leastIds, searches * idsPerSearch);
}

/** Ids of which no mail is known, though some may name them. The threads of the others are added to `threads`. */
function unknownIds(known: KnownBoxes, came: readonly ListedCopy[], threads: Set<string | null>): string[] {
  const byMark = new Map<string, string | null>();
  const copied = new Set<string>();
  for (const mails of known.values()) {
    for (const { mark, facts, thread } of mails.values()) {
      byMark.set(mark, thread);
      copied.add(mark + facts);
    }
  }
  const unknown = new Set<string>();
  for (const copy of came) {
    const { key, parents } = copy;
    const isCopy = copied.has(markOf(key) + factsOf(copy));
    for (const id of [key, ...parents]) {
      const thread = byMark.get(markOf(id));
      if (thread !== undefined) threads.add(thread);
      // For another copy of a mail, the mails that name it are known. A mail without Message-ID cannot be named.
      else if (!isCopy && !id.startsWith('hash:')) unknown.add(id);
    }
  }
  return [...unknown];
}

async function searchIds(client: ImapFlow, box: Box, ids: readonly string[]): Promise<Set<number>> {
  const open = await reopenBox(client, box.path);
  if (open.uidValidity !== box.uidValidity) throw cursorExpired('A mailbox was made anew.');
  const uids = new Set<number>();
  if (open.exists === 0) return uids;
  for (let start = 0; start < ids.length; start += idsPerSearch) {
    const or = ids.slice(start, start + idsPerSearch).flatMap(criteria);
    for (const uid of await searchUids(client, box.path, or.length === 1 ? or[0]! : { or })) uids.add(uid);
  }
  return uids;
}

function criteria(id: string): SearchObject[] {
  if (id.startsWith(serverThread)) return [{ threadId: id.slice(serverThread.length) }];
  return ['references', 'in-reply-to'].map((name) => ({ header: { [name]: id } }));
}
