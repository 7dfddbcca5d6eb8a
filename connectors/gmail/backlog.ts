import type { ImapFlow } from 'imapflow';
import { badConfig, transient, type Context, type Fetched, type Ref } from 'memoryd/connector';
import { openMail } from '../imap/client.ts';
import type { ImapConfig } from '../imap/config.ts';
import type { ShownMail } from '../imap/map.ts';
import { chooseMailboxes } from '../imap/mailboxes.ts';
import { readBox } from '../imap/read.ts';
import { allUids, fetchAll, openBox, toUidSet } from '../imap/requests.ts';
import type { Box } from '../imap/threads.ts';
import { ask } from './client.ts';
import type { GmailContext } from './config.ts';
import { toThreadDocument } from './document.ts';
import { isListed, namedMails, revOf } from './list.ts';

/** https://developers.google.com/workspace/gmail/imap/imap-extensions */
const gmailServer: Partial<ImapConfig> = { host: 'imap.gmail.com' };

/** Ids are asked for in windows, from the newest mail down, as far as threads ask for them. */
const mailsPerWindow = 2_000;
/** Bytes of mails that are held in memory together. */
const bytesPerRead = 32 * 1024 * 1024;

/** All Mail: its UIDs, and what of it is known by now. */
interface AllMail {
  box: Box;
  /** Mails not yet asked about, in order. */
  uids: number[];
  /** By the mail's id, which is its X-GM-MSGID in hexadecimal digits. */
  places: Map<string, Place>;
}

interface Place {
  uid: number;
  bytes: number;
  isSent: boolean;
}

interface Held {
  allMail?: AllMail;
  /** It failed once: the API does the rest of this run. */
  isOff: boolean;
}

/**
 * The threads of a listing, read over IMAP, which knows no units. They are the same documents that the API would
 * give: same ids, same revs, bodies read by the same rules. Threads that are not all in All Mail are left out, and
 * so are all of them when IMAP fails: the API reads them then.
 */
export async function* fetchBacklog(
  ctx: GmailContext,
  refs: readonly Ref[],
  server = gmailServer,
): AsyncIterable<[id: string, fetched: Fetched]> {
  const wanted = ctx.config.firstLoad === 'imap' ? refs.filter(isListed) : [];
  const held = await ctx.session('backlog', async (): Promise<Held> => ({ isOff: false }));
  if (wanted.length === 0 || held.isOff) return;
  try {
    const imap = await imapContext(ctx, server);
    const mailbox = await openMail(imap);
    const allMail = (held.allMail ??= await mailbox.use((client) => openAllMail(client, imap)));
    await mailbox.use((client) => locate(client, allMail, wanted.flatMap(namedMails)));
    for (const some of portions(wanted, allMail)) {
      const mails = await mailbox.use((client) => readMails(client, imap, allMail, some.flatMap(namedMails)));
      for (const ref of some) {
        const names = namedMails(ref);
        const shown = names.flatMap((name) => mails.get(name) ?? []);
        if (shown.length < names.length) continue;
        yield [ref.id, toThreadDocument({ id: ref.id, rev: revOf(names) }, shown, ctx.config)];
      }
    }
  } catch (error) {
    ctx.signal.throwIfAborted();
    held.isOff = true;
    const reason = error instanceof Error ? error.message : 'unknown';
    ctx.log.warn({ reason }, 'mail cannot be read over IMAP, the API reads it');
  }
}

/** The account as the mail connector sees one. It authorizes with the same token. */
export async function imapContext(ctx: GmailContext, server = gmailServer): Promise<Context<ImapConfig>> {
  const user = await ctx.session('account', async () => {
    const { emailAddress } = await ask(ctx, (users) => users.getProfile({ userId: 'me' }));
    if (!emailAddress) throw transient('Gmail did not tell the account.');
    return emailAddress;
  });
  const { attachments = true, maxAttachmentBytes } = ctx.config;
  const files = maxAttachmentBytes === undefined ? { attachments } : { attachments, maxAttachmentBytes };
  return {
    ...ctx,
    config: { host: '', user, ...files, ...server },
    selection: [],
    secret: async () => {
      throw badConfig('Gmail takes no password.');
    },
  };
}

async function openAllMail(client: ImapFlow, ctx: Context<ImapConfig>): Promise<AllMail> {
  const [path] = await chooseMailboxes(client, ctx);
  const isGmail = client.capabilities.has('X-GM-EXT-1');
  if (!isGmail || path === undefined) throw transient('The server does not show All Mail.');
  const open = await openBox(client, path);
  const { uidValidity } = open;
  return { box: { path, uidValidity }, uids: await allUids(client, open), places: new Map() };
}

/** Asks for ids, window by window, until these mails are known or all are. */
async function locate(client: ImapFlow, { box, uids, places }: AllMail, mails: readonly string[]): Promise<void> {
  await reopen(client, box);
  while (uids.length > 0 && !mails.every((mail) => places.has(mail))) {
    const window = uids.slice(-mailsPerWindow);
    for (const answer of await fetchAll(client, toUidSet(window), { uid: true, size: true, labels: true })) {
      const { uid, emailId, size, labels } = answer;
      if (emailId === undefined) throw transient('The server did not tell the id of a mail.');
      places.set(BigInt(emailId).toString(16), { uid, bytes: size ?? 0, isSent: labels?.has('\\Sent') ?? false });
    }
    uids.length -= window.length;
  }
}

/** Under another UIDVALIDITY a UID is another mail. */
async function reopen(client: ImapFlow, { path, uidValidity }: Box): Promise<void> {
  const open = await openBox(client, path);
  if (open.uidValidity !== uidValidity) throw transient('All Mail was recreated.');
}

/** Takes as many threads as may be held in memory together. */
function portions(refs: readonly Ref[], { places }: AllMail): Ref[][] {
  const result: Ref[][] = [];
  let bytes = Infinity;
  for (const ref of refs) {
    const size = namedMails(ref).reduce((sum, name) => sum + (places.get(name)?.bytes ?? 0), 0);
    if (bytes + size > bytesPerRead) {
      result.push([]);
      bytes = 0;
    }
    result.at(-1)!.push(ref);
    bytes += size;
  }
  return result;
}

async function readMails(
  client: ImapFlow,
  ctx: Context<ImapConfig>,
  { box, places }: AllMail,
  names: readonly string[],
): Promise<Map<string, ShownMail>> {
  const uids = names.flatMap((name) => places.get(name)?.uid ?? []).sort((a, b) => a - b);
  const read = await readBox(client, box, uids, ctx.config);
  return new Map(
    names.flatMap((name): [string, ShownMail][] => {
      const place = places.get(name);
      const mail = place && read?.get(place.uid);
      if (!mail) return [];
      const copy = { key: name, time: mail.copy.time };
      return [[name, { ...mail, copy, ...(place.isSent && { own: true }) }]];
    }),
  );
}
