import { MemorydError } from '../base/errors.ts';
import { oldScopeIn } from './body.ts';
import { checkBounds, isForbidden, requireStorable, storableField, storableJson } from './json-text.ts';
import { invalidField, validationFailed, createCheck } from './validation.ts';
import { fileFields, type FileFields } from './schemas/files.ts';

export interface FileUpload {
  bytes: Uint8Array;
  name: string;
  /** What the sender says it is; empty when it does not. */
  mimeType: string;
  fields: FileFields;
}

const checkFields = createCheck(fileFields);
/** Parts that hold JSON. `containerTags` may also be one tag as it is. */
const jsonParts = ['metadata', 'filterByMetadata'];
/** Far more than there are fields. */
const maxParts = 100;

/**
 * Reads a whole form, because its parts come in any order. Throws `invalid_request` unless exactly
 * one part is the file, `payload_too_large`, and `validation_failed` for the other parts.
 */
export async function readFileForm(body: Uint8Array, contentType: string, maxFileBytes: number): Promise<FileUpload> {
  checkParts(body, contentType);
  const form = await parseForm(body, contentType);
  const [file, second] = form.getAll('file');
  if (!(file instanceof File) || second !== undefined) {
    throw new MemorydError('invalid_request', 'Send exactly one part named file, with a file name');
  }
  if (file.size === 0) throw new MemorydError('invalid_request', 'The file is empty');
  if (file.size > maxFileBytes) {
    throw new MemorydError('payload_too_large', `The file is larger than ${maxFileBytes} bytes`);
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  requireStorable('The name of the file', file.name);
  return { bytes, name: file.name, mimeType: file.type, fields: readFields(form) };
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

function readFields(form: FormData): FileFields {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of form) {
    if (isForbidden(name)) throw new MemorydError('invalid_request', `The form has a part that is named ${name}`);
    if (name === 'file' || typeof value !== 'string') continue;
    fields[name] = jsonParts.includes(name) ? parseJson(name, value) : storableField(name, value);
  }
  const oldScope = oldScopeIn(fields);
  if (oldScope) throw new MemorydError('invalid_request', oldScope);
  const issues = checkFields(fields);
  if (issues.length > 0) throw validationFailed(issues);
  const read = fields as FileFields;
  if ((read.fileType === 'image' || read.fileType === 'video') && read.mimeType === undefined) {
    throw new MemorydError('invalid_request', `mimeType is required when fileType is ${read.fileType}`);
  }
  return read;
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
