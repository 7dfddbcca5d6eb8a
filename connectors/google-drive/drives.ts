import { sourceMissing, type Partition } from 'memoryd/connector';
import { errorOf, tryAsk } from './client.ts';
import type { DriveContext } from './config.ts';
import { driveOf, ownPartition, placeOf } from './place.ts';

/** The user's own log, and one for each shared drive of which something is chosen. Asks for nothing. */
export async function partitionsOf(ctx: DriveContext): Promise<Partition[]> {
  const own: Partition = { id: ownPartition, title: 'My Drive', resource: ownPartition };
  if (ctx.selection.length === 0) return [own];
  const partitions = new Map<string, Partition>();
  for (const { id, name } of ctx.selection) {
    const { drive, folder } = placeOf(id);
    if (drive === undefined) partitions.set(ownPartition, own);
    // The name of a whole drive is better than that of a folder in it.
    else if (!partitions.has(drive) || drive === folder)
      partitions.set(drive, { id: drive, title: name, resource: drive });
  }
  return [...partitions.values()];
}

/** Chosen folders; none: everything. */
export async function rootsOf(ctx: DriveContext): Promise<string[]> {
  return ctx.selection.map(({ id }) => placeOf(id).folder);
}

/**
 * A shared drive that was removed, or that the user may no longer see, is no deletion of its files; its own feed may
 * go on and say nothing. Throws `source_missing`.
 */
export async function expectDrive(ctx: DriveContext, partition: Partition): Promise<void> {
  const driveId = driveOf(partition);
  if (driveId === undefined) return;
  const answer = await tryAsk(ctx, ({ drives }) => drives.get({ driveId, fields: 'id,name' }));
  if (!('refusal' in answer)) return;
  const { refusal } = answer;
  if (refusal.status !== 404 && refusal.status !== 403) throw errorOf(refusal);
  throw driveMissing();
}

export const driveMissing = () =>
  sourceMissing(
    'Google Drive does not show this shared drive any more: it was deleted, or the account is no member of it now.',
    'Give the account access again, or take the shared drive out of the selection.',
  );
