import { hash } from 'node:crypto';
import type { Context, Json, Partition } from 'memoryd/connector';
import type { ImapConfig } from './config.ts';
import type { Box, Content, Copy } from './threads.ts';

/** A mail as it was reported to the ledger. */
export interface KnownMail {
  /** Id of its thread; null when it is too long to keep. */
  thread: string | null;
  /** See `markOf`. */
  mark: string;
  /** See `factsOf`. */
  facts: string;
  content?: Content;
}

/** Mails by mailbox (see `nameOf`) and UID, as the last page told the ledger. */
export type KnownBoxes = Map<string, Map<number, KnownMail>>;

export type Records = Record<string, Json | null>;

/** UIDs that share a record: with the longest ids they come to less than the 64 KiB of one. */
const uidsPerRecord = 256;
const maxThreadBytes = 200;

/** How many mails all records together hold. Without it they are not complete, and nothing follows from them. */
const total = 'counted';
const prefix = 'at/';

/** A mailbox under another UIDVALIDITY is another one (RFC 3501 section 2.3.1.1). */
export function nameOf({ path, uidValidity }: Box): string {
  return hash('sha256', `${path}\n${uidValidity}`, 'hex').slice(0, 16);
}

/** Tells mails apart by their ids, well enough for one account, in a few characters. */
export function markOf(key: string): string {
  return hash('sha256', key, 'base64url').slice(0, markLength);
}

/** A digest of the facts that a mail keeps when it moves, beside its content. */
export function factsOf({ bytes, received }: Pick<Copy, 'bytes' | 'received'>): string {
  return hash('sha256', `${bytes} ${received}`, 'base64url').slice(0, 6);
}

const markLength = 10;

/** The mark with the facts, and the digest after a sign that says whether it tells the mail. */
type Entry =
  [offset: number, thread: number, marks: string] | [offset: number, thread: number, marks: string, content: string];
type Stored = { threads: (string | null)[]; mails: Entry[] };

/** Mailboxes that the last listing could not open. */
const closed = 'closed';

export function closedRecord(paths: readonly string[]): Records {
  return { [closed]: paths.length === 0 ? null : [...paths] };
}

export async function readClosed(ctx: Context<ImapConfig>, partition: Partition): Promise<string[]> {
  return ((await ctx.records(partition, closed))[closed] ?? []) as string[];
}

/** Records of incomplete knowledge, with which `readKnown` finds none. */
export const unknown: Readonly<Records> = { [total]: null };

export function totalOf(mails: number): Records {
  return { [total]: mails };
}

export function recordName(box: string, block: number): string {
  return `${prefix}${box}/${block}`;
}

export function blockOf(uid: number): number {
  return Math.floor(uid / uidsPerRecord);
}

/** The mails of one block. Null: there are none. */
export function toRecord(mails: Iterable<readonly [uid: number, mail: KnownMail]>): Json {
  const places = new Map<string | null, number>();
  const entries: Entry[] = [];
  for (const [uid, { thread, mark, facts, content }] of mails) {
    const kept = thread !== null && Buffer.byteLength(JSON.stringify(thread)) <= maxThreadBytes ? thread : null;
    const place = places.get(kept) ?? places.size;
    places.set(kept, place);
    const entry: [number, number, string] = [uid % uidsPerRecord, place, mark + facts];
    entries.push(content ? [...entry, `${content.isTold ? '+' : '-'}${content.digest}`] : entry);
  }
  return entries.length === 0 ? null : ({ threads: [...places.keys()], mails: entries } satisfies Stored);
}

/** Names of all records that say where mails are. */
export async function recordNames(ctx: Context<ImapConfig>, partition: Partition): Promise<string[]> {
  return Object.keys(await ctx.records(partition, prefix));
}

/** Mails as reported to the ledger; undefined unless all of them are known. */
export async function readKnown(ctx: Context<ImapConfig>, partition: Partition): Promise<KnownBoxes | undefined> {
  const records = await ctx.records(partition);
  const boxes = boxesIn(records);
  return records[total] === countOf(boxes) ? boxes : undefined;
}

/** The mails that the ledger was told of, though perhaps not of all: what is told of one never changes. */
export async function readTold(ctx: Context<ImapConfig>, partition: Partition): Promise<KnownBoxes> {
  return boxesIn(await ctx.records(partition, prefix));
}

function boxesIn(records: Readonly<Record<string, Json>>): KnownBoxes {
  const boxes: KnownBoxes = new Map();
  for (const [name, value] of Object.entries(records)) {
    if (!name.startsWith(prefix)) continue;
    const [box = '', block] = name.slice(prefix.length).split('/');
    const known = boxes.get(box) ?? new Map<number, KnownMail>();
    boxes.set(box, known);
    const { threads, mails } = value as Stored;
    for (const [offset, thread, marks, content] of mails) {
      known.set(Number(block) * uidsPerRecord + offset, toKnown(threads[thread] ?? null, marks, content));
    }
  }
  return boxes;
}

function toKnown(thread: string | null, marks: string, content: string | undefined): KnownMail {
  const mail = { thread, mark: marks.slice(0, markLength), facts: marks.slice(markLength) };
  if (content === undefined) return mail;
  return { ...mail, content: { digest: content.slice(1), isTold: content.startsWith('+') } };
}

/** How many mails are known. */
export function countOf(known: KnownBoxes): number {
  return [...known.values()].reduce((count, mails) => count + mails.size, 0);
}

const maxRewritten = 900;

/**
 * The records that change when some places are told anew (undefined: there is no mail any more), with the
 * new number of mails. Undefined when they are too many for one page.
 */
export function rewritten(
  known: KnownBoxes,
  told: ReadonlyMap<string, ReadonlyMap<number, KnownMail | undefined>>,
): Records | undefined {
  const records: Records = {};
  let count = countOf(known);
  for (const [box, changes] of told) {
    const mails = known.get(box);
    for (const [uid, mail] of changes) count += Number(mail !== undefined) - Number(mails?.has(uid) ?? false);
    for (const block of new Set([...changes.keys()].map(blockOf))) {
      records[recordName(box, block)] = toRecord(mailsOf(block, mails, changes));
    }
  }
  return Object.keys(records).length > maxRewritten ? undefined : { ...records, ...totalOf(count) };
}

function* mailsOf(
  block: number,
  mails: ReadonlyMap<number, KnownMail> | undefined,
  changes: ReadonlyMap<number, KnownMail | undefined>,
): Iterable<[uid: number, mail: KnownMail]> {
  for (let uid = block * uidsPerRecord; uid < (block + 1) * uidsPerRecord; uid++) {
    const mail = changes.has(uid) ? changes.get(uid) : mails?.get(uid);
    if (mail !== undefined) yield [uid, mail];
  }
}
