import { simpleParser } from 'mailparser';
import type { ImapFlow } from 'imapflow';
import { transient, type Context, type Fetched, type Partition, type Ref } from 'memoryd/connector';
import { fetchAll, openMail, openMailbox } from './client.ts';
import type { ImapConfig } from './config.ts';
import { toDocument, type ReadMail } from './map.ts';
import { assertRemoved, scanOf, toUidSet } from './scan.ts';
import type { Copy, Thread } from './threads.ts';

/** Of a larger mail only so much is read, which is its text before its attachments. */
const maxMailBytes = 25 * 1024 * 1024;
const maxTextLength = 2 * 1024 * 1024;
/** Mails of one request, as far as their sizes allow. */
const bytesPerRequest = 32 * 1024 * 1024;
const mailsPerRequest = 100;

/** The mails of one thread as a document. */
export async function fetchThread(ctx: Context<ImapConfig>, _partition: Partition, ref: Ref): Promise<Fetched> {
  const { byId } = await scanOf(ctx, false);
  const thread = byId.get(ref.id);
  if (thread === undefined) return { gone: true };
  return documentOf(ctx, thread, await readCopies(ctx, thread.members));
}

/** Threads with few requests: one for many mails of a mailbox. */
export async function* fetchThreads(
  ctx: Context<ImapConfig>,
  _partition: Partition,
  refs: Ref[],
): AsyncIterable<[id: string, fetched: Fetched]> {
  const { byId } = await scanOf(ctx, false);
  for (const batch of batches(refs.flatMap((ref) => byId.get(ref.id) ?? []))) {
    const sources = await readCopies(
      ctx,
      batch.flatMap(({ members }) => members),
    );
    for (const thread of batch) yield [thread.id, await documentOf(ctx, thread, sources)];
  }
}

function batches(threads: readonly Thread[]): Thread[][] {
  const result: Thread[][] = [];
  let [bytes, mails] = [Infinity, Infinity];
  for (const thread of threads) {
    const size = thread.members.reduce((sum, copy) => sum + Math.min(copy.bytes, maxMailBytes), 0);
    if (bytes + size > bytesPerRequest || mails + thread.members.length > mailsPerRequest) {
      result.push([]);
      [bytes, mails] = [0, 0];
    }
    result.at(-1)!.push(thread);
    bytes += size;
    mails += thread.members.length;
  }
  return result;
}

async function readCopies(ctx: Context<ImapConfig>, copies: readonly Copy[]): Promise<Map<Copy, Buffer>> {
  const mail = await openMail(ctx);
  const sources = new Map<Copy, Buffer>();
  for (const [path, inMailbox] of Map.groupBy(copies, ({ mailbox }) => mailbox)) {
    await mail.use((client) => readMailbox(client, path, inMailbox, sources));
  }
  return sources;
}

async function readMailbox(
  client: ImapFlow,
  path: string,
  copies: readonly Copy[],
  sources: Map<Copy, Buffer>,
): Promise<void> {
  const { uidValidity } = await openMailbox(client, path);
  if (copies.some((copy) => copy.uidValidity !== uidValidity)) {
    throw transient(`The mailbox ${JSON.stringify(path)} was made anew during the sync.`);
  }
  const byUid = new Map(copies.map((copy) => [copy.uid, copy]));
  const uids = toUidSet([...byUid.keys()].sort((a, b) => a - b));
  for (const answer of await fetchAll(client, uids, { uid: true, source: { start: 0, maxLength: maxMailBytes } })) {
    const copy = byUid.get(answer.uid);
    if (copy === undefined || !answer.source) continue;
    sources.set(copy, answer.source);
    byUid.delete(answer.uid);
  }
  if (byUid.size > 0) await assertRemoved(client, path, new Set(byUid.keys()));
}

async function documentOf(
  ctx: Context<ImapConfig>,
  thread: Thread,
  sources: ReadonlyMap<Copy, Buffer>,
): Promise<Fetched> {
  const mails: ReadMail[] = [];
  for (const copy of thread.members) {
    ctx.signal.throwIfAborted();
    const source = sources.get(copy);
    if (source !== undefined) mails.push(await parse(copy, source));
  }
  if (mails.length === 0) return { gone: true };
  return toDocument(thread.id, mails, ctx.config);
}

async function parse(copy: Copy, source: Buffer): Promise<ReadMail> {
  const mail = await simpleParser(source, {
    skipImageLinks: true,
    skipTextToHtml: true,
    maxHtmlLengthToParse: maxTextLength,
  });
  if (copy.bytes <= maxMailBytes) return { copy, mail };
  const degraded = `This mail has ${copy.bytes} bytes; the first ${maxMailBytes} were read.`;
  // The last attachment is cut off, so none of its kind can be trusted to be whole.
  return { copy, mail: { ...mail, attachments: mail.attachments.slice(0, -1) }, degraded };
}
