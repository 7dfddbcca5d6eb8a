import type { Readable } from 'node:stream';
import { MIMEType } from 'node:util';
import { Dicer } from '@fastify/busboy';
import { MemorydError } from '../base/errors.ts';
import {
  boundaryOf,
  oldScopeIn,
  checkBounds,
  isForbidden,
  requireStorable,
  storableField,
  storableJson,
} from './body.ts';
import { invalidField, validationFailed, createCheck, type FieldCheck } from './validation.ts';
import { fileFields, type FileFields } from './schemas/files.ts';

export interface UploadedFile {
  bytes: Uint8Array;
  name: string;
  /** The type as the sender states it; empty when it does not. */
  mimeType: string;
}

export interface FileUpload extends UploadedFile {
  fields: FileFields;
}

/** The parts of a form beside its file. */
export interface FormParts {
  check: FieldCheck;
  /** Parts that hold JSON. */
  json: readonly string[];
}

/** `containerTags` may also be one tag as it is. */
const parts: FormParts = { check: createCheck(fileFields), json: ['metadata', 'filterByMetadata'] };
/** Far more than there are fields. */
const maxParts = 100;

/**
 * Reads a whole form, because its parts come in any order. Throws `invalid_request` unless exactly
 * one part is the file, `payload_too_large`, and `validation_failed` for the other parts.
 */
export async function readFileForm(body: Readable, contentType: string, maxFileBytes: number): Promise<FileUpload> {
  const form = await readForm(body, contentType, { maxFileBytes, parts });
  const fields = form.fields as FileFields;
  const { fileType, mimeType } = fields;
  if ((fileType === 'image' || fileType === 'video') && mimeType === undefined) {
    throw new MemorydError('invalid_request', `mimeType is required when fileType is ${fileType}`);
  }
  return { ...requireFile(form.file), fields };
}

/** Throws `invalid_request` when a form has no file. */
export function requireFile(file: UploadedFile | null): UploadedFile {
  if (file) return file;
  throw new MemorydError('invalid_request', 'Send exactly one part named file, with a file name');
}

/** The same of a form that may be without a file. The fields are checked. */
export async function readForm(
  body: Readable,
  contentType: string,
  options: { maxFileBytes: number; parts: FormParts },
): Promise<{ file: UploadedFile | null; fields: object }> {
  const form = await readParts(body, contentType);
  const file = fileIn(form, options.maxFileBytes);
  return { file, fields: readFields(form, options.parts) };
}

function fileIn(form: readonly Part[], maxFileBytes: number): UploadedFile | null {
  const [part, second] = form.filter(({ name }) => name === 'file');
  if (part === undefined) return null;
  const { bytes, fileName, mimeType } = part;
  if (fileName === undefined || second !== undefined) return requireFile(null);
  if (bytes.length === 0) throw new MemorydError('invalid_request', 'The file is empty');
  if (bytes.length > maxFileBytes) {
    throw new MemorydError('payload_too_large', `The file is larger than ${maxFileBytes} bytes`);
  }
  requireStorable('The name of the file', fileName);
  return { bytes, name: fileName, mimeType };
}

interface Part {
  name: string;
  /** Only files have one. */
  fileName: string | undefined;
  /** With its parameters, of which `charset` says how a text is read. */
  mimeType: string;
  bytes: Buffer;
}

interface SentPart {
  /** By names in small letters; one character for each byte. */
  header: Record<string, string[]>;
  bytes: Buffer;
}

async function readParts(body: Readable, contentType: string): Promise<Part[]> {
  try {
    return (await takeApart(body, contentType)).map(partOf);
  } catch (error) {
    body.destroy();
    if (MemorydError.is(error)) throw error;
    throw new MemorydError('invalid_request', 'The form cannot be read', { cause: error });
  }
}

/** By `Dicer`: its caller `Busboy` forgets the parameters of a file's type. */
function takeApart(body: Readable, contentType: string): Promise<SentPart[]> {
  return new Promise((resolve, reject) => {
    const dicer = new Dicer({ boundary: boundaryOf(contentType) || undefined });
    const parts: Promise<SentPart>[] = [];
    dicer.on('part', (part) => {
      part.on('error', reject);
      if (parts.length < maxParts) parts.push(wholePart(part));
      else reject(new MemorydError('invalid_request', `The form has more than ${maxParts} parts`));
    });
    dicer.on('finish', () => resolve(Promise.all(parts)));
    dicer.on('error', reject);
    body.on('error', reject).pipe(dicer);
  });
}

/** Never fails: a form that breaks off ends its part, too. */
function wholePart(part: Dicer.PartStream): Promise<SentPart> {
  let header: SentPart['header'] = {};
  const chunks: Buffer[] = [];
  part.on('header', (read: SentPart['header']) => (header = read));
  part.on('data', (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => part.on('end', () => resolve({ header, bytes: Buffer.concat(chunks) })));
}

function partOf({ header, bytes }: SentPart): Part {
  const { essence, params } = new MIMEType(`multipart/${header['content-disposition']?.[0]}`);
  const name = params.get('name');
  if (essence !== 'multipart/form-data' || name === null) throw new TypeError('A part of the form has no name');
  const fileName = params.get('filename') ?? undefined;
  const extended = params.get('filename*')?.replace(/^utf-8'[^']*'/i, '');
  const mimeType = header['content-type']?.[0] ?? 'text/plain';
  const isBase64 = header['content-transfer-encoding']?.[0] === 'base64';
  return {
    name: readName(name),
    fileName: extended === undefined ? fileName && readName(fileName) : decodeURIComponent(extended),
    mimeType: /^[ -~]*$/.test(mimeType) ? mimeType.trim().toLowerCase() : '',
    bytes: isBase64 ? Buffer.from(bytes.toString('latin1'), 'base64') : bytes,
  };
}

/** Clients write quotation marks and line breaks as browsers do. */
function readName(text: string): string {
  return Buffer.from(text, 'latin1')
    .toString()
    .replaceAll(/%(?:22|0a|0d)/gi, decodeURIComponent);
}

function readFields(form: readonly Part[], { check, json }: FormParts): object {
  const fields: Record<string, unknown> = {};
  for (const { name, fileName, bytes } of form) {
    if (isForbidden(name)) throw new MemorydError('invalid_request', `The form has a part that is named ${name}`);
    if (name === 'file' || fileName !== undefined) continue;
    const value = bytes.toString();
    fields[name] = json.includes(name) ? parseJson(name, value) : storableField(name, value);
  }
  const oldScope = oldScopeIn(fields);
  if (oldScope) throw new MemorydError('invalid_request', oldScope);
  const issues = check(fields);
  if (issues.length > 0) throw validationFailed(issues);
  return fields;
}

function parseJson(name: string, text: string): unknown {
  checkBounds(text);
  try {
    return storableJson(JSON.parse(text), text);
  } catch (error) {
    if (MemorydError.is(error)) throw error;
    throw invalidField([name], `${name} must be the JSON text of an object`);
  }
}
