import type { Context, Partition } from 'memoryd/connector';
import type { ImapConfig } from './config.ts';
import { blockOf, markOf, nameOf, recordName, recordNames, toRecord, totalOf, unknown, type Records } from './known.ts';
import type { Box, Thread } from './threads.ts';

/** What a mailbox holds: the UIDs, sorted, with the ids of their mails. */
export interface ScannedBox {
  box: Box;
  uids: number[];
  keys: string[];
}

/** At most so many records go with a page of a listing: they are sent as one statement. */
const recordsPerPage = 100;

/** The same in few bytes for each mail, since it is held until the listing is over. */
interface PlacedBox {
  uids: Uint32Array;
  /** Which thread each mail is in, and which of its members it is. */
  threads: Uint32Array;
  members: Uint32Array;
}

/** The mails of one record. */
interface Block {
  name: string;
  box: PlacedBox;
  start: number;
  end: number;
}

/** What a listing tells the ledger beside its threads: where each mail is, and in which thread. */
export interface Listed {
  count: number;
  /** Records of one page. */
  records(start: number): Records;
  /** With the last page, when the listing is complete: what older listings left, and that these are all. */
  last(ctx: Context<ImapConfig>, partition: Partition): Promise<Records>;
}

export function createListed(boxes: readonly ScannedBox[], threads: readonly Thread[]): Listed {
  const blocks = allBlocks(boxes, threads);
  const mails = boxes.reduce((sum, { uids }) => sum + uids.length, 0);

  function* mailsOf({ box, start, end }: Block) {
    for (let index = start; index < end; index++) {
      const { id, members } = threads[box.threads[index]!]!;
      yield [box.uids[index]!, { thread: id, mark: markOf(members[box.members[index]!]!.key) }] as const;
    }
  }

  return {
    count: blocks.length,
    records(start) {
      const some = blocks.slice(start, start + recordsPerPage);
      // Until the listing has come to its end, nothing follows from them.
      return { ...unknown, ...Object.fromEntries(some.map((block) => [block.name, toRecord(mailsOf(block))])) };
    },
    async last(ctx, partition) {
      const names = new Set(blocks.map(({ name }) => name));
      const stale = (await recordNames(ctx, partition)).filter((name) => !names.has(name));
      // More than a page can remove come from an account that shrank a lot; the next listing has less of them.
      if (stale.length > maxStale) return Object.fromEntries(stale.slice(0, maxStale).map((name) => [name, null]));
      return { ...Object.fromEntries(stale.map((name) => [name, null])), ...totalOf(mails) };
    },
  };
}

const maxStale = 800;

export const nextRecords = (start: number) => start + recordsPerPage;

/** Apart, so that what it needs is not held with the functions of `createListed`. */
function allBlocks(boxes: readonly ScannedBox[], threads: readonly Thread[]): Block[] {
  const places = placesOf(threads);
  return boxes.flatMap((box) => blocksOf(nameOf(box.box), placed(box, places)));
}

/** Where the mail with an id is: the index of its thread and its own in that. */
function placesOf(threads: readonly Thread[]): Map<string, readonly [thread: number, member: number]> {
  const places = new Map<string, readonly [number, number]>();
  for (const [thread, { members }] of threads.entries()) {
    for (const [member, { key }] of members.entries()) places.set(key, [thread, member]);
  }
  return places;
}

function placed({ uids, keys }: ScannedBox, places: ReturnType<typeof placesOf>): PlacedBox {
  const box = {
    uids: Uint32Array.from(uids),
    threads: new Uint32Array(uids.length),
    members: new Uint32Array(uids.length),
  };
  for (const [index, key] of keys.entries()) [box.threads[index], box.members[index]] = places.get(key)!;
  return box;
}

function blocksOf(name: string, box: PlacedBox): Block[] {
  const blocks: Block[] = [];
  for (let start = 0, end = 0; start < box.uids.length; start = end) {
    const block = blockOf(box.uids[start]!);
    while (end < box.uids.length && blockOf(box.uids[end]!) === block) end += 1;
    blocks.push({ name: recordName(name, block), box, start, end });
  }
  return blocks;
}
