import { firstOf } from '../base/collections.ts';
import type { DocumentBody } from '../engine/document.ts';
import { mayReadLater } from '../engine/ocr.ts';
import type { Extractor } from '../engine/text/text-work.ts';
import { refusalOf } from '../engine/read-document.ts';
import type { WrittenTurn } from '../store/document-contents.ts';
import { MemorydError } from '../base/errors.ts';
import type { Fetched, FetchedDocument, SkipReason } from '../connector/contract.ts';
import { connectorFault } from './failure.ts';
import { checkMetadata, itemKey, revKey, isObject, isStorable, storable, timeOf } from './check-ref.ts';

const maxPartDepth = 5;
const mostIds = 1_000;

const skipReasons: readonly string[] = [
  'too_large',
  'unsupported_type',
  'binary',
  'encrypted',
  'empty',
  'filtered',
  'no_access',
  'other',
] satisfies SkipReason[];

/** Checks an answer of `fetch` and puts it into a form that can be stored. Throws `connector_invalid`. */
export function checkFetched(answer: unknown): Fetched {
  if (!isObject(answer)) throw connectorFault(`fetch answered ${answer === null ? 'null' : typeof answer}.`);
  if (answer['gone'] === true) return { gone: true };
  if (typeof answer['skip'] === 'string') {
    const reason = skipReasons.includes(answer['skip']) ? (answer['skip'] as SkipReason) : 'other';
    const detail = typeof answer['detail'] === 'string' ? { detail: storable(answer['detail']).slice(0, 500) } : {};
    return { skip: reason, ...detail };
  }
  return checkDocument(answer, 0);
}

function checkDocument(answer: Record<string, unknown>, depth: number): FetchedDocument {
  const document = { ...contentOf(answer, depth), ...fieldsOf(answer) };
  const { text, markdown, html, file, parts } = document;
  if ([text, markdown, html, file, parts].some((one) => one !== undefined)) return document;
  throw connectorFault('fetch answered a document without text, markdown, html, file or parts.');
}

function contentOf(answer: Record<string, unknown>, depth: number): FetchedDocument {
  for (const name of ['text', 'markdown', 'html'] as const) {
    const text = answer[name];
    if (typeof text === 'string') return { [name]: storable(text) };
  }
  if (isObject(answer['file'])) return { file: checkFile(answer['file']) };
  const { parts } = answer;
  if (!Array.isArray(parts)) return {};
  if (depth >= maxPartDepth) throw connectorFault(`fetch answered parts of parts, more than ${maxPartDepth} deep.`);
  return { parts: parts.filter(isObject).map((part) => checkDocument(part, depth + 1)) };
}

function checkFile(file: Record<string, unknown>): NonNullable<FetchedDocument['file']> {
  const { bytes, mimeType, name } = file;
  if (!(bytes instanceof Uint8Array)) throw connectorFault('fetch answered a file whose bytes are no Uint8Array.');
  return {
    // Without the methods of a Buffer, one of which makes JSON of it.
    bytes: new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    ...(typeof mimeType === 'string' ? { mimeType: storable(mimeType) } : {}),
    ...(typeof name === 'string' ? { name: storable(name).slice(0, 1_000) } : {}),
  };
}

function fieldsOf(answer: Record<string, unknown>): Partial<FetchedDocument> {
  const fields: Partial<FetchedDocument> = {};
  for (const name of ['title', 'url', 'path', 'type', 'author'] as const) {
    const text = answer[name];
    if (typeof text === 'string') fields[name] = storable(text.slice(0, 10_000));
  }
  for (const name of ['createdAt', 'updatedAt'] as const) {
    const time = answer[name];
    if (typeof time === 'string' && timeOf(time)) fields[name] = time;
  }
  if (answer['own'] === true) fields.own = true;
  const leadsTo = idsIn(answer['leadsTo']);
  if (leadsTo.length > 0) fields.leadsTo = leadsTo;
  const { rev } = answer;
  if (typeof rev === 'string' && rev !== '') fields.rev = revKey(rev);
  const metadata = answer['metadata'] === undefined ? undefined : checkMetadata(answer['metadata']);
  if (metadata) fields.metadata = metadata;
  return fields;
}

/** Keeps only ids that the ledger takes unchanged. */
function idsIn(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  const ids = value.filter((id): id is string => typeof id === 'string' && id !== '' && isStorable(id));
  return [...new Set(ids)].filter((id) => itemKey(id) === id).slice(0, mostIds);
}

