import { hash } from 'node:crypto';
import { firstOf, present } from '../base/collections.ts';
import { MemorydError } from '../base/errors.ts';
import { isStorable, storableText } from '../base/storable.ts';
import type { Access, MetadataValue, Ref, Fetched, FetchedDocument, SkipReason } from '../connector/contract.ts';
import type { DocumentBody } from '../engine/document.ts';
import { mayReadLater } from '../engine/ocr.ts';
import { refusalOf } from '../engine/read-document.ts';
import type { Extractor } from '../engine/text/text-work.ts';
import type { WrittenTurn } from '../store/document-contents.ts';
import { connectorFault } from './failure.ts';

/** A ref as the ledger takes it: its id fits into an index. */
export interface ListedRef extends Ref {
  /** The id at the source, when it is too long to be the key of a row. */
  sourceId?: string;
  /** Its content came with the listing and is kept. */
  inline?: true;
}

/** A key of the ledger is at most this long, so that it fits into an index with the rest of the key. */
const maxKeyBytes = 1_000;
const maxRevLength = 1_000;
const maxFingerprintBytes = 500;
const maxIdLength = 100_000;
const maxTextLength = 10_000;
const maxLocatorBytes = 4 * 1024;
const maxMetadataBytes = 32 * 1024;

/** Further than this no list of people is compared or stored. */
const maxAccessBytes = 256 * 1024;

/** The key of an item in the ledger: its id, or for very long ones a part of it with a hash of the whole. */
export function itemKey(id: string): string {
  return Buffer.byteLength(id) <= maxKeyBytes ? id : shortened(id, 200);
}

/** Revisions are only compared, so long ones may be shortened. */
function revKey(rev: string): string {
  return rev.length <= maxRevLength ? storableText(rev) : shortened(rev, 200);
}

function shortened(text: string, length: number): string {
  return `${storableText(text, length)}#${hash('sha256', text, 'hex').slice(0, 40)}`;
}

/**
 * A usable ref; a text says what is wrong with one that is not. Only what the contract names is
 * taken over. Optional fields of a wrong kind are left out, since the item can be mirrored without.
 */
export function checkRef(value: unknown): ListedRef | string {
  if (!isObject(value)) return 'one is no object';
  const { id, rev, locator } = value;
  if (typeof id !== 'string' || id === '') return 'one has no id';
  const shown = JSON.stringify(storableText(id, 80));
  if (!isStorable(id)) return `the id ${shown} holds characters that cannot be stored`;
  if (id.length > maxIdLength) return `the id ${shown} has ${id.length} characters`;
  if (typeof rev !== 'string' || rev === '') return `${shown} has no rev`;
  const problem = locator === undefined ? undefined : locatorProblem(locator);
  if (problem !== undefined) return `the locator of ${shown} ${problem}`;
  const key = itemKey(id);
  return { ...optionalFields(value), id: key, rev: revKey(rev), ...(key === id ? {} : { sourceId: id }) };
}

function locatorProblem(locator: unknown): string | undefined {
  if (!isObject(locator) || !isPlainJson(locator)) return 'is no JSON object';
  const bytes = Buffer.byteLength(JSON.stringify(locator));
  return bytes > maxLocatorBytes ? `has ${bytes} bytes; at most ${maxLocatorBytes} are kept` : undefined;
}

const textFields = ['title', 'mimeType', 'url', 'path'] as const;

function optionalFields(value: Record<string, unknown>): Partial<ListedRef> {
  const fields: Partial<ListedRef> = {};
  for (const name of textFields) {
    const text = value[name];
    if (typeof text === 'string') fields[name] = storableText(text, maxTextLength);
  }
  if (typeof value['parent'] === 'string') fields.parent = itemKey(value['parent']);
  const { kind, size, updatedAt, fingerprint, locator, document } = value;
  if (kind === 'container') fields.kind = kind;
  if (typeof size === 'number' && Number.isFinite(size) && size >= 0) fields.size = size;
  if (typeof updatedAt === 'string' && timeOf(updatedAt)) fields.updatedAt = updatedAt;
  if (typeof fingerprint === 'string' && fingerprint !== '') fields.fingerprint = fingerprintKey(fingerprint);
  if (locator !== undefined) fields.locator = locator as NonNullable<Ref['locator']>;
  const metadata = value['metadata'] === undefined ? undefined : checkMetadata(value['metadata']);
  if (metadata) fields.metadata = metadata;
  const access = value['access'] === undefined ? undefined : checkAccess(value['access']);
  if (access) fields.access = access;
  if (isObject(document)) fields.document = document;
  return fields;
}

