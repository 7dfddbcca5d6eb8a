import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import {
  forbidden,
  transient,
  type HookResult,
  type HookSubscription,
  type Partition,
  type RawHook,
} from 'memoryd/connector';
import { ask, tryAsk, errorOf } from './client.ts';
import type { DriveContext } from './config.ts';
import { partitionsOf } from './drives.ts';
import { headOfFiles } from './listing.ts';
import { driveOf } from './place.ts';

/** Google lets a channel of changes live for a week at most. Clocks differ. */
const channelMs = 7 * 86_400_000 - 60_000;

/** One channel for each partition: https://developers.google.com/workspace/drive/api/guides/push */
export async function subscribe(ctx: DriveContext, url: string, secret: string): Promise<HookSubscription[]> {
  const channels: HookSubscription[] = [];
  for (const partition of await partitionsOf(ctx)) channels.push(await openChannel(ctx, partition, url, secret));
  return channels;
}

/** The new channel is open before the old one ends, so that nothing is missed between them. */
export async function renew(
  ctx: DriveContext,
  subscription: HookSubscription,
  url: string,
  secret: string,
): Promise<HookSubscription> {
  const partition = { id: subscription.state?.['partition'] as string };
  const channel = await openChannel(ctx, partition, url, secret);
  await cancel(ctx, subscription);
  return channel;
}

export async function cancel(ctx: DriveContext, { id, state }: HookSubscription): Promise<void> {
  const resourceId = state?.['resourceId'] as string;
  const answer = await tryAsk(ctx, ({ channels }) => channels.stop({ requestBody: { id, resourceId } }));
  // One that has ended by itself is not known any more.
  if ('refusal' in answer && answer.refusal.status !== 404) throw errorOf(answer.refusal);
}

async function openChannel(
  ctx: DriveContext,
  partition: Partition,
  address: string,
  secret: string,
): Promise<HookSubscription> {
  const { token } = await headOfFiles(ctx, partition);
  const id = randomUUID();
  const driveId = driveOf(partition);
  const expiration = String(ctx.now().getTime() + channelMs);
  const channel = await ask(ctx, ({ changes }) =>
    changes.watch({
      pageToken: token as string,
      includeRemoved: true,
      supportsAllDrives: true,
      includeItemsFromAllDrives: driveId !== undefined,
      ...(driveId && { driveId }),
      requestBody: { id, type: 'web_hook', address, token: tokenOf(partition.id, id, secret), expiration },
    }),
  );
  if (!channel?.resourceId) throw transient('Google Drive opened no channel.');
  return {
    id,
    expiresAt: new Date(Number(channel.expiration ?? expiration)).toISOString(),
    state: { partition: partition.id, resourceId: channel.resourceId },
  };
}

/** Comes back with each message: which partition it is about, and that Google has it from here. */
export function tokenOf(partition: string, channel: string, secret: string): string {
  const mac = createHmac('sha256', secret).update(`${partition}\n${channel}`).digest('base64url');
  return `${partition}.${mac}`;
}

/** A message has no content but its headers, and only says that something changed. */
export function receive({ headers, body }: RawHook, secret: string): HookResult {
  const channel = headers['x-goog-channel-id'] ?? '';
  const given = headers['x-goog-channel-token'] ?? '';
  const partition = given.slice(0, Math.max(0, given.lastIndexOf('.')));
  const right = Buffer.from(tokenOf(partition, channel, secret));
  const signature = Buffer.from(given);
  if (body.length > 0 || signature.length !== right.length || !timingSafeEqual(signature, right)) {
    throw forbidden('The token of the channel is wrong.');
  }
  const number = headers['x-goog-message-number'] ?? '';
  const isFirst = headers['x-goog-resource-state'] === 'sync';
  return { hints: isFirst ? [] : [{ partition }], deliveryId: `${channel}:${number}` };
}
