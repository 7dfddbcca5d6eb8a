import { MemorydError } from '../base/errors.ts';
import { oldScopeIn } from './body.ts';
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

/**
 * Reads a whole form, because its parts come in any order. Throws `invalid_request` unless exactly
 * one part is the file, `payload_too_large`, and `validation_failed` for the other parts.
 */
export async function readFileForm(body: Uint8Array, contentType: string, maxFileBytes: number): Promise<FileUpload> {
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
  return { bytes, name: file.name, mimeType: file.type, fields: readFields(form) };
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
    if (name === 'file' || typeof value !== 'string') continue;
    fields[name] = jsonParts.includes(name) ? parseJson(name, value) : value.replaceAll('\0', '').toWellFormed();
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
  try {
    return JSON.parse(text);
  } catch {
    throw invalidField([name], `${name} must be the JSON text of an object`);
  }
}