function fingerprintKey(fingerprint: string): string {
  const fits = Buffer.byteLength(fingerprint) <= maxFingerprintBytes && isStorable(fingerprint);
  return fits ? fingerprint : shortened(fingerprint, 100);
}

/** Metadata as documents hold it: texts, finite numbers, booleans and lists of texts; undefined when it is none or too large. */
function checkMetadata(value: unknown): Record<string, MetadataValue> | undefined {
  if (!isObject(value)) return undefined;
  const metadata: Record<string, MetadataValue> = {};
  for (const [name, one] of Object.entries(value)) {
    if (!isStorable(name)) continue;
    if (typeof one === 'string') metadata[name] = storableText(one);
    else if (typeof one === 'boolean' || (typeof one === 'number' && Number.isFinite(one))) metadata[name] = one;
    else if (Array.isArray(one) && one.every((text) => typeof text === 'string')) {
      metadata[name] = one.map((text) => storableText(text));
    }
  }
  return Buffer.byteLength(JSON.stringify(metadata)) <= maxMetadataBytes ? metadata : undefined;
}

function checkAccess(value: unknown): Access | undefined {
  if (!isObject(value) || !isPlainJson(value)) return undefined;
  if (Buffer.byteLength(JSON.stringify(value)) > maxAccessBytes) return undefined;
  const names = (list: unknown) => (Array.isArray(list) ? list.filter((name) => typeof name === 'string') : undefined);
  const [users, groups] = [names(value['users']), names(value['groups'])];
  return present({ users, groups, public: typeof value['public'] === 'boolean' ? value['public'] : undefined });
}

const maxLength = 255;

/**
 * The customId of an item's document: `provider:id`, so that reconnecting the same source finds the
 * same documents. Ids that are too long or hold control characters end in a hash of the whole id.
 */
export function customIdOf(provider: string, extId: string): string {
  const plain = `${provider}:${extId}`;
  if (plain.length <= maxLength && !/[\u0000-\u001f\u007f]/.test(plain)) return plain;
  const digest = hash('sha256', extId, 'hex').slice(0, 32);
  const readable = plain.replace(/[\u0000-\u001f\u007f]/g, '_').slice(0, maxLength - digest.length - 1);
  return `${readable.toWellFormed()}#${digest}`;
}

/** Questions about values that come from connectors. */

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const maxDepth = 50;

/** Whether a value comes back as it was from JSON and the database. Properties that are undefined do not count. */
export function isPlainJson(value: unknown, depth = 0): boolean {
  if (depth > maxDepth) return false;
  switch (typeof value) {
    case 'string':
      return isStorable(value);
    case 'number':
      return Number.isFinite(value);
    case 'boolean':
      return true;
    case 'object':
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (Array.isArray(value)) return value.every((one) => isPlainJson(one, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.entries(value).every(
    ([name, one]) => isStorable(name) && (one === undefined || isPlainJson(one, depth + 1)),
  );
}

/** The time that a text of ISO 8601 names; undefined for any other value. */
export function timeOf(value: unknown): Date | undefined {
  if (typeof value !== 'string') return undefined;
  const time = new Date(value);
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999 ? time : undefined;
}

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
    const detail = typeof answer['detail'] === 'string' ? { detail: storableText(answer['detail'], 500) } : {};
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
    if (typeof text === 'string') return { [name]: storableText(text) };
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
    ...present({
      mimeType: typeof mimeType === 'string' ? storableText(mimeType) : undefined,
      name: typeof name === 'string' ? storableText(name, 1_000) : undefined,
    }),
  };
}

function fieldsOf(answer: Record<string, unknown>): Partial<FetchedDocument> {
  const fields: Partial<FetchedDocument> = {};
  for (const name of ['title', 'url', 'path', 'type', 'author'] as const) {
    const text = answer[name];
    if (typeof text === 'string') fields[name] = storableText(text, 10_000);
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
