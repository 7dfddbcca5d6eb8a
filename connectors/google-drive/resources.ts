import type { Resource, ResourcePage } from 'memoryd/connector';
import { ask } from './client.ts';
import type { DriveContext } from './config.ts';
import { folderType } from './file-ref.ts';
import { placeOf, resourceIdOf, sharedWithMe } from './place.ts';

const pageSize = 100;

/** My Drive, what is shared, the shared drives, and the folders in each. */
export async function resourcesOf(ctx: DriveContext, parent?: string, page?: string): Promise<ResourcePage> {
  if (parent === undefined) return places(ctx, page);
  if (parent === sharedWithMe) return folders(ctx, "sharedWithMe and mimeType = '" + folderType + "'", undefined, page);
  const { drive, folder } = placeOf(parent);
  const quoted = folder.replaceAll(/['\\]/g, '\\$&');
  return folders(ctx, `'${quoted}' in parents and mimeType = '${folderType}'`, drive, page);
}

async function places(ctx: DriveContext, page: string | undefined): Promise<ResourcePage> {
  const { drives = [], nextPageToken } = await ask(ctx, (drive) =>
    drive.drives.list({ pageSize, ...(page && { pageToken: page }), fields: 'nextPageToken,drives(id,name)' }),
  );
  const shared = drives.map(({ id, name }): Resource => ({
    id: resourceIdOf(id!, id!),
    name: name ?? id!,
    kind: 'drive',
    hasChildren: true,
  }));
  const resources = page === undefined ? [...(await ownPlaces(ctx)), ...shared] : shared;
  return { resources, ...(nextPageToken && { next: nextPageToken }) };
}

async function ownPlaces(ctx: DriveContext): Promise<Resource[]> {
  const { id } = await ask(ctx, ({ files }) => files.get({ fileId: 'root', fields: 'id' }));
  return [
    { id: id!, name: 'My Drive', kind: 'drive', hasChildren: true },
    { id: sharedWithMe, name: 'Shared with me', kind: 'folder', hasChildren: true },
  ];
}

async function folders(
  ctx: DriveContext,
  which: string,
  driveId: string | undefined,
  page: string | undefined,
): Promise<ResourcePage> {
  const { files = [], nextPageToken } = await ask(ctx, (drive) =>
    drive.files.list({
      q: `${which} and trashed = false`,
      pageSize,
      orderBy: 'name',
      supportsAllDrives: true,
      ...(page && { pageToken: page }),
      ...(driveId === undefined
        ? { corpora: 'user', includeItemsFromAllDrives: false }
        : { corpora: 'drive', driveId, includeItemsFromAllDrives: true }),
      fields: 'nextPageToken,files(id,name)',
    }),
  );
  const resources = files.map(({ id, name }): Resource => ({
    id: resourceIdOf(id!, driveId),
    name: name ?? id!,
    kind: 'folder',
    hasChildren: true,
  }));
  return { resources, ...(nextPageToken && { next: nextPageToken }) };
}
