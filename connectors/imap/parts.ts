import type { MessageStructureObject } from 'imapflow';
import { defaultMaxAttachmentBytes, type ImapConfig } from './config.ts';

export interface TextPart {
  part: string;
  type: 'text/plain' | 'text/html';
  encoding: string;
  charset: string;
  isFlowed: boolean;
  deletesSpace: boolean;
  /** Counts only when the part before it turns out to be empty. */
  isSpare: boolean;
}

export interface FilePart {
  part: string;
  name: string;
  mimeType: string;
  encoding: string;
  /** Bytes when decoded, about. */
  size: number;
  /** Whether it is worth a download. */
  isWanted: boolean;
}

/** The parts of a mail to download, chosen by its structure (RFC 3501, BODYSTRUCTURE). */
export interface Plan {
  texts: TextPart[];
  files: FilePart[];
}

/** A mail must not cost without bound. */
const maxParts = 100;
const maxDepth = 30;
const signatures = /^application\/(?:pgp-signature|(?:x-)?pkcs7-signature|pgp-encrypted)$/;
const readableType =
  /^(?:text\/|message\/|application\/(?:pdf|json|xml|epub\+zip|x-ipynb\+json|vnd\.openxmlformats-officedocument\.))/;
const readableName =
  /\.(?:txt|text|log|md|csv|tsv|json|xml|html?|pdf|docx|pptx|xlsx|epub|ipynb|eml|ya?ml|srt|vtt|ics)$/i;

/** Whether an attachment is read. */
export type FileLimits = Pick<ImapConfig, 'attachments' | 'maxAttachmentBytes'>;

export function planOf(structure: MessageStructureObject, config: FileLimits): Plan {
  const plan: Plan = { texts: [], files: [] };
  collect(structure, plan, config, { takesText: true, depth: 0 });
  return plan;
}

interface Where {
  /** False beside the part that was chosen of several alternatives. */
  takesText: boolean;
  depth: number;
}

function collect(node: MessageStructureObject, plan: Plan, config: FileLimits, where: Where): void {
  if (plan.texts.length + plan.files.length >= maxParts || where.depth > maxDepth) return;
  const inside = { ...where, depth: where.depth + 1 };
  if (node.type === 'multipart/alternative') {
    const chosen = where.takesText ? chooseAlternative(node.childNodes ?? []) : undefined;
    for (const child of node.childNodes ?? []) collect(child, plan, config, { ...inside, takesText: child === chosen });
    const spare = chosen && isShortText(chosen) ? node.childNodes?.find(({ type }) => type === 'text/html') : undefined;
    if (spare) plan.texts.push(toTextPart(spare, true));
  } else if (node.type.startsWith('multipart/')) {
    for (const child of node.childNodes ?? []) {
      // Pictures that the text shows.
      if (node.type === 'multipart/related' && child.type.startsWith('image/')) continue;
      collect(child, plan, config, inside);
    }
  } else if (isText(node)) {
    if (where.takesText) plan.texts.push(toTextPart(node));
  } else if (!signatures.test(node.type)) plan.files.push(toFilePart(node, config));
}

/** Some programs write an empty plain text beside the one that they show. */
const isShortText = ({ type, size = 0 }: MessageStructureObject): boolean => type === 'text/plain' && size < 100;

/** The plain text, if there is any: it needs no conversion. */
function chooseAlternative(nodes: readonly MessageStructureObject[]): MessageStructureObject | undefined {
  const plain = nodes.find((node) => node.type === 'text/plain' && (node.size ?? 0) > 0);
  return plain ?? nodes.find((node) => holdsText(node, 0));
}

function holdsText(node: MessageStructureObject, depth: number): boolean {
  if (isText(node)) return true;
  return (
    depth < maxDepth &&
    node.type.startsWith('multipart/') &&
    (node.childNodes ?? []).some((child) => holdsText(child, depth + 1))
  );
}

function isText(node: MessageStructureObject): boolean {
  if (node.type !== 'text/plain' && node.type !== 'text/html') return false;
  return node.disposition !== 'attachment' && nameOf(node) === undefined;
}

function nameOf({ parameters, dispositionParameters }: MessageStructureObject): string | undefined {
  return dispositionParameters?.['filename'] || parameters?.['name'] || undefined;
}

/** The root of a mail without parts is its part 1 (RFC 3501 section 6.4.5). */
const partOf = (node: MessageStructureObject): string => node.part ?? '1';

function toTextPart(node: MessageStructureObject, isSpare = false): TextPart {
  const { parameters = {} } = node;
  return {
    part: partOf(node),
    type: node.type as TextPart['type'],
    encoding: node.encoding ?? '7bit',
    charset: parameters['charset'] ?? '',
    isFlowed: parameters['format']?.toLowerCase() === 'flowed',
    deletesSpace: parameters['delsp']?.toLowerCase() === 'yes',
    isSpare,
  };
}

function toFilePart(node: MessageStructureObject, config: FileLimits): FilePart {
  const subject = node.envelope?.subject;
  const name = nameOf(node) ?? (node.type === 'message/rfc822' ? `${subject || 'mail'}.eml` : 'attachment');
  const encoding = node.encoding ?? '7bit';
  const size = encoding === 'base64' ? Math.floor(((node.size ?? 0) * 57) / 78) : (node.size ?? 0);
  const limit = config.maxAttachmentBytes ?? defaultMaxAttachmentBytes;
  const isReadable = readableType.test(node.type) || readableName.test(name);
  const isWanted = config.attachments !== false && size <= limit && isReadable;
  return { part: partOf(node), name: name.toWellFormed(), mimeType: node.type, encoding, size, isWanted };
}
