import { MIMEType } from 'node:util';
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { MemorydError } from '../base/errors.ts';
import { isStorable, storableText } from '../base/storable.ts';
import type { Api } from './request.ts';
import type { UploadSpool } from './upload-spool.ts';

/**
 * Replaces the parsers: JSON in any `application/*json` type; everything else is refused, but only
 * once it is known to have a body and to be within the limit. An empty body is no body.
 */
export function readBodies(app: Api): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/(?:[\w.-]+\+)?json(?:;|$)/i,
    { parseAs: 'string' },
    (request, body: string, done) => {
      if (body.trim() === '') return done(null, undefined);
      if (wantsHash(request)) request.bodyHash = createHash('sha256').update(body).digest('base64');
      try {
        checkBounds(body);
        done(null, storableJson(parseJson(body), body));
      } catch (error) {
        done(error as Error);
      }
    },
  );
  refuseOtherTypes(app, 'application/json');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (error) {
    throw new MemorydError('invalid_request', 'The body is not valid JSON', { cause: error });
  }
}

/** For the routes of `app` only: the body is a form, which is received on disk. */
export function readForms(app: Api, spool: UploadSpool): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('multipart/form-data', async (request: FastifyRequest, stream: IncomingMessage) => {
    request.upload = await spool.receive(stream, {
      maxBytes: request.routeOptions.bodyLimit,
      boundary: boundaryOf(request.headers['content-type'] ?? ''),
    });
    request.bodyHash = request.upload.hash;
    return {};
  });
  app.addHook('onResponse', async (request) => request.upload?.close());
  refuseOtherTypes(app, 'multipart/form-data');
}

/** What stands between the parts of a form; empty where its type does not say. */
export function boundaryOf(contentType: string): string {
  try {
    return new MIMEType(contentType).params.get('boundary') ?? '';
  } catch {
    // Whoever takes the form apart says that it cannot be read.
    return '';
  }
}

function refuseOtherTypes(app: Api, wanted: string): void {
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    if (body.length === 0) return done(null, undefined);
    done(new MemorydError('unsupported_media_type', `Send the body as ${wanted}`));
  });
}

/**
 * Refuses a body whose announced length is over the limit before it is read.
 */
export async function refuseLargeBodies(request: FastifyRequest): Promise<void> {
  if (Number(request.headers['content-length']) > request.routeOptions.bodyLimit) throw tooLarge(request);
}

export function tooLarge(request: FastifyRequest): MemorydError {
  const bodyLimit = request.hook?.maxBodyBytes ?? request.routeOptions.bodyLimit;
  return new MemorydError('payload_too_large', `The body is larger than ${bodyLimit} bytes`);
}

/** Section 1 rule 9 of the API: these keys were scopes once, and ignoring them would widen what a request does. */
export async function refuseOldScopes(request: FastifyRequest): Promise<void> {
  const removed = oldScopeIn(request.body);
  if (removed) throw new MemorydError('invalid_request', removed);
}

/** The complaint about an old scope field in an object; null when it has none. */
export function oldScopeIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  const key = ['userId', 'spaces'].find((name) => Object.hasOwn(value, name));
  return key === undefined ? null : `${key} is not supported; use containerTag (a single string)`;
}

function wantsHash(request: FastifyRequest): boolean {
  return Boolean(request.routeOptions.config.replay) || request.headers['idempotency-key'] !== undefined;
}

/** Section 9 rule 1 of the API: these fields may come as text of digits. */
export function readDigits(...names: string[]) {
  return async function convertDigits(request: FastifyRequest): Promise<void> {
    const body = request.body as Record<string, unknown> | null | undefined;
    if (typeof body !== 'object' || body === null) return;
    for (const name of names) {
      const value = body[name];
      if (typeof value === 'string' && /^\d{1,9}$/.test(value)) body[name] = Number(value);
    }
  };
}

/** Levels of objects and arrays. No field of the API comes near; what walks a body may then recurse. */
const maxDepth = 100;

/** Keys and entries of one body. The largest bodies that the API takes have a tenth. */
const maxValues = 250_000;

/** Limit for one object. No honest request sends more. */
const maxKeys = 1_000;

/** Characters that PostgreSQL cannot store, escaped or literal: U+0000, and halves of surrogate pairs in JSON. */
const unstorable = /\\u(?:0000|d[89a-f])|\0/i;

