import { hash } from 'node:crypto';
import type { drive_v3 } from '@googleapis/drive';
import type { Partition, Ref } from 'memoryd/connector';
import type { DriveConfig } from './config.ts';
import { driveOf, sharedWithMe } from './place.ts';

export type DriveFile = drive_v3.Schema$File;

export const folderType = 'application/vnd.google-apps.folder';
export const shortcutType = 'application/vnd.google-apps.shortcut';
const googleTypes = 'application/vnd.google-apps.';

/** Fields of a file: only what a ref is made of. */
export const fileFields =
  'id,name,mimeType,parents,driveId,md5Checksum,headRevisionId,modifiedTime,version,size,trashed,webViewLink,resourceKey,' +
  'shortcutDetails(targetId,targetMimeType,targetResourceKey),capabilities(canDownload),owners(displayName)';

/** Whether the file is there, and in this partition. */
export const isHere = (file: DriveFile, partition: Partition): boolean =>
  file.trashed !== true && (file.driveId ?? undefined) === driveOf(partition);

export function toRef(file: DriveFile, config: DriveConfig): Ref {
  const { id, name, mimeType, modifiedTime, webViewLink } = file;
  const parent = file.parents?.[0] ?? (file.driveId ? file.driveId : sharedWithMe);
  const kind = mimeType === folderType ? 'container' : 'document';
  const owner = file.owners?.[0]?.displayName;
  return {
    id: id!,
    rev: revOf(file, parent, config),
    kind,
    parent,
    title: name ?? '',
    ...(mimeType && { mimeType }),
    ...(file.size && !mimeType?.startsWith(googleTypes) && { size: Number(file.size) }),
    ...(modifiedTime && { updatedAt: modifiedTime }),
    ...(webViewLink && { url: webViewLink }),
    metadata: { ...(mimeType && { mimeType }), ...(owner && { owner }) },
    ...(kind === 'document' && { locator: locatorOf(file) }),
  };
}

/**
 * Content, name and place. The modification time of a binary file is the one that its owner gave it, so its content
 * tells. Comments move only `version`, which also moves with what nobody sees.
 */
function revOf(file: DriveFile, parent: string, { comments }: DriveConfig): string {
  const content =
    file.mimeType === folderType
      ? ''
      : file.md5Checksum
        ? `${file.md5Checksum}|${file.headRevisionId}`
        : file.modifiedTime;
  const target = file.shortcutDetails?.targetId ?? '';
  const parts = [content, file.name, parent, target, file.capabilities?.canDownload, comments ? file.version : ''];
  return hash('sha256', JSON.stringify(parts), 'base64url');
}

function locatorOf({ md5Checksum, resourceKey, shortcutDetails, capabilities }: DriveFile) {
  return {
    ...(md5Checksum && { md5: md5Checksum }),
    ...(resourceKey && { resourceKey }),
    ...(capabilities?.canDownload === false && { blocked: true }),
    ...(shortcutDetails?.targetId && {
      target: shortcutDetails.targetId,
      ...(shortcutDetails.targetResourceKey && { targetKey: shortcutDetails.targetResourceKey }),
    }),
  };
}
