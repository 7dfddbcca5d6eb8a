import type { ImapFlow } from 'imapflow';
import { cursorExpired } from 'memoryd/connector';
import type { KnownMail } from './known.ts';
import type { BoxState } from './positions.ts';
import { allUids, openBox, searchUids } from './requests.ts';

/** The UIDs by which a mailbox differs from what is known of it. */
export interface BoxChange {
  vanished: number[];
  came: number[];
}

/** A mailbox as it was and as it is, by STATUS, and the mails that are known of it. */
export interface ComparedBox {
  before: BoxState | undefined;
  now: BoxState;
  mails: ReadonlyMap<number, KnownMail>;
}

/**
 * Finds what went and came: by QRESYNC where that is offered and its answer adds up, else by asking for all
 * UIDs. Throws `CursorExpired` when the mailbox is another one by now.
 */
export async function compareBox(client: ImapFlow, box: ComparedBox): Promise<BoxChange> {
  return (await changesByQresync(client, box)) ?? changesBySearch(client, box);
}

async function changesBySearch(client: ImapFlow, { now, mails }: ComparedBox): Promise<BoxChange> {
  const [path, uidValidity] = now;
  const open = await openBox(client, path);
  if (open.uidValidity !== uidValidity) throw cursorExpired('A mailbox was made anew.');
  const uids = await allUids(client, open);
  const present = new Set(uids);
  return {
    vanished: [...mails.keys()].filter((uid) => !present.has(uid)),
    came: uids.filter((uid) => !mails.has(uid)),
  };
}

/**
 * RFC 7162 section 3.2.5: EXAMINE tells the UIDs that vanished since a position. Undefined when it cannot be
 * asked or does not explain how many mails there are.
 */
async function changesByQresync(client: ImapFlow, box: ComparedBox): Promise<BoxChange | undefined> {
  const { before, now, mails } = box;
  const [path, uidValidity, , uidNextNow] = now;
  if (before === undefined || before[1] !== uidValidity) return undefined;
  const [, , , uidNext, modseq] = before;
  if (typeof modseq !== 'string' || !(await enableQresync(client))) return undefined;
  const { gone, exists } = await examineSince(client, path, { uidValidity, modseq });
  if (exists === undefined) return undefined;
  const isLonger = uidNextNow > uidNext && exists > 0;
  const shown = isLonger ? await searchUids(client, path, { uid: `${uidNext}:*` }) : [];
  const newer = new Set(shown);
  // Servers tell of UIDs that were never known, and of some twice.
  const vanished = [...mails.keys()].filter((uid) => gone.has(uid) || (uid >= uidNext && !newer.has(uid)));
  // `n:*` always shows the last mail, also one that is older (RFC 3501 section 6.4.8).
  const came = [...newer].filter((uid) => !mails.has(uid));
  return mails.size - vanished.length + came.length === exists ? { vanished, came } : undefined;
}

/** Opens a mailbox. `exists` is undefined when the server did not take the position. */
async function examineSince(
  client: ImapFlow,
  path: string,
  since: { uidValidity: string; modseq: string },
): Promise<{ gone: Set<number>; exists: number | undefined }> {
  const gone = new Set<number>();
  const note = ({ uid }: { uid?: number | undefined }) => void (uid !== undefined && gone.add(uid));
  // The answer comes before the mailbox counts as open.
  client.on('expunge', note);
  try {
    const options = { readOnly: true, uidValidity: BigInt(since.uidValidity), changedSince: BigInt(since.modseq) };
    const opened: { exists?: number; qresync?: boolean } = await client.mailboxOpen(path, options);
    return { gone, exists: opened.qresync === true ? opened.exists : undefined };
  } catch (error) {
    const isRefused = client.usable && (error as { responseStatus?: string }).responseStatus !== undefined;
    if (!isRefused) throw error;
    return { gone, exists: undefined };
  } finally {
    client.off('expunge', note);
  }
}

const asked = new WeakSet<ImapFlow>();

/** Whether the connection has QRESYNC. It can be enabled while no mailbox is open (RFC 5161 section 3.1). */
async function enableQresync(client: ImapFlow): Promise<boolean> {
  if (!client.capabilities.has('QRESYNC')) return false;
  if (!asked.has(client)) {
    asked.add(client);
    if (client.mailbox) await client.mailboxClose();
    await (client as unknown as { run(command: 'ENABLE', names: string[]): Promise<unknown> }).run('ENABLE', [
      'QRESYNC',
    ]);
  }
  return client.enabled.has('QRESYNC');
}
