import { present } from '../../base/collections.ts';
import { createRequire } from 'node:module';
import type * as library from '@kenjiuno/msgreader';
import { decoderOfCodePage } from './charset.ts';
import { failed, type Extracted, type ReadMember, type Source } from './extracted.ts';
import { mailText, type MailContent } from './email.ts';
import { htmlText } from './html.ts';
import { isoDate } from './plain.ts';

// A CommonJS module with a default export, which Node and bundlers import in two ways.
const { default: MsgReader } = createRequire(import.meta.url)('@kenjiuno/msgreader') as typeof library.default;
type FieldsData = library.FieldsData;

const utf8 = 65_001;

/** A message that Outlook saved as a file (MS-OXMSG), read as a mail is. Throws `extract_failed`. */
export async function outlookText(
  source: Source & { bytes: Uint8Array },
  readMember: ReadMember,
): Promise<Omit<Extracted, 'type'>> {
  const { buffer, byteOffset, byteLength } = source.bytes;
  const reader = new MsgReader(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);
  const fields = reader.getFileData();
  if (fields.error !== undefined) throw failed('The Outlook message is damaged.');
  const date = isoDate(fields.messageDeliveryTime ?? fields.clientSubmitTime ?? '');
  const mail: MailContent = {
    subject: fields.subject?.trim() || null,
    from: addressOf(fields.senderName, fields.senderSmtpAddress ?? fields.senderEmail),
    to: recipients(fields, 'to'),
    cc: recipients(fields, 'cc'),
    ...present({ date }),
    body: await bodyOf(fields),
    attachments: (fields.attachments ?? []).flatMap((attachment) => contentOf(reader, attachment)),
  };
  return mailText(mail, source, readMember);
}

async function bodyOf({ body, bodyHtml, html, internetCodepage }: FieldsData): Promise<string> {
  if (body?.trim()) return body.trim();
  const page = bodyHtml ?? (html && decoderOfCodePage(internetCodepage ?? utf8).decode(html));
  return page ? (await htmlText(page, {})).text : '';
}

function recipients({ recipients: all = [] }: FieldsData, kind: 'to' | 'cc'): string {
  return all
    .filter(({ recipType }) => recipType === kind)
    .map(({ name, email, smtpAddress }) => addressOf(name, smtpAddress ?? email))
    .filter(Boolean)
    .join(', ');
}

/** Within one organisation Outlook keeps a directory path for an address, which tells nobody anything. */
function addressOf(name = '', address = ''): string {
  const shown = name.replaceAll('"', '').trim();
  if (!address.includes('@') || address === shown) return shown;
  return shown === '' ? address : `${shown} <${address}>`;
}

function contentOf(reader: InstanceType<typeof MsgReader>, attachment: FieldsData): MailContent['attachments'] {
  // A picture in the body, or a message in the message, which the library gives as fields alone.
  if (attachment.attachmentHidden || attachment.innerMsgContent) return [];
  const { content } = reader.getAttachment(attachment);
  const filename = attachment.fileName ?? attachment.fileNameShort;
  return [{ label: filename ?? 'file', ...present({ filename }), content }];
}
