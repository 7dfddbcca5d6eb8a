import type { FetchMessageObject, ImapFlow } from 'imapflow';
import { simpleParser, type AddressObject, type ParsedMail } from 'mailparser';
import { transient } from 'memoryd/connector';
import type { ImapConfig } from './config.ts';
import { copyQuery, toCopies } from './copies.ts';
import { decodeBytes, textOf } from './decode.ts';
import { planOf, type FilePart, type Plan } from './parts.ts';
import { assertRemoved, fetchAll, reopenBox, toUidSet } from './requests.ts';
import type { Box, Copy } from './threads.ts';

export interface ReadFile {
  name: string;
  mimeType: string;
  size: number;
  /** Absent: it was not downloaded. */
  bytes?: Uint8Array;
}

export interface ReadMail {
  copy: Copy;
  subject: string;
  from: string[];
  to: string[];
  text: string;
  files: ReadFile[];
  /** Problems with reading, one sentence each. */
  remarks: string[];
}

/** A longer text is read only up to this size. */
export const maxTextBytes = 2 * 1024 * 1024;
/** A mail whose structure the server does not tell is read only up to this size. */
const maxSourceBytes = 25 * 1024 * 1024;
/** Mails of one request, as far as their sizes allow. */
const bytesPerRequest = 32 * 1024 * 1024;
const mailsPerRequest = 500;

/** Most mails have their text in it, and most texts are shorter: what comes with the structure need not be asked for. */
const firstPart = '1';
const maxFirstBytes = 64 * 1024;

const structureQuery = {
  ...copyQuery,
  envelope: true,
  bodyStructure: true,
  bodyParts: [{ key: firstPart, maxLength: maxFirstBytes }],
};

interface Planned {
  copy: Copy;
  answer: FetchMessageObject;
  plan: Plan;
  /** The bodies that came with the structure. */
  given: ReadonlyMap<string, Buffer>;
  /** The bodies to ask for, and what they weigh. Mails with the same ones are asked for together. */
  wanted: { key: string; maxLength?: number }[];
  bytes: number;
}

/**
 * Mails of a mailbox by their uid, with few requests: one for the structures and the first parts of 500, and
 * one for the other bodies of those that have the same parts. Mails that are not there any more are left out; null when
 * the mailbox was made anew.
 */
export async function readBox(
  client: ImapFlow,
  box: Box,
  uids: readonly number[],
  config: ImapConfig,
): Promise<Map<number, ReadMail> | null> {
  const open = await reopenBox(client, box.path);
  if (open.uidValidity !== box.uidValidity) return null;
  const mails = new Map<number, ReadMail>();
  for (let start = 0; start < uids.length; start += mailsPerRequest) {
    const asked = uids.slice(start, start + mailsPerRequest);
    const missing = new Set(asked);
    const shown = await fetchAll(client, toUidSet(asked), structureQuery);
    const answers = shown.filter((answer) => answer.bodyStructure && missing.delete(answer.uid));
    const byUid = new Map(answers.map((answer) => [answer.uid, answer]));
    const copies = await toCopies(client, box, answers);
    const planned = copies.map(({ parents: _, ...copy }) => toPlanned(copy, byUid.get(copy.uid)!, config));
    for (const group of groups(planned)) {
      for (const mail of await readGroup(client, group)) mails.set(mail.copy.uid, mail);
    }
    for (const uid of missing) {
      const mail = await readWhole(client, box, uid);
      if (mail) mails.set(uid, mail);
    }
  }
  const removed = uids.filter((uid) => !mails.has(uid));
  if (removed.length > 0) await assertRemoved(client, box.path, new Set(removed));
  return mails;
}

function toPlanned(copy: Copy, answer: FetchMessageObject, config: ImapConfig): Planned {
  const plan = planOf(answer.bodyStructure!, config);
  const files = plan.files.filter(({ isWanted }) => isWanted);
  const first = answer.bodyParts?.get(firstPart);
  const given = new Map(first && first.length < maxFirstBytes ? [[firstPart, first]] : []);
  const wanted = [
    ...plan.texts.map(({ part }) => ({ key: part, maxLength: maxTextBytes })),
    ...files.map(({ part }) => ({ key: part })),
  ].filter(({ key }) => !given.has(key));
  const weight = files.reduce((sum, { size }) => sum + 1.4 * size, 0);
  return { copy, answer, plan, given, wanted, bytes: weight + Math.min(copy.bytes, maxTextBytes * plan.texts.length) };
}

