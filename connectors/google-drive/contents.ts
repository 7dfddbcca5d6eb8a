import { hash } from 'node:crypto';
import { transient, type Fetched, type FetchedDocument, type Partition, type Ref } from 'memoryd/connector';
import { errorOf, tryAsk } from './client.ts';
import { commentsOf } from './comments.ts';
import type { DriveContext } from './config.ts';
import { bytesOf, exportDocument, isExported } from './exports.ts';
import { fileFields, folderType, isHere, shortcutType, type DriveFile } from './file-ref.ts';

const googleTypes = 'application/vnd.google-apps.';

/** The file to download: the file itself, or a shortcut's target. */
interface Content {
  id: string;
  mimeType: string;
  name: string;
  resourceKey: string | undefined;
  /** The revision that the listing showed. */
  md5: string | undefined;
}

/** The content of one file. */
export async function fetchFile(ctx: DriveContext, partition: Partition, ref: Ref): Promise<Fetched> {
  const { mimeType = '', title = '', locator = {} } = ref;
  if (locator['blocked'] === true) {
    return { skip: 'no_access', detail: 'Its owner does not allow it to be downloaded.' };
  }
  if (mimeType === shortcutType) return fetchTarget(ctx, partition, locator);
  const resourceKey = textOf(locator['resourceKey']);
  const md5 = textOf(locator['md5']);
  const content = await read(ctx, { id: ref.id, mimeType, name: title, resourceKey, md5 });
  if (!isDocument(content) || ctx.config.comments !== true) return content;
  const comments = await commentsOf(ctx, ref.id);
  return comments === undefined ? content : { title, parts: [content, comments] };
}

const isDocument = (fetched: Fetched): fetched is FetchedDocument => !('gone' in fetched || 'skip' in fetched);
const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);

async function read(ctx: DriveContext, { id, mimeType, name, resourceKey, md5 }: Content): Promise<Fetched> {
  if (isExported(mimeType)) {
    const exported = await exportDocument(ctx, { id, mimeType });
    return 'gone' in exported ? exported : { title: name, ...exported };
  }
  if (mimeType.startsWith(googleTypes)) {
    return {
      skip: 'unsupported_type',
      detail: `Google exports no text of ${mimeType.slice(googleTypes.length)} files.`,
    };
  }
  const answer = await tryAsk(ctx, ({ files }) =>
    files.get(
      { fileId: id, alt: 'media', supportsAllDrives: true },
      { responseType: 'arraybuffer', ...(resourceKey && { headers: keyHeader(id, resourceKey) }) },
    ),
  );
  if ('refusal' in answer) return refused(answer.refusal);
  const bytes = bytesOf(answer.data);
  if (md5 !== undefined && hash('md5', bytes, 'hex') !== md5) {
    throw transient('What Google Drive answered is not the content that it listed; it may have changed meanwhile.');
  }
  if (bytes.length === 0) return { skip: 'empty', detail: 'The file is empty.' };
  return { title: name, file: { bytes, name, ...(mimeType && { mimeType }) } };
}

/** https://developers.google.com/workspace/drive/api/guides/resource-keys */
const keyHeader = (id: string, key: string) => ({ 'X-Goog-Drive-Resource-Keys': `${id}/${key}` });

function refused(refusal: { status: number; reason: string }): Fetched {
  if (refusal.status === 404) return { gone: true };
  if (refusal.reason === 'cannotDownloadFile') {
    return { skip: 'no_access', detail: 'Its owner does not allow it to be downloaded.' };
  }
  if (refusal.reason === 'cannotDownloadAbusiveFile') {
    return { skip: 'no_access', detail: 'Google found malware or abuse in it.' };
  }
  throw errorOf(refusal);
}

/**
 * A shortcut's target is read in its place only where the target is not mirrored itself. Folders are not
 * entered through shortcuts, and one shortcut does not lead to another, so that nothing goes round in a circle.
 */
async function fetchTarget(
  ctx: DriveContext,
  partition: Partition,
  locator: Ref['locator'] & object,
): Promise<Fetched> {
  const target = textOf(locator['target']);
  if (target === undefined) return { skip: 'other', detail: 'The shortcut leads nowhere.' };
  const key = textOf(locator['targetKey']);
  const answer = await tryAsk(ctx, ({ files }) =>
    files.get(
      { fileId: target, supportsAllDrives: true, fields: `${fileFields},ownedByMe,sharedWithMeTime` },
      key ? { headers: keyHeader(target, key) } : {},
    ),
  );
  if ('refusal' in answer) {
    const { refusal } = answer;
    if (refusal.status !== 404 && refusal.status !== 403) throw errorOf(refusal);
    return { skip: 'no_access', detail: 'The file that the shortcut leads to is gone, or may not be read.' };
  }
  const file = answer.data;
  if (file.mimeType === folderType || file.mimeType === shortcutType || file.trashed) {
    return { skip: 'other', detail: 'The shortcut leads to a folder, to the trash, or to another shortcut.' };
  }
  if (isListed(file, partition)) return { skip: 'other', detail: 'It leads to a file that is mirrored itself.' };
  const md5 = file.md5Checksum ?? undefined;
  return read(ctx, { id: target, mimeType: file.mimeType ?? '', name: file.name ?? '', resourceKey: key, md5 });
}

/** Listings of the user show what the user owns or was invited to; what only has a link is in none. */
function isListed(file: DriveFile, partition: Partition): boolean {
  const isKnown = Boolean(file.driveId) || file.ownedByMe === true || Boolean(file.sharedWithMeTime);
  return isHere(file, partition) && isKnown;
}
