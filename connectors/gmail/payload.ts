import type { gmail_v1 } from '@googleapis/gmail';
import type { MessageStructureObject } from 'imapflow';
import { simpleParser } from 'mailparser';
import { transient } from 'memoryd/connector';
import { secondsOf } from '../imap/copies.ts';
import type { ShownMail } from '../imap/map.ts';
import { planOf } from '../imap/parts.ts';
import { maxTextBytes, parsedAddresses, readBodies } from '../imap/read.ts';
import { ask } from './client.ts';
import type { GmailContext } from './config.ts';
import { isSent } from './labels.ts';

type Part = gmail_v1.Schema$MessagePart;

/** A mail as the API shows it (`format=full`), read by the rules of the mail connector. Asks for bodies that are apart. */
export async function toReadMail(ctx: GmailContext, mail: gmail_v1.Schema$Message): Promise<ShownMail> {
  const { id, payload } = mail;
  if (!id || !payload) throw transient('Gmail answered a mail without its content.');
  const parts = new Map<string, Part>();
  const plan = planOf(toStructure(payload, parts), ctx.config);
  const bodies = new Map<string, Buffer>();
  for (const { part } of plan.texts) {
    bodies.set(part, (await readBody(ctx, id, parts.get(part)!)).subarray(0, maxTextBytes));
  }
  for (const { part, isWanted } of plan.files) {
    if (isWanted) bodies.set(part, await readBody(ctx, id, parts.get(part)!));
  }
  return {
    ...(await readHead(mail, payload)),
    ...(await readBodies(plan, bodies)),
    ...(isSent(mail) && { own: true }),
  };
}

/** Part by part what BODYSTRUCTURE tells over IMAP. Gmail has undone the transfer encodings. */
function toStructure(part: Part, parts: Map<string, Part>): MessageStructureObject {
  const { mimeType, filename, body, parts: children } = part;
  const type = (mimeType || 'text/plain').toLowerCase();
  const name = String(parts.size + 1);
  parts.set(name, part);
  const [disposition = ''] = headerOf(part, 'content-disposition').split(';');
  const parameters = parametersOf(headerOf(part, 'content-type'));
  return {
    part: name,
    type,
    encoding: '8bit',
    size: body?.size ?? 0,
    parameters,
    ...(disposition.trim() === '' ? {} : { disposition: disposition.trim().toLowerCase() }),
    ...(filename ? { dispositionParameters: { filename } } : {}),
    ...(type.startsWith('multipart/') ? { childNodes: (children ?? []).map((one) => toStructure(one, parts)) } : {}),
  };
}

function headerOf({ headers }: Part, wanted: string): string {
  return headers?.find(({ name }) => name?.toLowerCase() === wanted)?.value ?? '';
}

/** RFC 2045 section 5.1, e.g. `; charset="utf-8"`. */
function parametersOf(contentType: string): Record<string, string> {
  const found = contentType.matchAll(/;\s*([\w*-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;\s]+)/g);
  return Object.fromEntries([...found].map(([, name, value]) => [name!.toLowerCase(), value!.replace(/^"|"$/g, '')]));
}

async function readBody(ctx: GmailContext, messageId: string, { body }: Part): Promise<Buffer> {
  if (typeof body?.data === 'string') return Buffer.from(body.data, 'base64url');
  const { attachmentId: id } = body ?? {};
  if (!id) return Buffer.alloc(0);
  const { data } = await ask(ctx, (users) => users.messages.attachments.get({ userId: 'me', messageId, id }));
  if (typeof data !== 'string') throw transient('Gmail answered an attachment without its content.');
  return Buffer.from(data, 'base64url');
}

const headNames = ['from', 'to', 'subject'];

async function readHead(
  { id, internalDate }: gmail_v1.Schema$Message,
  payload: Part,
): Promise<Pick<ShownMail, 'copy' | 'subject' | 'from' | 'to'>> {
  // Words of RFC 2047 and lists of addresses are read by the parser of mails.
  const lines = headNames.map((name) => `${name}: ${headerOf(payload, name).replace(/[\r\n]+/g, ' ')}\r\n`);
  const { subject, from, to } = await simpleParser(Buffer.from(`${lines.join('')}\r\n`));
  // A date that is none never ends a sync: then it counts when Gmail received the mail.
  const time = secondsOf(headerOf(payload, 'date') || undefined) ?? Math.floor(Number(internalDate ?? 0) / 1_000);
  // Ids order mails of the same second.
  return {
    copy: { key: id ?? '', time },
    subject: subject ?? '',
    from: parsedAddresses(from),
    to: parsedAddresses(to),
  };
}
