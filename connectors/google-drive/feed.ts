import type { drive_v3 } from '@googleapis/drive';
import { cursorExpired, transient, type JsonObject, type Page, type Partition } from 'memoryd/connector';
import { errorOf, tryAsk } from './client.ts';
import type { DriveContext } from './config.ts';
import { driveMissing, expectDrive } from './drives.ts';
import { fileFields, isHere, type DriveFile } from './file-ref.ts';
import { folderRecord, listFolder, pageOf } from './listing.ts';
import { driveOf } from './place.ts';

/** Where reading stands: in the log, or in folders that came in and whose files it may not name. */
interface Position extends JsonObject {
  token: string;
}

/** Folders that are read one after the other; more are left to a listing. */
const mostFolders = 500;
const pageSize = 1_000;

/** One page of the log of changes, or of a folder that came in. */
export async function changesOfFiles(
  ctx: DriveContext,
  partition: Partition,
  from: JsonObject,
): Promise<Page<JsonObject>> {
  const folders = (from['folders'] ?? []) as string[];
  return folders.length > 0
    ? readFolder(ctx, partition, from, folders)
    : readLog(ctx, partition, from['token'] as string);
}

async function readLog(ctx: DriveContext, partition: Partition, token: string): Promise<Page<JsonObject>> {
  const data = await readChanges(ctx, partition, token);
  const latest = new Map<string, drive_v3.Schema$Change>();
  for (const change of data.changes ?? []) {
    if (change.changeType === 'drive') await noteDrive(ctx, partition, change);
    else if (change.fileId) latest.set(change.fileId, change);
  }
  const present: DriveFile[] = [];
  const gone: string[] = [];
  for (const [id, { removed, file }] of latest) {
    if (removed !== true && file?.id === id && isHere(file, partition)) present.push(file);
    else gone.push(id);
  }
  const page = pageOf(present, partition, ctx.config);
  const folders = await newFolders(ctx, partition, page.records);
  const forgotten = Object.fromEntries(gone.map((id) => [`${folderRecord}${id}`, null]));
  const position = { token: (data.nextPageToken ?? data.newStartPageToken)!, more: Boolean(data.nextPageToken) };
  return { ...page, gone, records: { ...page.records, ...forgotten }, ...goOn(position, folders) };
}

/** A shared drive that was removed is told in its own log, and in that of the user. */
async function noteDrive(ctx: DriveContext, partition: Partition, change: drive_v3.Schema$Change): Promise<void> {
  if (change.driveId && change.driveId === driveOf(partition)) await expectDrive(ctx, partition);
}

interface LogPosition {
  token: string;
  /** Whether the log goes on there. */
  more: boolean;
}

function goOn({ token, more }: LogPosition, folders: readonly string[]): Pick<Page<Position>, 'next' | 'done'> {
  if (folders.length > mostFolders) throw cursorExpired('Too many folders came in at once to be read one by one.');
  if (folders.length > 0) return { next: { token, more, folders: [...folders] } };
  return { next: { token }, done: !more };
}

/** Folders that were not there before: taken out of the trash, shared, or moved in with everything in them. */
async function newFolders(
  ctx: DriveContext,
  partition: Partition,
  shown: NonNullable<Page['records']>,
): Promise<string[]> {
  const names = Object.keys(shown);
  if (names.length === 0) return [];
  const known = await ctx.records(partition, folderRecord);
  return names.filter((name) => known[name] === undefined).map((name) => name.slice(folderRecord.length));
}

async function readFolder(
  ctx: DriveContext,
  partition: Partition,
  from: JsonObject,
  [folder, ...rest]: string[],
): Promise<Page<JsonObject>> {
  const position = { token: from['token'] as string, more: from['more'] === true };
  const at = from['page'];
  const page = typeof at === 'string' ? at : undefined;
  const { refs, records, folders, next } = await listFolder(ctx, partition, { folder: folder!, page });
  const queue = [...new Set([...rest, ...folders])];
  if (next === undefined) return { refs, records, ...goOn(position, queue) };
  if (queue.length >= mostFolders) throw cursorExpired('Too many folders came in at once to be read one by one.');
  return { refs, records, next: { ...position, folders: [folder!, ...queue], page: next } };
}

async function readChanges(
  ctx: DriveContext,
  partition: Partition,
  pageToken: string,
): Promise<drive_v3.Schema$ChangeList> {
  const driveId = driveOf(partition);
  const answer = await tryAsk(ctx, ({ changes }) =>
    changes.list({
      pageToken,
      pageSize,
      spaces: 'drive',
      includeRemoved: true,
      supportsAllDrives: true,
      includeItemsFromAllDrives: driveId !== undefined,
      ...(driveId && { driveId }),
      fields: `kind,nextPageToken,newStartPageToken,changes(changeType,removed,fileId,driveId,file(${fileFields}))`,
    }),
  );
  if ('refusal' in answer) return refused(ctx, partition, answer.refusal);
  const { data } = answer;
  if (data?.kind === 'drive#changeList' && (data.nextPageToken || data.newStartPageToken)) return data;
  throw transient('Google Drive answered something that is no list of changes.');
}

async function refused(
  ctx: DriveContext,
  partition: Partition,
  refusal: { status: number; reason: string },
): Promise<never> {
  if ([403, 404].includes(refusal.status)) {
    await expectDrive(ctx, partition);
    if (refusal.reason === 'teamDriveMembershipRequired') throw driveMissing();
  }
  if ([400, 404, 410].includes(refusal.status))
    throw cursorExpired('Google Drive does not know this position any more.');
  throw errorOf(refusal);
}
