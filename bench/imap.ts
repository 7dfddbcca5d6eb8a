import { join } from 'node:path';
import { ImapFlow } from 'imapflow';
import imap from '../connectors/imap/index.ts';
import { account, dovecotBinary, startDovecot, type Dovecot } from '../fixtures/servers/imap/dovecot.ts';
import { fillMaildir } from '../fixtures/servers/imap/fill-maildir.ts';
import { startTap } from '../fixtures/servers/imap/tap.ts';
import { systemClock } from '../src/base/clock.ts';
import type { Connector, Context } from '../src/connector/contract.ts';
import { openBenchDatabase, type Engine } from './databases.ts';
import type { Figure } from './report.ts';
import { createSynced } from './synced.ts';

const mailsPerRequest = 500;
const rounds = 7;

/**
 * A first sync of many mails of a real Dovecot, against a loop over the same client library that asks
 * for the same parts in as few requests and keeps nothing. Also how many commands a sync sends.
 */
export async function benchImap(engine: Engine, mails: number): Promise<Figure[]> {
  if (dovecotBinary === undefined) throw new Error('There is no Dovecot on this machine.');
  const server = await startDovecot(dovecotBinary);
  try {
    await fillMaildir(join(server.mailFolder, account.user), mails, 2_000);
    // The server's own index is made by the first reader.
    await readBare(server, mails);
    const times = { bare: [] as number[], connector: [] as number[], sync: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      times.bare.push(await timed(() => readBare(server, mails)));
      times.connector.push(await timed(() => readByConnector(server.port, mails)));
      times.sync.push(await timedSync(engine, server.port));
    }
    return [...speedFigures(engine, mails, times), ...(await countFigures(engine, server, mails))];
  } finally {
    await server.close();
  }
}

/** The ratio of each round, since the machine is not equally fast in all of them. */
function speedFigures(engine: Engine, mails: number, times: Record<'bare' | 'connector' | 'sync', number[]>): Figure[] {
  const rate = (all: readonly number[]) => `${Math.round((mails * 1_000) / median(all))} mails per second`;
  const ratio = (all: readonly number[]) => median(all.map((ms, round) => times.bare[round]! / ms));
  const common = { limit: `bare loop ${rate(times.bare)}`, better: 'larger' } as const;
  const { connector, sync } = times;
  const stored = { limit: null, ratio: null, better: 'larger', target: null } as const;
  return [
    {
      name: `imap: ${mails} mails read by the connector`,
      value: rate(connector),
      ratio: ratio(connector),
      target: 0.6,
      ...common,
    },
    // The loop stores nothing, so that it is no limit of this.
    { name: `imap: ${mails} mails read and stored, ${engine}`, value: rate(sync), ...stored },
  ];
}

/** What the parts cost without anything else: headers and structures, then bodies, each for 500 mails at once. */
async function readBare(server: Dovecot, mails: number): Promise<void> {
  const auth = { user: account.user, pass: account.password };
  const client = new ImapFlow({ host: '127.0.0.1', port: server.port, secure: false, auth, logger: false });
  await client.connect();
  await client.mailboxOpen('INBOX', { readOnly: true });
  let read = 0;
  for (let first = 1; first <= mails; first += mailsPerRequest) {
    const range = `${first}:${first + mailsPerRequest - 1}`;
    const query = { uid: true, envelope: true, internalDate: true, size: true, bodyStructure: true };
    const structures = await client.fetchAll(range, { ...query, headers: ['references'] }, { uid: true });
    for await (const mail of client.fetch(range, { uid: true, bodyParts: ['1'] }, { uid: true })) {
      if (mail.bodyParts?.get('1')) read += 1;
    }
    if (structures.length === 0) throw new Error('The server showed no structures.');
  }
  await client.logout();
  if (read !== mails) throw new Error(`The bare loop read ${read} of ${mails} mails.`);
}