/**
 * Refuses JSON that is nested too deeply or has too many values, by one pass over its characters: parsing and
 * checking such a thing would take minutes. Throws `invalid_request`.
 */
export function checkBounds(text: string): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at);
        break;
      case openingBrace:
      case openingBracket:
        depth += 1;
        values += 1;
        if (depth > maxDepth) throw refused(`is nested deeper than ${maxDepth} levels`);
        break;
      case closingBrace:
      case closingBracket:
        depth -= 1;
        break;
      case comma:
        values += 1;
        if (values > maxValues) throw refused(`has more than ${maxValues} values`);
    }
  }
}

const [quote, openingBrace, closingBrace, openingBracket, closingBracket, comma, backslash] = [...'"{}[],\\'].map(
  (character) => character.charCodeAt(0),
) as [number, number, number, number, number, number, number];

/** Where a string ends that begins here; the end of the text when it does not. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === backslash) at += 1;
    else if (code === quote) return at;
  }
  return text.length;
}

/**
 * The value as the database can hold it: texts without U+0000 and halves of surrogate pairs. `text` is what it was
 * read from. Throws `invalid_request` for keys that would reach into objects, for too many keys, and for names with
 * such characters: without them they would be another thing's.
 */
export function storableJson(value: unknown, text: string): unknown {
  checkKeys(value);
  return unstorable.test(text) ? storable(value, '') : value;
}

/** A field whose values name things, by its own name: ids, tags, paths, keys of metadata. */
const namesThings = /(?:^i|I)ds?$|(?:^t|T)ags?$|(?:^p|P)aths?$|^(?:filepath|key|namespace|author)$/;

/** The same of a field's value. Throws `invalid_request` for what names something and cannot be stored as it is. */
export function storableField(name: string, text: string): string {
  if (namesThings.test(name)) requireStorable(name, text);
  return storableText(text);
}

/** Throws `invalid_request` for text that would have to be changed to be stored. */
export function requireStorable(name: string, text: string): void {
  if (isStorable(text)) return;
  throw new MemorydError('invalid_request', `${name} must not contain U+0000 or half of a surrogate pair`);
}

function checkKeys(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const entry of value) checkKeys(entry);
    return;
  }
  const keys = Object.keys(value);
  if (keys.length > maxKeys) throw refused(`has an object with more than ${maxKeys} keys`);
  for (const key of keys) {
    if (isForbidden(key)) throw refused(`has a key that is named ${key}`);
    checkKeys((value as Record<string, unknown>)[key]);
  }
}

/** Names that reach into every object of the process. */
export function isForbidden(key: string): boolean {
  return key === '__proto__' || key === 'constructor';
}

/** Fields whose keys are content, whatever they are called. */
const namesNothing = new Set(['metadata', 'filterByMetadata']);

/** Lists whose entries are checked one by one, so that a bad one fails alone: its schema refuses it. */
const checkedAlone = new Set(['documents', 'upserts', 'deletes']);

/** `name`: of the field that has the value, or has the list that it stands in. */
function storable(value: unknown, name: string): unknown {
  if (typeof value === 'string') return storableField(name, value);
  if (Array.isArray(value))
    return value.map((entry) => (checkedAlone.has(name) ? markedEntry(entry, name) : storable(entry, name)));
  if (typeof value !== 'object' || value === null) return value;
  return storableObject(value, (key, entry) => storable(entry, namesNothing.has(name) ? name : key));
}

/** Ids that cannot be stored as they are keep a U+0000, which the pattern of every id refuses. A text in `documents` is content. */
function markedEntry(entry: unknown, name: string): unknown {
  if (typeof entry === 'string') return name === 'documents' ? storableText(entry) : marked(entry);
  if (typeof entry !== 'object' || entry === null) return entry;
  return storableObject(entry, (key, value) =>
    /^(?:id|customId)$/.test(key) && typeof value === 'string' ? marked(value) : storable(value, key),
  );
}

function marked(text: string): string {
  return isStorable(text) ? text : `${storableText(text)}\0`;
}

function storableObject(value: object, change: (key: string, entry: unknown) => unknown): object {
  const entries = Object.entries(value).map(([key, entry]) => {
    requireStorable('The name of a field', key);
    return [key, change(key, entry)] as const;
  });
  return Object.fromEntries(entries);
}

function refused(how: string): MemorydError {
  return new MemorydError('invalid_request', `The body ${how}`);
}
