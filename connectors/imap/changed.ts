import { cursorExpired, transient, type Context, type Page, type Partition } from 'memoryd/connector';
import { relatedThreads } from './arrivals.ts';
import { openMail } from './client.ts';
import { compareBox } from './compare.ts';
import type { ImapConfig } from './config.ts';
import { copyQuery, toCopies } from './copies.ts';
import { tellApart } from './contents.ts';
import {
  factsOf,
  markOf,
  nameOf,
  readKnown,
  rewritten,
  type KnownBoxes,
  type KnownMail,
  type Records,
} from './known.ts';
import { threadRef } from './map.ts';
import { readPosition, type BoxState, type Position } from './positions.ts';
import { fetchPresent, reopenBox } from './requests.ts';
import { mailKeyOf, toThreads, type Box, type ListedCopy } from './threads.ts';

/** More mails are read faster by a listing. */
const maxRead = 5_000;
const maxArrivals = 500;
const mailsPerRequest = 500;
/** A mail that moves into a mailbox that was compared already is in none: so they are compared again. */
const maxAttempts = 3;
/** More threads that go at once are left to a listing, whose removals somebody can stop. */
const maxGone = 20;
const maxGoneShare = 0.25;

type Changes = Pick<Page, 'refs'> & { missing: string[]; records: Records };

/**
 * The threads of which mails came or went since a position, by what the ledger was told of each mail. Throws
 * `CursorExpired` when that is not known, or when so much changed that a listing is better.
 */
export async function changesIn(
  ctx: Context<ImapConfig>,
  partition: Partition,
  from: Position,
  now: Position,
): Promise<Changes & { next: Position }> {
  const known = await readKnown(ctx, partition);
  if (known === undefined) throw cursorExpired('It is not known which mails were there.');
  let next = now;
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const comparison = await compareMailboxes(ctx, known, from, next);
    const changes = await readChanges(ctx, comparison);
    const hasLost = comparison.differences.some(({ vanished }) => vanished.length > 0);
    if (changes !== undefined && !hasLost) return { ...changes, next };
    const after = (await readPosition(ctx)).position;
    if (changes !== undefined && after.state === next.state) return { ...changes, next };
    next = after;
  }
  throw transient('Mail kept moving while it was read.');
}

/** How a mailbox differs from what is known. One that is not there any more has lost everything. */
interface Difference {
  name: string;
  vanished: number[];
  came: number[];
}

interface Comparison {
  known: KnownBoxes;
  /** Existing mailboxes, by name. */
  boxes: Map<string, Box>;
  differences: Difference[];
}

async function compareMailboxes(
  ctx: Context<ImapConfig>,
  known: KnownBoxes,
  from: Position,
  now: Position,
): Promise<Comparison> {
  if (from.closed || now.closed) throw cursorExpired('A mailbox cannot be opened.');
  if (!from.boxes || !now.boxes) throw cursorExpired('There are too many mailboxes to compare them.');
  const mail = await openMail(ctx);
  const old = new Map(from.boxes.map((box) => [box[0], box]));
  const boxes = new Map<string, Box>();
  const differences: Difference[] = [];
  for (const state of now.boxes) {
    const [path, uidValidity] = state;
    const name = nameOf({ path, uidValidity });
    boxes.set(name, { path, uidValidity });
    const compared = { before: old.get(path), now: state, mails: known.get(name) ?? none };
    if (isSame(compared)) continue;
    differences.push({ name, ...(await mail.use((client) => compareBox(client, compared))) });
  }
  for (const [name, mails] of known) {
    if (!boxes.has(name)) differences.push({ name, vanished: [...mails.keys()], came: [] });
  }
  return { known, boxes, differences };
}

const none: ReadonlyMap<number, KnownMail> = new Map();

function isSame({ before, now, mails }: { before: BoxState | undefined; now: BoxState; mails: typeof none }): boolean {
  const [, uidValidity, messages, uidNext] = now;
  return before?.[1] === uidValidity && before[2] === messages && before[3] === uidNext && mails.size === messages;
}

/**
 * Reads the headers of what came, and of what is left of the threads that are affected. Undefined when that went
 * meanwhile: threads without it could come to be known as ones that they are not.
 */
