import { hash } from 'node:crypto';
import type { Context } from 'memoryd/connector';
import { openMail } from './client.ts';
import type { ImapConfig } from './config.ts';
import { factsOf, markOf, nameOf, type KnownBoxes, type KnownMail } from './known.ts';
import { readBox, type ReadMail } from './read.ts';
import type { Box, Content, Copy } from './threads.ts';

/** Mails that stand in memory together while they are compared. */
const mailsPerRead = 100;
const bytesPerRead = 16 * 1024 * 1024;

/** Copies with one Message-ID, of which some were never compared with the others. */
interface Doubt {
  copies: readonly Copy[];
  /** Copies that were not reported to the ledger. */
  newcomers: Copy[];
  mark: string;
}

/** A mail that the ledger was told of, whether it is still there or not. */
interface Told extends KnownMail {
  name: string;
  uid: number;
}

/**
 * Settles for each copy whether its Message-ID says which mail it is. Anybody can write any Message-ID, so that
 * mails which share one are compared by what memory would hold of them. A mail in a place never changes (RFC 3501
 * section 2.3.1.1), so that only copies in new places are in doubt, and of those the ones that moved are not: as
 * large as a mail that vanished from another mailbox, and received in the same second. Answers false when a mail
 * went before it could be compared.
 */
export async function tellApart(
  ctx: Context<ImapConfig>,
  groups: Iterable<readonly Copy[]>,
  known: KnownBoxes,
): Promise<boolean> {
  const doubts = findDoubts(groups, known);
  if (doubts.length === 0) return true;
  const told = toldOf(known, new Set(doubts.map(({ mark }) => mark)));
  const open = doubts.filter((doubt) => !isSettled(doubt, told.get(doubt.mark) ?? []));
  const unread = open.flatMap(({ copies }) => copies.filter(({ content }) => content === undefined));
  const digests = await readDigests(ctx, unread);
  let isComplete = true;
  for (const { copies, mark } of open) {
    const read = copies.map((copy) => ({ copy, digest: copy.content?.digest ?? digests.get(placeOf(copy)) }));
    const known = read.filter((one): one is Digested => one.digest !== undefined);
    isComplete &&= known.length === read.length;
    judge(known, told.get(mark) ?? []);
  }
  return isComplete;
}

function findDoubts(groups: Iterable<readonly Copy[]>, known: KnownBoxes): Doubt[] {
  const doubts: Doubt[] = [];
  const mailsOf = byBox(known);
  for (const copies of groups) {
    const newcomers: Copy[] = [];
    for (const copy of copies) {
      const mail = mailsOf(copy.box)?.get(copy.uid);
      if (mail === undefined) newcomers.push(copy);
      else if (mail.content) copy.content = mail.content;
    }
    const isAlone = copies.length === 1 && known.size === 0;
    if (newcomers.length > 0 && !isAlone) doubts.push({ copies, newcomers, mark: markOf(copies[0]!.key) });
  }
  return doubts;
}

/** The known mails of a mailbox; its name is made once for all copies in it. */
function byBox(known: KnownBoxes): (box: Box) => ReadonlyMap<number, KnownMail> | undefined {
  const found = new Map<Box, ReadonlyMap<number, KnownMail> | undefined>();
  return (box: Box) => {
    if (!found.has(box)) found.set(box, known.get(nameOf(box)));
    return found.get(box);
  };
}

function toldOf(known: KnownBoxes, marks: ReadonlySet<string>): Map<string, Told[]> {
  const told = new Map<string, Told[]>();
  for (const [name, mails] of known) {
    for (const [uid, mail] of mails) {
      if (!marks.has(mail.mark)) continue;
      const same = told.get(mail.mark) ?? [];
      same.push({ ...mail, name, uid });
      told.set(mail.mark, same);
    }
  }
  return told;
}

/** Whether nothing has to be read: a single mail whose Message-ID is new, or mails that only moved. */
function isSettled({ copies, newcomers }: Doubt, told: readonly Told[]): boolean {
  if (copies.length === 1 && told.length === 0) return true;
  const present = new Set(copies.map(placeOf));
  const vanished = told.filter(({ name, uid }) => !present.has(`${name} ${uid}`));
  let settled = 0;
  for (const copy of newcomers) {
    const index = vanished.findIndex((mail) => isMoved(mail, copy));
    const [from] = index === -1 ? [] : vanished.splice(index, 1);
    if (from?.content) copy.content = from.content;
    if (from) settled += 1;
  }
  return settled === newcomers.length;
}

/** Whether a mail was moved. A mail that returns to its mailbox may have been replaced there, as notes and drafts are. */
function isMoved({ name, facts }: Told, copy: Copy): boolean {
  return facts === factsOf(copy) && name !== nameOf(copy.box);
}

interface Digested {
  copy: Copy;
  digest: string;
}

/** A mail keeps being known by its Message-ID alone as long as no other content was ever met under it. */
function judge(copies: readonly Digested[], told: readonly Told[]): void {
  const isOne = new Set(copies.map(({ digest }) => digest)).size <= 1;
  const untold = told.filter(({ content }) => !content?.isTold);
  const present = new Map(copies.map(({ copy, digest }) => [placeOf(copy), digest]));
  const plain = new Set(untold.map(({ name, uid, content }) => content?.digest ?? present.get(`${name} ${uid}`)));
  for (const { copy, digest } of copies) {
    const isTold = !isOne || (told.length > 0 && !plain.has(digest));
    copy.content = { digest, isTold } satisfies Content;
  }
}

/** Digests of mails by their places. Those of one run are kept: a place never holds another mail. */
async function readDigests(ctx: Context<ImapConfig>, copies: readonly Copy[]): Promise<ReadonlyMap<string, string>> {
  const digests = await ctx.session('digests', async () => new Map<string, string>());
  const unread = copies.filter((copy) => !digests.has(placeOf(copy)));
  if (unread.length === 0) return digests;
  const mail = await openMail(ctx);
  for (const some of portions(unread)) {
    ctx.signal.throwIfAborted();
    const { box } = some[0]!;
    const uids = some.map(({ uid }) => uid).sort((a, b) => a - b);
    const read = await mail.use((client) => readBox(client, box, uids, ctx.config));
    for (const [uid, one] of read ?? []) digests.set(placeOf({ box, uid }), digestOf(one));
  }
  return digests;
}

function placeOf({ box, uid }: Pick<Copy, 'box' | 'uid'>): string {
  return `${nameOf(box)} ${uid}`;
}

/** Copies of one mailbox each, as many as may stand in memory together. */
function portions(copies: readonly Copy[]): Copy[][] {
  const result: Copy[][] = [];
  for (const inBox of Map.groupBy(copies, ({ box }) => nameOf(box)).values()) {
    let bytes = Infinity;
    for (const copy of inBox) {
      if (bytes + copy.bytes > bytesPerRead || result.at(-1)!.length === mailsPerRead) {
        result.push([]);
        bytes = 0;
      }
      result.at(-1)!.push(copy);
      bytes += copy.bytes;
    }
  }
  return result;
}

/** Covers all that memory shows of a mail and nothing else, because copies have taken different routes. */
function digestOf({ copy, subject, from, to, text, files }: ReadMail): string {
  const contents = files.map(({ name, mimeType, size, bytes }) => [
    ...[name, mimeType, size],
    bytes === undefined ? null : hash('sha256', bytes, 'base64url'),
  ]);
  const facts = JSON.stringify([subject, from, to, copy.time, text, contents]);
  return hash('sha256', facts, 'base64url').slice(0, 16);
}