/** The connector with an account, in place of the configuration and the vault of a connection. */
function connectorTo(port: number): Connector<any, any> {
  const config = { host: '127.0.0.1', port, secure: false, startTls: false, user: account.user };
  const given = (ctx: Context<any>): Context<any> => ({
    ...ctx,
    config,
    secret: async () => account.password,
    addresses: async () => [{ address: '127.0.0.1', family: 4 }],
  });
  return {
    ...imap,
    partitions: (ctx) => imap.partitions(given(ctx)),
    head: (ctx, partition) => imap.head!(given(ctx), partition),
    list: (ctx, partition, from) => imap.list(given(ctx), partition, from),
    changes: (ctx, partition, from) => imap.changes!(given(ctx), partition, from),
    fetch: (ctx, partition, ref) => imap.fetch(given(ctx), partition, ref),
    fetchMany: (ctx, partition, refs) => imap.fetchMany!(given(ctx), partition, refs),
  };
}

async function readByConnector(port: number, mails: number): Promise<void> {
  const held = new Map<string, Promise<unknown>>();
  const disposals: (() => Promise<void>)[] = [];
  const ctx = {
    signal: new AbortController().signal,
    selection: [],
    now: () => systemClock.now(),
    records: async () => ({}),
    async session<Value>(key: string, make: () => Promise<Value>, dispose?: (value: Value) => Promise<void>) {
      if (!held.has(key)) {
        const made = make();
        held.set(key, made);
        if (dispose) disposals.push(async () => dispose(await made));
      }
      return held.get(key) as Promise<Value>;
    },
  } as unknown as Context<any>;
  const connector = connectorTo(port);
  const partition = { id: 'mail' };
  let [read, from]: [number, unknown] = [0, undefined];
  do {
    const page = await connector.list(ctx, partition, from);
    for (let start = 0; start < page.refs.length; start += 100) {
      const refs = page.refs.slice(start, start + 100);
      for await (const [, fetched] of connector.fetchMany!(ctx, partition, refs)) if ('parts' in fetched) read += 1;
    }
    from = page.done ? undefined : page.next;
  } while (from !== undefined);
  for (const dispose of disposals) await dispose();
  if (read !== mails) throw new Error(`The connector read ${read} of ${mails} mails.`);
}

async function timedSync(engine: Engine, port: number): Promise<number> {
  const { database, close } = await openBenchDatabase(engine);
  try {
    const synced = await createSynced(database, connectorTo(port));
    return await timed(() => synced.sync('full'));
  } finally {
    await close();
  }
}

async function countFigures(engine: Engine, server: Dovecot, mails: number): Promise<Figure[]> {
  const tap = await startTap(server.port, systemClock);
  const { database, close } = await openBenchDatabase(engine);
  try {
    const synced = await createSynced(database, connectorTo(tap.port));
    const commands = async (mode: 'full' | 'incremental') => {
      const before = tap.traffic.count();
      await synced.sync(mode);
      return tap.traffic
        .recent()
        .slice(before - tap.traffic.count())
        .map(({ method }) => method);
    };
    const count = (asked: readonly string[], name: string) => asked.filter((one) => one === name).length;
    const first = (await commands('full')).length;
    const idle = count(await commands('incremental'), 'STATUS');
    await removeOne(server);
    const removal = await commands('incremental');
    const [headers, searches] = [count(removal, 'UID FETCH'), count(removal, 'UID SEARCH')];
    const removed: Figure = {
      name: `imap: commands of a sync after one of ${mails} mails was removed`,
      value: `${removal.length}, of which FETCH ${headers}, SEARCH ${searches}`,
      limit: `headers of all mails: ${mails / mailsPerRequest}`,
      ratio: removal.length / (mails / mailsPerRequest),
      better: 'smaller',
      target: 1,
    };
    const listed: Figure = {
      name: `imap: commands of a first sync of ${mails} mails`,
      value: `${first}; STATUS in a sync without changes: ${idle} in 2 mailboxes`,
      limit: 'one for 500 headers, four for 100 mails',
      ratio: first / (mails / mailsPerRequest + (4 * mails) / 100),
      better: 'smaller',
      target: 1,
    };
    return [listed, removed];
  } finally {
    await close();
    await tap.close();
  }
}

async function removeOne(server: Dovecot): Promise<void> {
  const writer = await server.writer();
  await writer.mailboxOpen('INBOX');
  await writer.messageDelete('1', { uid: true });
  await writer.mailboxClose();
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
