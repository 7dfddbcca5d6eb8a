import { MemorydError } from '../base/errors.ts';
import type { DocumentInput, FileBody, PartialDocumentChange, WrittenBody } from '../engine/document.ts';
import { typeOfFile } from '../engine/extract/detect.ts';
import type { FileUpload, UploadedFile } from './file-form.ts';
import type { ChangeBody } from './schemas/document-changes.ts';
import type { AddBody } from './schemas/documents.ts';
import { invalidField, momentOf } from './validation.ts';

const maxMetadataBytes = 32 * 1024;
const maxMetadataDepth = 8;
const maxMetadataValues = 1_000;

/** All that the body says; the container is added once the key is known to have access to it. */
export type UntaggedInput = Omit<DocumentInput, 'containerTag'>;

/**
 * Makes the engine's input of a validated request body. Throws `payload_too_large` for long text,
 * `validation_failed` for a date that does not exist, `invalid_request` for too much metadata.
 */
export function documentInputOf(body: AddBody, maxTextBytes: number): UntaggedInput {
  const content = contentOf(body.content, maxTextBytes);
  return {
    body: content,
    source: content.kind === 'url' ? 'url' : 'api',
    url: content.kind === 'url' ? content.url : undefined,
    ...optionalFields(body),
  };
}

/** The change that a body of section 12.5 of the API asks for, except containers. Throws as `documentInputOf` does. */
export function documentChangeOf(body: ChangeBody, maxTextBytes: number): PartialDocumentChange {
  const { content, metadata, containerTag: _tag, containerTags: _tags, ...rest } = body;
  requireSmall(metadata, 'metadata');
  const { title: _title, body: _body, ...fields } = optionalFields(rest);
  return {
    ...fields,
    metadata,
    body: content === undefined ? undefined : contentOf(content, maxTextBytes),
  };
}

/** The same for an uploaded file, whose form has the same fields and some of its own. */
export function fileInputOf({ fields, ...file }: FileUpload): UntaggedInput {
  return { ...fileContentOf(file, fields), source: 'file', ...optionalFields(fields) };
}

/** A file's content with its type, as its sender states it or as its bytes show it. */
export function fileContentOf(
  { bytes, name, mimeType }: UploadedFile,
  said: { mimeType?: string | undefined; fileType?: string | undefined },
): { body: FileBody; type?: string | undefined } {
  const sniffed = mimeType === '' || mimeType === 'application/octet-stream' ? undefined : mimeType;
  const declared = said.mimeType ?? sniffed;
  const type = said.fileType ?? typeOfFile(bytes, declared, name);
  return {
    body: { kind: 'file', bytes, name, keep: true, mimeType: declared },
    type,
  };
}

function optionalFields(body: Omit<AddBody, 'content' | 'containerTags'>): Partial<UntaggedInput> {
  requireSmall(body.metadata, 'metadata');
  requireSmall(body.filterByMetadata, 'filterByMetadata');
  const { customId, metadata, entityContext, taskType, dreaming, filepath, filterByMetadata, updateMode } = body;
  const title = metadata?.['title'];
  return {
    title: typeof title === 'string' && title !== '' ? title : undefined,
    documentDate: body.documentDate === undefined ? undefined : dateOf(body.documentDate),
    ...{ customId, metadata, entityContext, taskType, dreaming, filepath, filterByMetadata, updateMode },
  };
}

/** One http(s) URL and nothing else is an address to fetch, everything else is text. */
export function contentOf(content: string, maxTextBytes: number): WrittenBody {
  if (Buffer.byteLength(content) > maxTextBytes) {
    throw new MemorydError('payload_too_large', `content is larger than ${maxTextBytes} bytes`);
  }
  const url = content.trim();
  const isUrl = /^https?:\/\/\S+$/i.test(url) && URL.canParse(url);
  return isUrl ? { kind: 'url', url } : { kind: 'text', text: content };
}

export function dateOf(text: string, field = 'documentDate'): Date {
  const date = momentOf(text);
  if (date === null) throw invalidField([field], `${field} must be a date that exists`);
  return date;
}

export function requireSmall(metadata: object | undefined, name: string): void {
  if (metadata === undefined) return;
  const refused = (how: string) => new MemorydError('invalid_request', `${name} ${how}`);
  const { depth, values } = extentOf(metadata);
  if (depth > maxMetadataDepth) throw refused(`is nested deeper than ${maxMetadataDepth} levels`);
  if (values > maxMetadataValues) throw refused(`has more than ${maxMetadataValues} values`);
  if (Buffer.byteLength(JSON.stringify(metadata)) > maxMetadataBytes)
    throw refused(`is larger than ${maxMetadataBytes} bytes`);
}

/** How deep a value is nested, and how many values it has in it. */
function extentOf(value: unknown): { depth: number; values: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, values: 1 };
  let depth = 0;
  let values = 0;
  for (const entry of Object.values(value)) {
    const inner = extentOf(entry);
    depth = Math.max(depth, inner.depth);
    values += inner.values;
  }
  return { depth: depth + 1, values };
}
