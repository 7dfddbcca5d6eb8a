import { ConnectorError, transient, type Context, type Fetched, type Partition, type Ref } from 'memoryd/connector';
import { openMail } from './client.ts';
import type { ImapConfig } from './config.ts';
import { placesOf, type Place } from './locate.ts';
import { toDocument } from './map.ts';
import { readBox, type ReadMail } from './read.ts';
import { rescanOf, scanOf, type Scan } from './scan.ts';
import { revOf, type Copy } from './threads.ts';

/** Documents of one call stand in memory together; the rest is fetched one by one. */
const bytesPerCall = 64 * 1024 * 1024;

/** The mails of one thread as a document. */
export async function fetchThread(ctx: Context<ImapConfig>, partition: Partition, ref: Ref): Promise<Fetched> {
  if (ref.locator?.['hidden'] === true) throw hiddenThread();
  const listed = placesOf(ref);
  const members = listed === undefined ? membersOf(await scanOf(ctx, partition, false), ref.id) : undefined;
  const places = listed ?? members;
  if (places !== undefined) {
    const mails = await readThread(ctx, places);
    const rev = members === undefined ? ref.rev : revOf(members);
    if (mails.length === places.length) return toDocument({ id: ref.id, rev }, mails, ctx.config);
  }
  // Its mails are no longer all where they were: they went, or they moved.
  const scan = await rescanOf(ctx, partition);
  const found = membersOf(scan, ref.id);
  if (found === undefined && scan.isSteady && scan.closed.length === 0) return { gone: true };
  if (found === undefined) throw transient('Mail kept moving while it was read.');
  const mails = await readThread(ctx, found);
  if (mails.length < found.length) throw transient('The mails of this thread move while they are read.');
  return toDocument({ id: ref.id, rev: revOf(found) }, mails, ctx.config);
}

/** Where the mails of a thread are. Throws `forbidden` for one that is hidden. */
function membersOf({ threads, hidden }: Scan, id: string): readonly Copy[] | undefined {
  if (hidden.threads.has(id)) throw hiddenThread();
  return threads.find((thread) => thread.id === id)?.members;
}

function hiddenThread(): ConnectorError {
  return new ConnectorError('forbidden', 'Some mails of this thread lie in a mailbox that the server does not open.', {
    remedy: 'Give the user of the connection the right to read the mailbox.',
  });
}

/** Threads with few requests: see `readBox`. Those whose mails are not all where they were are left out. */
export async function* fetchThreads(
  ctx: Context<ImapConfig>,
  _partition: Partition,
  refs: Ref[],
): AsyncIterable<[id: string, fetched: Fetched]> {
  const wanted: { ref: Ref; places: readonly Place[] }[] = [];
  let bytes = 0;
  for (const ref of refs) {
    const places = placesOf(ref);
    bytes += ref.size ?? 0;
    if (places !== undefined && bytes <= bytesPerCall) wanted.push({ ref, places });
  }
  const found = await readPlaces(
    ctx,
    wanted.flatMap(({ places }) => places),
  );
  for (const { ref, places } of wanted) {
    const mails = places.flatMap((place) => found.get(nameOf(place)) ?? []);
    if (mails.length === places.length) yield [ref.id, toDocument(ref, mails, ctx.config)];
  }
}

async function readThread(ctx: Context<ImapConfig>, places: readonly Place[]): Promise<ReadMail[]> {
  const found = await readPlaces(ctx, places);
  return places.flatMap((place) => found.get(nameOf(place)) ?? []);
}

async function readPlaces(ctx: Context<ImapConfig>, places: readonly Place[]): Promise<Map<string, ReadMail>> {
  const mail = await openMail(ctx);
  const found = new Map<string, ReadMail>();
  for (const inBox of Map.groupBy(places, ({ box }) => JSON.stringify([box.path, box.uidValidity])).values()) {
    ctx.signal.throwIfAborted();
    const { box } = inBox[0]!;
    const uids = inBox.map(({ uid }) => uid).sort((a, b) => a - b);
    const mails = await mail.use((client) => readBox(client, box, uids, ctx.config));
    for (const [uid, read] of mails ?? []) found.set(nameOf({ box, uid }), read);
  }
  return found;
}

function nameOf({ box, uid }: Place): string {
  return JSON.stringify([box.path, box.uidValidity, uid]);
}
