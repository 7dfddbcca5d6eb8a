import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { putEmptyDatabase, startDaemon, type Daemon } from '../../test/support/daemon.ts';
import { operationsOf, type Operation } from '../../test/support/generated-requests.ts';
import { createSender, type Sender } from './sender.ts';

/** Stands in what only keys for the container `known` may read. */
export const canary = 'canary-4711-of-known';

/** Every kind of key, by what it may do. */
export type KeyKind = 'none' | 'wrong' | 'expired' | 'reads known' | 'writes elsewhere' | 'full';

export interface Target {
  daemon: Daemon;
  sender: Sender;
  operations: Operation[];
  keys: Record<KeyKind, string | null>;
  /** Values of path parameters that lead somewhere. */
  known: Record<string, string[]>;
  stop(): Promise<void>;
}

/** A daemon of its own, with its default settings, and something in it. It can leave this machine by no way. */
export async function openTarget(): Promise<Target> {
  const dataDir = await mkdtemp(join(tmpdir(), 'memoryd-attack-'));
  await putEmptyDatabase(dataDir);
  const guard = pathToFileURL(join(import.meta.dirname, '../loopback-only.ts')).href;
  const daemon = await startDaemon({ dataDir, env: { NODE_OPTIONS: `--import ${guard}`, TMPDIR: tmpdir() } });
  const sender = createSender(daemon.url);
  const stop = async () => {
    sender.close();
    await daemon.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    return { daemon, sender, stop, ...(await fill(daemon, sender)) };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Something to attack, and keys of every kind. */
async function fill(daemon: Daemon, sender: Sender): Promise<Pick<Target, 'operations' | 'keys' | 'known'>> {
  const call = async (method: string, path: string, body?: object) => {
    const answered = await sender.send({ method, path, key: daemon.key, ...(body && { body: JSON.stringify(body) }) });
    if (answered.status >= 300) throw new Error(`${method} ${path}: ${answered.status} ${answered.text}`);
    return answered.text === '' ? null : JSON.parse(answered.text);
  };
  const { id } = await call('POST', '/v3/documents', {
    content: `My name is Mira and I live in Porto. ${canary}.`,
    containerTag: 'known',
    customId: 'mira',
  });
  const { memories } = await call('POST', '/v4/memories', {
    containerTag: 'known',
    memories: [{ content: `Mira sings ${canary}.` }],
  });
  const connection = await call('POST', '/v3/connections/push', { containerTag: 'known' });
  const upserts = [{ id: 'a', text: `Pushed ${canary}.`, title: 'a' }];
  await call('POST', `/v3/connections/${connection.id}/push`, { upserts });
  const runs = await call('GET', `/v3/connections/${connection.id}/sync-runs`);
  await untilDone(async () => (await call('GET', `/v3/documents/${id}`)).status);
  const document = await call('GET', '/openapi.json');
  return {
    operations: operationsOf(document),
    keys: await makeKeys(call, daemon.key),
    known: {
      id: [id, 'mira', 'none'],
      connection: [connection.id, 'push', 'none'],
      connectionId: [connection.id, 'none'],
      provider: ['push', 'github', 'none'],
      name: ['push', 'none'],
      runId: [runs[0]?.id ?? 'none', 'none'],
      itemId: ['none'],
      memoryId: [memories[0].id, 'none'],
      namespace: ['known', 'none'],
      containerTag: ['known', 'none'],
    },
  };
}

async function makeKeys(
  call: (method: string, path: string, body?: object) => Promise<any>,
  full: string,
): Promise<Target['keys']> {
  const made = async (body: object) => call('POST', '/v3/auth/scoped-key', body);
  const expired = await made({ containerTag: 'known', name: 'expired' });
  await call('POST', `/v3/auth/keys/${expired.id}/rotate`, { overlapHours: 0 });
  const reader = await made({ containerTag: 'known', permission: 'read', rateLimitMax: 10_000 });
  const elsewhere = await made({ containerTag: 'elsewhere', rateLimitMax: 10_000 });
  return {
    none: null,
    wrong: 'sm_wrong_0123456789abcdefghijklmnopqrstuvwxyz',
    expired: expired.key,
    'reads known': reader.key,
    'writes elsewhere': elsewhere.key,
    full,
  };
}

async function untilDone(statusOf: () => Promise<string>): Promise<void> {
  for (let round = 0; round < 600; round++) {
    if (['done', 'failed'].includes(await statusOf())) return;
    await sleep(100);
  }
  throw new Error('The first document was not processed within a minute');
}
