import { skip, transient, type FetchedDocument } from 'memoryd/connector';
import { errorOf, tryAsk } from './client.ts';
import type { DriveContext } from './config.ts';

/** Bytes that are read of one file. */
export const maxBytes = 25 * 1024 * 1024;

interface Format {
  mimeType: string;
  read(bytes: Uint8Array): FetchedDocument;
}

/** Plain text begins with a mark of its byte order, which the decoder takes away. */
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes).replaceAll('\r\n', '\n');
const plain: Format = { mimeType: 'text/plain', read: (bytes) => ({ text: textOf(bytes) }) };

/** Read as a part: of two exports of one document the bytes differ, and the texts do not. */
const office = (kind: 'presentationml.presentation' | 'spreadsheetml.sheet'): Format => {
  const mimeType = `application/vnd.openxmlformats-officedocument.${kind}`;
  return { mimeType, read: (bytes) => ({ parts: [{ file: { bytes, mimeType } }] }) };
};

/**
 * The best format first; others are smaller. A CSV would have the first sheet alone, and slides as text have no notes.
 * https://developers.google.com/workspace/drive/api/guides/ref-export-formats
 */
const formats: Readonly<Record<string, readonly Format[]>> = {
  'application/vnd.google-apps.document': [
    { mimeType: 'text/markdown', read: (bytes) => ({ markdown: textOf(bytes) }) },
    plain,
  ],
  'application/vnd.google-apps.spreadsheet': [office('spreadsheetml.sheet')],
  'application/vnd.google-apps.presentation': [office('presentationml.presentation'), plain],
};

/** The `type` of the document that is made of one. */
const documentTypes: Readonly<Record<string, string>> = {
  'application/vnd.google-apps.document': 'google_doc',
  'application/vnd.google-apps.spreadsheet': 'google_sheet',
  'application/vnd.google-apps.presentation': 'google_slide',
};

export const isExported = (mimeType: string): boolean => Object.hasOwn(formats, mimeType);

/**
 * A document that Google keeps in a format of its own. `files.export` gives at most 10 MB; the address that a file
 * names for each format has no such limit. Throws `skip` with `too_large` when no format is small enough.
 */
export async function exportDocument(
  ctx: DriveContext,
  { id, mimeType }: { id: string; mimeType: string },
): Promise<FetchedDocument | { gone: true }> {
  const type = documentTypes[mimeType]!;
  let links: Record<string, string> | undefined;
  for (const format of formats[mimeType]!) {
    const answer = await tryAsk(ctx, ({ files }) =>
      files.export({ fileId: id, mimeType: format.mimeType }, { responseType: 'arraybuffer' }),
    );
    if (!('refusal' in answer)) return { type, ...format.read(exportedBytes(answer)) };
    const { refusal } = answer;
    if (refusal.status === 404) return { gone: true };
    if (refusal.reason !== 'exportSizeLimitExceeded') throw errorOf(refusal);
    links ??= await exportLinks(ctx, id);
    const bytes = await download(ctx, links[format.mimeType]);
    if (bytes) return { type, ...format.read(bytes) };
  }
  throw skip('too_large', `Each of its formats has more than ${maxBytes} bytes.`);
}

export function bytesOf(data: unknown): Uint8Array {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (data instanceof Uint8Array) return data;
  throw transient('Google Drive answered something that is no content.');
}

/** A page for people, or an error, comes with a type of its own. */
function exportedBytes({ data, contentType }: { data: unknown; contentType: string }): Uint8Array {
  if (contentType === '' || /^(text\/html|application\/json)\b/.test(contentType)) {
    throw transient('Google Drive answered something that is no export.');
  }
  return bytesOf(data);
}

async function exportLinks(ctx: DriveContext, fileId: string): Promise<Record<string, string>> {
  const answer = await tryAsk(ctx, ({ files }) =>
    files.get({ fileId, supportsAllDrives: true, fields: 'exportLinks' }),
  );
  if ('refusal' in answer) throw errorOf(answer.refusal);
  return answer.data.exportLinks ?? {};
}

/** Undefined when there is no such address, or more behind it than is read. */
async function download(ctx: DriveContext, url: string | undefined): Promise<Uint8Array | undefined> {
  if (url === undefined) return undefined;
  try {
    const { bytes, headers } = await ctx.http.get(url, { maxBytes, timeoutMs: 120_000 });
    return exportedBytes({ data: bytes, contentType: headers['content-type'] ?? '' });
  } catch (error) {
    if ((error as { skip?: string }).skip === 'too_large') return undefined;
    throw error;
  }
}
