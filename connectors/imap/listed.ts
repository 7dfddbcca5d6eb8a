import type { Context, Partition } from 'memoryd/connector';
import type { ImapConfig } from './config.ts';
import {
  blockOf,
  closedRecord,
  factsOf,
  markOf,
  nameOf,
  recordName,
  recordNames,
  toRecord,
  totalOf,
  unknown,
  type KnownBoxes,
  type KnownMail,
  type Records,
} from './known.ts';
import { mailKeyOf, type Box, type Content, type Copy, type Thread } from './threads.ts';

/** A mailbox's content, by UID. */
export interface ScannedBox {
  box: Box;
  copies: readonly Copy[];
}

/** At most so many records go with a page of a listing: they are sent as one statement. */
const recordsPerPage = 100;

/** The same in few bytes for each mail, since it is held until the listing is over. */
interface PlacedBox {
  uids: Uint32Array;
  /** The thread of each mail, and its place in it. */
  threads: Uint32Array;
  members: Uint32Array;
  bytes: Uint32Array;
  received: Float64Array;
  /** For the few mails that have one, by index. */
  contents: Map<number, Content>;
}

/** The mails of one record. */
interface Block {
  name: string;
  box: PlacedBox;
  start: number;
  end: number;
  /** Mails that the ledger was told of and that are not there any more. */
  vanished: readonly (readonly [uid: number, mail: KnownMail])[];
}

/** A listing's report to the ledger beside its threads: the place and thread of each mail. */
export interface Listed {
  count: number;
  /** Records of one page. */
  records(start: number): Records;
  /** With the last page, when the listing is complete: what older listings left, and that these are all. */
  last(ctx: Context<ImapConfig>, partition: Partition): Promise<Records>;
  /** Everything at once; only that it is not known when that is more than a page holds. */
  all(ctx: Context<ImapConfig>, partition: Partition): Promise<Records>;
}

export function createListed(
  boxes: readonly ScannedBox[],
  threads: readonly Thread[],
  known: KnownBoxes = new Map(),
  closed: readonly string[] = [],
): Listed {
  const blocks = allBlocks(boxes, threads, known);
  const mails = boxes.reduce((sum, { copies }) => sum + copies.length, 0);

  function* mailsOf({ box, start, end }: Block): Iterable<readonly [uid: number, mail: KnownMail]> {
    for (let index = start; index < end; index++) {
      const { id, members } = threads[box.threads[index]!]!;
      const mark = markOf(members[box.members[index]!]!.key);
      const facts = factsOf({ bytes: box.bytes[index]!, received: box.received[index]! });
      const content = box.contents.get(index);
      yield [box.uids[index]!, { thread: id, mark, facts, ...(content && { content }) }];
    }
  }

  // Until the listing has come to its end nothing follows from them, and what vanished is not forgotten: were it
  // interrupted, the next one could not say whether a mail moved or is another one.
  function recordsOf(some: readonly Block[]): Records {
    const told = some.map((block) => [block.name, toRecord([...mailsOf(block), ...block.vanished])] as const);
    return { ...unknown, ...Object.fromEntries(told) };
  }

  return {
    count: blocks.length,
    records: (start) => recordsOf(blocks.slice(start, start + recordsPerPage)),
    async all(ctx, partition) {
      const records = { ...recordsOf(blocks), ...(await this.last(ctx, partition)) };
      return Object.keys(records).length > maxAtOnce ? unknown : records;
    },
    async last(ctx, partition) {
      // What is known of a closed mailbox, and of what went meanwhile, is needed until that can be read.
      if (closed.length > 0) return { ...unknown, ...closedRecord(closed) };
      const names = new Set(blocks.map(({ name }) => name));
      const stale = (await recordNames(ctx, partition)).filter((name) => !names.has(name));
      const shrunk = blocks.filter(({ vanished }) => vanished.length > 0);
      const left = [
        ...stale.map((name) => [name, null] as const),
        ...shrunk.map((block) => [block.name, toRecord(mailsOf(block))] as const),
      ];
      // More than a page can hold come from an account that shrank a lot; the next listing has less of them.
      if (left.length > maxLeft) return Object.fromEntries(left.slice(0, maxLeft));
      return { ...Object.fromEntries(left), ...totalOf(mails), ...closedRecord([]) };
    },
  };
}

const maxLeft = 800;
const maxAtOnce = 900;

export const nextRecords = (start: number) => start + recordsPerPage;

/** Apart, so that what it needs is not held with the functions of `createListed`. */
function allBlocks(boxes: readonly ScannedBox[], threads: readonly Thread[], known: KnownBoxes): Block[] {
  const places = placesOf(threads);
  return boxes.flatMap((box) => {
    const name = nameOf(box.box);
    return blocksOf(name, placed(box, places), vanishedFrom(box, known.get(name)));
  });
}

/** By block. */
function vanishedFrom({ copies }: ScannedBox, mails: ReadonlyMap<number, KnownMail> = new Map()) {
  const present = new Set(copies.map(({ uid }) => uid));
  return Map.groupBy(
    [...mails].filter(([uid]) => !present.has(uid)),
    ([uid]) => blockOf(uid),
  );
}

/** Where a mail is: the index of its thread and its own in that. */
function placesOf(threads: readonly Thread[]): Map<string, readonly [thread: number, member: number]> {
  const places = new Map<string, readonly [number, number]>();
  for (const [thread, { members }] of threads.entries()) {
    for (const [member, mail] of members.entries()) places.set(mailKeyOf(mail), [thread, member]);
  }
  return places;
}

function placed({ copies }: ScannedBox, places: ReturnType<typeof placesOf>): PlacedBox {
  const box = {
    uids: Uint32Array.from(copies, ({ uid }) => uid),
    threads: new Uint32Array(copies.length),
    members: new Uint32Array(copies.length),
    bytes: Uint32Array.from(copies, ({ bytes }) => bytes),
    received: Float64Array.from(copies, ({ received }) => received),
    contents: new Map<number, Content>(),
  };
  for (const [index, copy] of copies.entries()) {
    [box.threads[index], box.members[index]] = places.get(mailKeyOf(copy))!;
    if (copy.content) box.contents.set(index, copy.content);
  }
  return box;
}

function blocksOf(name: string, box: PlacedBox, vanished: ReadonlyMap<number, Block['vanished']>): Block[] {
  const blocks: Block[] = [];
  for (let start = 0, end = 0; start < box.uids.length; start = end) {
    const block = blockOf(box.uids[start]!);
    while (end < box.uids.length && blockOf(box.uids[end]!) === block) end += 1;
    blocks.push({ name: recordName(name, block), box, start, end, vanished: vanished.get(block) ?? [] });
  }
  return blocks;
}
