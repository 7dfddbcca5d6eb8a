import { MemorydError } from '../base/errors.ts';
import { oldScopeIn } from './body.ts';
import { checkBounds, isForbidden, requireStorable, storableField, storableJson } from './json-text.ts';
import { invalidField, validationFailed, createCheck, type Check } from './validation.ts';
import { fileFields, type FileFields } from './schemas/files.ts';

export interface UploadedFile {
  bytes: Uint8Array;
  name: string;
  /** What the sender says it is; empty when it does not. */
  mimeType: string;
}

export interface FileUpload extends UploadedFile {
  fields: FileFields;
}

/** What a form may have beside its file. */
export interface FormParts {
  check: Check;
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
export async function readFileForm(body: Uint8Array, contentType: string, maxFileBytes: number): Promise<FileUpload> {
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
  body: Uint8Array,
  contentType: string,
  options: { maxFileBytes: number; parts: FormParts },
): Promise<{ file: UploadedFile | null; fields: object }> {
  checkParts(body, contentType);
  const form = await parseForm(body, contentType);
  const file = await fileIn(form, options.maxFileBytes);
  return { file, fields: readFields(form, options.parts) };
}

async function fileIn(form: FormData, maxFileBytes: number): Promise<UploadedFile | null> {
  const [file, second] = form.getAll('file');
  if (file === undefined) return null;
  if (!(file instanceof File) || second !== undefined) return requireFile(null);
  if (file.size === 0) throw new MemorydError('invalid_request', 'The file is empty');
  if (file.size > maxFileBytes) {
    throw new MemorydError('payload_too_large', `The file is larger than ${maxFileBytes} bytes`);
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  requireStorable('The name of the file', file.name);
  return { bytes, name: file.name, mimeType: file.type };
}

/** Refuses forms of very many parts, which take minutes to read. */
function checkParts(body: Uint8Array, contentType: string): void {
  const boundary = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  const delimiter = `--${boundary?.[1] ?? boundary?.[2] ?? ''}`;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  let parts = 0;
  for (let at = bytes.indexOf(delimiter); at >= 0; at = bytes.indexOf(delimiter, at + delimiter.length)) {
    parts += 1;
    if (parts > maxParts) throw new MemorydError('invalid_request', `The form has more than ${maxParts} parts`);
  }
}

async function parseForm(body: Uint8Array, contentType: string): Promise<FormData> {
  try {
    // Deprecated for servers because it holds the whole body in memory; only a few are there at once.
    // oxlint-disable-next-line typescript/no-deprecated
    return await new Response(body as Uint8Array<ArrayBuffer>, { headers: { 'content-type': contentType } }).formData();
  } catch (error) {
    throw new MemorydError('invalid_request', 'The form cannot be read', { cause: error });
  }
}

function readFields(form: FormData, { check, json }: FormParts): object {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of form) {
    if (isForbidden(name)) throw new MemorydError('invalid_request', `The form has a part that is named ${name}`);
    if (name === 'file' || typeof value !== 'string') continue;
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
