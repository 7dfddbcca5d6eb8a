import type { Partition } from 'memoryd/connector';

/** The partition of the user's own log: My Drive and what is shared with the user. */
export const ownPartition = 'user';
/** Stands for the folder of files that others shared, which have no parent. */
export const sharedWithMe = 'shared-with-me';

/** The shared drive of a partition; undefined: the user's own files. */
export const driveOf = ({ id }: Partition): string | undefined => (id === ownPartition ? undefined : id);

/** A chosen folder of a shared drive is named `drive/folder`, all of the drive `drive/drive`; one of the user's by its id. */
export const resourceIdOf = (folder: string, drive?: string): string =>
  drive === undefined ? folder : `${drive}/${folder}`;

export function placeOf(resource: string): { drive: string | undefined; folder: string } {
  const [first = '', second] = resource.split('/');
  return second === undefined ? { drive: undefined, folder: first } : { drive: first, folder: second };
}
