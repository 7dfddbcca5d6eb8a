import { expect, it } from 'vitest';
import type { Context, Json } from 'memoryd/connector';
import type { ImapConfig } from '../../../connectors/imap/config.ts';
import {
  factsOf,
  markOf,
  nameOf,
  readKnown,
  readTold,
  rewritten,
  type KnownBoxes,
  type KnownMail,
  type Records,
} from '../../../connectors/imap/known.ts';
import { createListed, nextRecords, type ScannedBox } from '../../../connectors/imap/listed.ts';
import { createThreading } from '../../../connectors/imap/threads.ts';

const partition = { id: 'mail' };

function createStore() {
  const stored = new Map<string, Json>();
  const ctx = {
    records: async (_: unknown, prefix = '') =>
      Object.fromEntries([...stored].filter(([name]) => name.startsWith(prefix))),
  } as unknown as Context<ImapConfig>;
  const keep = (records: Records) => {
    for (const [name, value] of Object.entries(records)) {
      if (value === null) stored.delete(name);
      else stored.set(name, value);
    }
  };
  return { ctx, stored, keep };
}

/** Mailboxes with mails of a thread each, `step` UIDs apart. */
function scan(sizes: Record<string, number>, { step = 1, idLength = 20, known = new Map() as KnownBoxes } = {}) {
  const threading = createThreading();
  const boxes: ScannedBox[] = Object.entries(sizes).map(([path, size]) => {
    const box = { path, uidValidity: '1' };
    const uids = Array.from({ length: size }, (_, index) => 1 + index * step);
    const copies = uids.map((uid) => {
      const key = `<${path}-${uid}@`.padEnd(idLength - 1, 'x').concat('>');
      return threading.add({ key, first: undefined, box, uid, bytes: 1, time: 1, received: 1, parents: [] });
    });
    return { box, copies };
  });
  return { boxes, listed: createListed(boxes, threading.threads(), known) };
}

type Store = ReturnType<typeof createStore>;

/** Answers how many pages it took. */
async function list({ ctx, keep }: Store, { listed }: ReturnType<typeof scan>): Promise<number> {
  let pages = 1;
  let from = 0;
  for (; nextRecords(from) < listed.count; from = nextRecords(from), pages++) keep(listed.records(from));
  keep({ ...listed.records(from), ...(await listed.last(ctx, partition)) });
  return pages;
}

it('keeps where mails are over several pages, and is not taken for complete before the last one', async () => {
  const store = createStore();
  const large = scan({ INBOX: 1_000, Sent: 300 }, { step: 60 });
  store.keep(large.listed.records(0));
  expect(await readKnown(store.ctx, partition)).toBeUndefined();
  expect(await list(store, large)).toBe(4);
  const known = await readKnown(store.ctx, partition);
  const inbox = known!.get(nameOf({ path: 'INBOX', uidValidity: '1' }))!;
  expect([known!.size, inbox.size]).toEqual([2, 1_000]);
  const copy = large.boxes[0]!.copies[999]!;
  expect(inbox.get(1 + 999 * 60)).toEqual({ thread: copy.key, mark: markOf(copy.key), facts: factsOf(copy) });
});

it('forgets what a listing no longer shows', async () => {
  const store = createStore();
  await list(store, scan({ INBOX: 1_000, Old: 500 }));
  await list(store, scan({ INBOX: 200 }));
  const known = await readKnown(store.ctx, partition);
  expect([...known!.values()].map((mails) => mails.size)).toEqual([200]);
  expect(store.stored.size).toBe(2);
});

it('keeps records small enough, and ids that are too long for that not at all', async () => {
  const store = createStore();
  await list(store, scan({ INBOX: 600 }, { idLength: 198 }));
  const sizes = [...store.stored.values()].map((value) => Buffer.byteLength(JSON.stringify(value)));
  expect(Math.max(...sizes)).toBeGreaterThan(50_000);
  expect(Math.max(...sizes)).toBeLessThan(64 * 1024);
  await list(store, scan({ INBOX: 600 }, { idLength: 900 }));
  const known = await readKnown(store.ctx, partition);
  expect(new Set([...known!.values()].flatMap((mails) => [...mails.values()]).map(({ thread }) => thread))).toEqual(
    new Set([null]),
  );
});

it('changes only the records of the places that it is told, and removes those of nothing', async () => {
  const store = createStore();
  await list(store, scan({ INBOX: 1_000 }));
  const known = (await readKnown(store.ctx, partition))!;
  const name = nameOf({ path: 'INBOX', uidValidity: '1' });
  const mail: KnownMail = { thread: '<new@x>', mark: markOf('<new@x>'), facts: 'factsx' };
  const gone = Array.from({ length: 255 }, (_, index) => [index + 1, undefined] as const);
  const records = rewritten(known, new Map([[name, new Map([...gone, [2_000, mail], [500, mail]])]]))!;
  expect(Object.keys(records)).toEqual([`at/${name}/0`, `at/${name}/7`, `at/${name}/1`, 'counted']);
  expect(records[`at/${name}/0`]).toBeNull();
  store.keep(records);
  const after = (await readKnown(store.ctx, partition))!.get(name)!;
  expect([after.size, after.get(2_000), after.get(500), after.get(255)]).toEqual([746, mail, mail, undefined]);
});

it('says when there is more to change than a page takes', () => {
  const told = new Map([['box', new Map(Array.from({ length: 901 }, (_, index) => [index * 256, undefined]))]]);
  expect(rewritten(new Map(), told)).toBeUndefined();
});

it('knows nothing when a record is missing', async () => {
  const store = createStore();
  await list(store, scan({ INBOX: 600 }));
  store.stored.delete([...store.stored.keys()].find((name) => name.endsWith('/1'))!);
  expect(await readKnown(store.ctx, partition)).toBeUndefined();
});

it('remembers what vanished until a listing has come to its end', async () => {
  const store = createStore();
  await list(store, scan({ INBOX: 300 }));
  const before = (await readKnown(store.ctx, partition))!;
  const shrunk = scan({ INBOX: 200 }, { known: before });
  store.keep(shrunk.listed.records(0));
  expect(await readTold(store.ctx, partition)).toEqual(before);
  store.keep(await shrunk.listed.last(store.ctx, partition));
  expect([...(await readKnown(store.ctx, partition))!.values()].map((mails) => mails.size)).toEqual([200]);
});
