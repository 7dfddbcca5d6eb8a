import { probe, type CheckResult } from 'memoryd/connector';
import { ask } from './client.ts';
import type { DriveContext } from './config.ts';
import { expectDrive, partitionsOf } from './drives.ts';
import { driveOf } from './place.ts';

/** Whether Google takes the credential, and one probe for each shared drive of which something is chosen. */
export async function checkDrive(ctx: DriveContext): Promise<CheckResult[]> {
  const credential = await probe('credential', 'Google Drive accepts the credential', async () => {
    const { user } = await ask(ctx, ({ about }) => about.get({ fields: 'user(emailAddress)' }));
    return user?.emailAddress ? `It is the Drive of ${user.emailAddress}.` : undefined;
  });
  if (credential.status !== 'ok') return [credential];
  const chosen = (await partitionsOf(ctx)).filter((partition) => driveOf(partition) !== undefined);
  const drives = chosen.map((partition, index) =>
    probe(`drive-${index + 1}`, `The shared drive ${partition.title} can be read`, () => expectDrive(ctx, partition)),
  );
  return [credential, ...(await Promise.all(drives))];
}