/** Content in the form that the engine takes. */
export interface TakenContent {
  body: DocumentBody;
  /** Its pieces by the people who wrote them; absent when no part says who wrote it. */
  turns?: WrittenTurn[];
}

/** The content in the form that the engine takes, or why there is nothing to take. */
export async function contentBody(
  document: FetchedDocument,
  extractor: Extractor,
  signal: AbortSignal,
): Promise<TakenContent | { refusal: string }> {
  if (document.parts) {
    const joined = await joinParts(document.parts, extractor, signal);
    if ('refusal' in joined) return joined;
    const { text, turns } = joined;
    return { body: { kind: 'markdown', text }, ...(turns.length > 0 && { turns }) };
  }
  const body = bodyOf(document);
  const refusal = refusalOf(body, extractor.readsPictures);
  return refusal === null ? { body } : { refusal };
}

function bodyOf(document: FetchedDocument): DocumentBody {
  if (document.file) return { kind: 'file', ...document.file };
  if (document.markdown !== undefined) return { kind: 'markdown', text: document.markdown };
  if (document.html !== undefined) return { kind: 'html', text: document.html };
  return { kind: 'text', text: document.text ?? '' };
}

interface Joined {
  text: string;
  turns: WrittenTurn[];
}

/** Parts become one Markdown text, each under its title. A part that cannot be read is named with the reason. */
async function joinParts(
  parts: readonly FetchedDocument[],
  extractor: Extractor,
  signal: AbortSignal,
): Promise<Joined | { refusal: string }> {
  const whole: Joined = { text: '', turns: [] };
  const refusals: string[] = [];
  for (const part of parts) {
    const read = await readPart(part, extractor, signal);
    if ('refusal' in read) refusals.push(read.refusal);
    addPart(whole, part, 'text' in read ? read : { text: `*${read.refusal}*`, turns: [] });
  }
  if (refusals.length > 0 && refusals.length === parts.length) return { refusal: firstOf(refusals) };
  return whole;
}

function addPart(whole: Joined, part: FetchedDocument, { text, turns }: Joined): void {
  if (whole.text !== '') whole.text += '\n\n';
  const titledText = titled(part, text);
  const start = whole.text.length + titledText.length - text.length;
  whole.text += titledText;
  for (const turn of turns) whole.turns.push({ ...turn, start: start + turn.start, end: start + turn.end });
}

async function readPart(
  part: FetchedDocument,
  extractor: Extractor,
  signal: AbortSignal,
): Promise<Joined | { refusal: string }> {
  if (part.parts) return joinParts(part.parts, extractor, signal);
  const body = bodyOf(part);
  if (body.kind === 'markdown' || body.kind === 'text') return written(part, body.text);
  if (body.kind === 'url') return { refusal: 'Addresses are not followed.' };
  try {
    return written(part, (await extractor.extract(body, { signal })).text);
  } catch (error) {
    // What cannot be read now cannot be read later either; the rest of the document is worth having.
    if (!MemorydError.is(error) || error.code === 'unavailable' || mayReadLater(error)) throw error;
    return { refusal: error.message };
  }
}

function written({ author, own, createdAt, updatedAt }: FetchedDocument, text: string): Joined {
  if (author === undefined && own !== true) return { text, turns: [] };
  const date = createdAt ?? updatedAt ?? null;
  return { text, turns: [{ start: 0, end: text.length, author: author ?? null, own: own === true, date }] };
}

function titled(part: FetchedDocument, text: string): string {
  const title = part.title ?? part.file?.name;
  return title === undefined ? text : `## ${title}\n\n${text}`;
}

// ---- Content that comes with a listing

/** Larger content is not kept; it is fetched when its item's turn comes. */
const maxInlineLength = 1024 * 1024;

/** A document as text that `readInline` reads; null when it is too large or none. */
export function writeInline(answer: FetchedDocument): string | null {
  try {
    const text = JSON.stringify(checkFetched(answer), (_, value: unknown) =>
      value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value,
    );
    return text.length <= maxInlineLength ? text : null;
  } catch (error) {
    if (MemorydError.is(error)) return null;
    throw error;
  }
}

export function readInline(text: string): FetchedDocument {
  return JSON.parse(text, (name, value: unknown) =>
    name === 'bytes' && isObject(value) ? Uint8Array.from(Buffer.from(String(value['base64']), 'base64')) : value,
  ) as FetchedDocument;
}