/** Mails that have the same parts, as many as fit into one answer. */
function groups(planned: readonly Planned[]): Planned[][] {
  const result: Planned[][] = [];
  for (const same of Map.groupBy(planned, ({ wanted }) => JSON.stringify(wanted)).values()) {
    let bytes = Infinity;
    for (const one of same) {
      if (bytes + one.bytes > bytesPerRequest) {
        result.push([]);
        bytes = 0;
      }
      result.at(-1)!.push(one);
      bytes += one.bytes;
    }
  }
  return result;
}

async function readGroup(client: ImapFlow, group: readonly Planned[]): Promise<ReadMail[]> {
  const { wanted } = group[0]!;
  const bodies = new Map<number, Map<string, Buffer>>();
  if (wanted.length > 0) {
    const uids = toUidSet(group.map(({ copy }) => copy.uid).sort((a, b) => a - b));
    for (const answer of await fetchAll(client, uids, { uid: true, bodyParts: wanted })) {
      if (answer.bodyParts) bodies.set(answer.uid, answer.bodyParts);
    }
  }
  const present = group.filter(({ copy }) => wanted.length === 0 || bodies.has(copy.uid));
  return Promise.all(present.map((one) => toMail(one, new Map([...one.given, ...(bodies.get(one.copy.uid) ?? [])]))));
}

async function toMail({ copy, answer, plan }: Planned, bodies: ReadonlyMap<string, Buffer>): Promise<ReadMail> {
  const { envelope } = answer;
  const head = { subject: envelope?.subject ?? '', from: addresses(envelope?.from), to: addresses(envelope?.to) };
  return { copy, ...head, ...(await readBodies(plan, bodies)) };
}

/** Texts and attachments of a mail, from the bodies of its parts. */
export async function readBodies(
  plan: Plan,
  bodies: ReadonlyMap<string, Buffer>,
): Promise<Pick<ReadMail, 'text' | 'files' | 'remarks'>> {
  const texts: string[] = [];
  const remarks: string[] = [];
  for (const part of plan.texts) {
    if (part.isSpare && texts.at(-1) !== '') continue;
    const bytes = bodies.get(part.part);
    if (bytes === undefined) throw transient('The server left a part of a mail out.');
    const { text, isGuess } = await textOf(part, bytes);
    texts.push(text.trim());
    if (isGuess) remarks.push('Its character set is not what it says.');
    if (bytes.length >= maxTextBytes) remarks.push('Its text is longer than what was read.');
  }
  return {
    text: texts.filter((text) => text !== '').join('\n\n'),
    files: plan.files.map((file) => toFile(file, bodies)),
    remarks: [...new Set(remarks)],
  };
}

function toFile(file: FilePart, bodies: ReadonlyMap<string, Buffer>): ReadFile {
  const { name, mimeType, size, part, encoding, isWanted } = file;
  if (!isWanted) return { name, mimeType, size };
  const bytes = bodies.get(part);
  if (bytes === undefined) throw transient('The server left a part of a mail out.');
  return { name, mimeType, size, bytes: decodeBytes(bytes, encoding) };
}

function addresses(list: readonly { name?: string | undefined; address?: string | undefined }[] | undefined): string[] {
  return (list ?? []).map(({ name, address }) => address || name || '').filter((one) => one !== '');
}

/** For a mail whose structure the server does not tell, or not in a form that can be read. */
async function readWhole(client: ImapFlow, box: Box, uid: number): Promise<ReadMail | undefined> {
  const [answer] = (
    await fetchAll(client, String(uid), { ...copyQuery, source: { start: 0, maxLength: maxSourceBytes } })
  ).filter((one) => one.uid === uid);
  if (!answer?.source) return undefined;
  const [copy] = await toCopies(client, box, [answer]);
  if (copy === undefined) return undefined;
  const options = { skipImageLinks: true, skipTextToHtml: true, maxHtmlLengthToParse: maxTextBytes };
  return fromParsed(copy, await simpleParser(answer.source, options));
}

function fromParsed(copy: Copy, mail: ParsedMail): ReadMail {
  const isCut = copy.bytes > maxSourceBytes;
  // The last attachment is cut off, so none of its kind can be trusted to be whole.
  const kept = isCut ? mail.attachments.slice(0, -1) : mail.attachments;
  return {
    copy,
    subject: mail.subject ?? '',
    from: parsedAddresses(mail.from),
    to: parsedAddresses(mail.to),
    text: mail.text ?? '',
    files: kept
      .filter((one) => !one.related)
      .map((one) => ({
        name: one.filename ?? 'attachment',
        mimeType: one.contentType,
        size: one.size,
        bytes: one.content,
      })),
    remarks: isCut ? [`It has ${copy.bytes} bytes; the first ${maxSourceBytes} were read.`] : [],
  };
}

export function parsedAddresses(value: AddressObject | AddressObject[] | undefined): string[] {
  return [value ?? []].flat().flatMap((one) => addresses(one.value));
}
