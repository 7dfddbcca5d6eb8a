import { cursorExpired, transient, type JsonObject, type Page, type Partition } from 'memoryd/connector';
import { ask, errorOf, tryAsk } from './client.ts';
import type { DriveConfig, DriveContext } from './config.ts';
import { driveMissing, expectDrive } from './drives.ts';
import { fileFields, folderType, isHere, toRef, type DriveFile } from './file-ref.ts';
import { driveOf } from './place.ts';

const pageSize = 1_000;
export const folderRecord = 'folder/';

/** One page of all files. Each second listing asks in another order: what is left out differs then. */
export async function listFiles(
  ctx: DriveContext,
  partition: Partition,
  from?: JsonObject,
  pass = 0,
): Promise<Page<JsonObject>> {
  if (from === undefined) await expectDrive(ctx, partition);
  const page = await readFiles(ctx, partition, {
    q: 'trashed = false',
    ...(pass % 2 === 1 && { orderBy: 'createdTime' }),
    ...(from && { pageToken: from['page'] as string }),
  });
  const shown = pageOf(page.files, partition, ctx.config);
  return {
    ...shown,
    // It is set when Google searched only a part of what was asked for.
    ...(page.incompleteSearch && { incomplete: 'Google Drive searched only a part of the files.' }),
    ...(page.nextPageToken ? { next: { page: page.nextPageToken } } : { done: true }),
  };
}

/** The files of one folder, one page. */
export async function listFolder(
  ctx: DriveContext,
  partition: Partition,
  { folder, page }: { folder: string; page: string | undefined },
): Promise<{ refs: Page['refs']; records: NonNullable<Page['records']>; folders: string[]; next: string | undefined }> {
  const q = `'${folder.replaceAll(/['\\]/g, '\\$&')}' in parents and trashed = false`;
  const answer = await readFiles(ctx, partition, { q, ...(page && { pageToken: page }) });
  const shown = pageOf(answer.files, partition, ctx.config);
  const folders = shown.refs.filter(({ kind }) => kind === 'container').map(({ id }) => id);
  return { ...shown, folders, next: answer.nextPageToken };
}

interface FilesPage {
  files: DriveFile[];
  nextPageToken: string | undefined;
  incompleteSearch: boolean;
}

interface Asked {
  q: string;
  orderBy?: string;
  pageToken?: string;
}

/** Never `allDrives`: such a search may leave out whole drives. */
async function readFiles(ctx: DriveContext, partition: Partition, asked: Asked): Promise<FilesPage> {
  const driveId = driveOf(partition);
  const answer = await tryAsk(ctx, ({ files }) =>
    files.list({
      ...asked,
      pageSize,
      spaces: 'drive',
      supportsAllDrives: true,
      ...(driveId === undefined
        ? { corpora: 'user', includeItemsFromAllDrives: false }
        : { corpora: 'drive', driveId, includeItemsFromAllDrives: true }),
      fields: `kind,nextPageToken,incompleteSearch,files(${fileFields})`,
    }),
  );
  if ('refusal' in answer) {
    const { status } = answer.refusal;
    // Page tokens of listings live for some hours.
    if (asked.pageToken && [400, 404, 410].includes(status))
      throw cursorExpired('The listing of Google Drive expired.');
    if (status === 404 && driveId !== undefined) throw driveMissing();
    throw errorOf(answer.refusal);
  }
  const { data } = answer;
  if (data?.kind !== 'drive#fileList' || !Array.isArray(data.files)) {
    throw transient('Google Drive answered something that is no list of files.');
  }
  return {
    files: data.files,
    nextPageToken: data.nextPageToken ?? undefined,
    incompleteSearch: data.incompleteSearch === true,
  };
}

/** Refs, and the folders among them, which are remembered: of one that is new, nothing else tells what is in it. */
export function pageOf(
  files: readonly DriveFile[],
  partition: Partition,
  config: DriveConfig,
): { refs: Page['refs']; records: NonNullable<Page['records']> } {
  const here = files.filter((file) => file.id && isHere(file, partition));
  const folders = here.filter(({ mimeType }) => mimeType === folderType);
  return {
    refs: here.map((file) => toRef(file, config)),
    records: Object.fromEntries(folders.map(({ id }) => [`${folderRecord}${id}`, true])),
  };
}

const askedAtOnce = 10;

/** The present state of some files, each with a request of its own. */
export async function lookUpFiles(ctx: DriveContext, partition: Partition, ids: string[]): Promise<Page<JsonObject>> {
  await expectDrive(ctx, partition);
  const found: DriveFile[] = [];
  const gone: string[] = [];
  const queue = [...ids];
  const worker = async () => {
    for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
      const file = await lookUp(ctx, id);
      if (file === 'unknown') continue;
      if (file !== 'gone' && isHere(file, partition)) found.push(file);
      else gone.push(id);
    }
  };
  await Promise.all(Array.from({ length: Math.min(askedAtOnce, ids.length) }, worker));
  return { ...pageOf(found, partition, ctx.config), gone, done: true };
}

/** A file that may not be read is not gone: Drive answers 404 for those of which the user sees nothing. */
async function lookUp(ctx: DriveContext, fileId: string): Promise<DriveFile | 'gone' | 'unknown'> {
  const answer = await tryAsk(ctx, ({ files }) => files.get({ fileId, supportsAllDrives: true, fields: fileFields }));
  if ('refusal' in answer) {
    if (answer.refusal.status === 404) return 'gone';
    if (answer.refusal.status === 403) return 'unknown';
    throw errorOf(answer.refusal);
  }
  if (answer.data?.id !== fileId) throw transient('Google Drive answered something that is not the file.');
  return answer.data;
}

/** The position "now". One of a shared drive is another one than that of the user. */
export async function headOfFiles(ctx: DriveContext, partition: Partition): Promise<JsonObject> {
  const driveId = driveOf(partition);
  const data = await ask(ctx, ({ changes }) =>
    changes.getStartPageToken({ supportsAllDrives: true, ...(driveId && { driveId }) }),
  ).catch(async (error: unknown) => {
    await expectDrive(ctx, partition);
    throw error;
  });
  if (!data?.startPageToken) throw transient('Google Drive answered no position.');
  return { token: data.startPageToken };
}
