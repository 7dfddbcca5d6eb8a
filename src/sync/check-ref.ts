import { hash } from 'node:crypto';
import type { Access, MetadataValue, Ref } from '../connector/contract.ts';

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
export function revKey(rev: string): string {
  return rev.length <= maxRevLength ? storable(rev) : shortened(rev, 200);
}

function shortened(text: string, length: number): string {
  return `${storable(text.slice(0, length))}#${hash('sha256', text, 'hex').slice(0, 40)}`;
}

/**
 * A usable ref; a text says what is wrong with one that is not. Only what the contract names is
 * taken over. Optional fields of a wrong kind are left out, since the item can be mirrored without.
 */
export function checkRef(value: unknown): ListedRef | string {
  if (!isObject(value)) return 'one is no object';
  const { id, rev, locator } = value;
  if (typeof id !== 'string' || id === '') return 'one has no id';
  const shown = JSON.stringify(storable(id.slice(0, 80)));
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
    if (typeof text === 'string') fields[name] = storable(text.slice(0, maxTextLength));
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
export function checkMetadata(value: unknown): Record<string, MetadataValue> | undefined {
  if (!isObject(value)) return undefined;
  const metadata: Record<string, MetadataValue> = {};
  for (const [name, one] of Object.entries(value)) {
    if (!isStorable(name)) continue;
    if (typeof one === 'string') metadata[name] = storable(one);
    else if (typeof one === 'boolean' || (typeof one === 'number' && Number.isFinite(one))) metadata[name] = one;
    else if (Array.isArray(one) && one.every((text) => typeof text === 'string')) {
      metadata[name] = one.map((text) => storable(text));
    }
  }
  return Buffer.byteLength(JSON.stringify(metadata)) <= maxMetadataBytes ? metadata : undefined;
}

function checkAccess(value: unknown): Access | undefined {
  if (!isObject(value) || !isPlainJson(value)) return undefined;
  if (Buffer.byteLength(JSON.stringify(value)) > maxAccessBytes) return undefined;
  const names = (list: unknown) => (Array.isArray(list) ? list.filter((name) => typeof name === 'string') : undefined);
  const [users, groups] = [names(value['users']), names(value['groups'])];
  return {
    ...(users ? { users } : {}),
    ...(groups ? { groups } : {}),
    ...(typeof value['public'] === 'boolean' ? { public: value['public'] } : {}),
  };
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

/** Whether the database can store a text as it is: without U+0000 and without half surrogate pairs. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000');
}

/** The text with what cannot be stored taken out. */
export function storable(text: string): string {
  return isStorable(text) ? text : text.replaceAll('\u0000', '').toWellFormed();
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