async function readChanges(ctx: Context<ImapConfig>, comparison: Comparison): Promise<Changes | undefined> {
  const { known, boxes, differences } = comparison;
  const lost = differences.flatMap(({ name, vanished }) => vanished.map((uid) => known.get(name)!.get(uid)!));
  const came = await readCopies(ctx, boxes, new Map(differences.map(({ name, came: uids }) => [name, uids])));
  // A mail that only moved is in the thread in which it was.
  const moved = new Set(lost.map(({ mark, facts }) => mark + facts));
  const fresh = came.filter((copy) => !moved.has(markOf(copy.key) + factsOf(copy)));
  if (fresh.length > maxArrivals) throw cursorExpired('Many mails came.');
  const affected = await relatedThreads(ctx, known, boxes, fresh);
  for (const { thread } of lost) affected.add(thread);
  if (affected.has(null)) throw cursorExpired('The id of a thread is too long to know it by.');
  const places = restOf(comparison, affected);
  const rest = await readCopies(ctx, boxes, places);
  if (rest.length < placesIn(places)) return undefined;
  const copies = [...came, ...rest];
  const groups = Map.groupBy(copies, ({ key }) => key).values();
  if (!(await tellApart(ctx, groups, known))) return undefined;
  return toChanges(comparison, affected, copies);
}

function placesIn(places: ReadonlyMap<string, number[]>): number {
  return [...places.values()].reduce((sum, { length }) => sum + length, 0);
}

/** Where the other mails of some threads are, by mailbox. */
function restOf({ known, differences }: Comparison, threads: ReadonlySet<string | null>): Map<string, number[]> {
  const vanished = new Map(differences.map((one) => [one.name, new Set(one.vanished)]));
  const rest = new Map<string, number[]>();
  if (threads.size === 0) return rest;
  for (const [name, mails] of known) {
    const gone = vanished.get(name);
    const uids = [...mails].flatMap(([uid, { thread }]) => (threads.has(thread) && !gone?.has(uid) ? [uid] : []));
    rest.set(name, uids);
  }
  return rest;
}

async function readCopies(
  ctx: Context<ImapConfig>,
  boxes: ReadonlyMap<string, Box>,
  places: ReadonlyMap<string, number[]>,
): Promise<ListedCopy[]> {
  if (placesIn(places) > maxRead) throw cursorExpired('Many mails came or went.');
  const mail = await openMail(ctx);
  const copies: ListedCopy[] = [];
  for (const [name, uids] of places) {
    const box = boxes.get(name);
    const sorted = uids.toSorted((a, b) => a - b);
    for (let start = 0; box !== undefined && start < sorted.length; start += mailsPerRequest) {
      ctx.signal.throwIfAborted();
      const asked = sorted.slice(start, start + mailsPerRequest);
      const read = await mail.use(async (client) => {
        const open = await reopenBox(client, box.path);
        if (open.uidValidity !== box.uidValidity) throw cursorExpired('A mailbox was made anew.');
        return toCopies(client, box, await fetchPresent(client, box.path, asked, copyQuery));
      });
      copies.push(...read);
    }
  }
  return copies;
}

/** Changes for the ledger: threads as they are now, deleted threads, and the places of their mails. */
function toChanges(comparison: Comparison, affected: ReadonlySet<string | null>, copies: ListedCopy[]): Changes {
  const { known, differences } = comparison;
  const threads = toThreads(copies);
  const ids = new Set(threads.map(({ id }) => id));
  const gone = [...affected].filter((id): id is string => id !== null && !ids.has(id));
  assertFew(known, gone.length);
  const threadOf = new Map(threads.flatMap(({ id, members }) => members.map((one) => [mailKeyOf(one), id] as const)));
  const told = new Map<string, Map<number, KnownMail | undefined>>();
  const tell = (name: string, uid: number, mail: KnownMail | undefined) => {
    const mails = told.get(name) ?? new Map<number, KnownMail | undefined>();
    told.set(name, mails.set(uid, mail));
  };
  for (const { name, vanished } of differences) for (const uid of vanished) tell(name, uid, undefined);
  for (const copy of copies) {
    const { key, box, uid, content } = copy;
    const thread = threadOf.get(mailKeyOf(copy))!;
    tell(nameOf(box), uid, { thread, mark: markOf(key), facts: factsOf(copy), ...(content && { content }) });
  }
  const records = rewritten(known, told);
  if (records === undefined) throw cursorExpired('Mails came or went in many places.');
  // A mailbox that is shown no more, and one that was emptied by mistake, look like mails that were deleted.
  return { refs: threads.map(threadRef), missing: gone, records };
}

function assertFew(known: KnownBoxes, gone: number): void {
  if (gone === 0) return;
  const threads = new Set<string | null>();
  for (const mails of known.values()) for (const { thread } of mails.values()) threads.add(thread);
  if (gone < threads.size && gone <= Math.max(maxGone, threads.size * maxGoneShare)) return;
  throw cursorExpired('Many threads went.');
}
