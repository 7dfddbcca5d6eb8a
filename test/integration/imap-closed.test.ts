import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ImapFlow } from 'imapflow';
import type { Connector, Context } from 'memoryd/connector';
import imap from '../../connectors/imap/index.ts';
import type { ImapConfig } from '../../connectors/imap/config.ts';
import { dovecotBinary, startDovecot, type Dovecot } from '../../fixtures/servers/imap/dovecot.ts';
import { startTap, type Tap } from '../../fixtures/servers/imap/tap.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createSyncRuns } from '../../src/connections/run-service.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { mailText } from '../support/mail-context.ts';
import { createMirror } from '../support/mirror.ts';
import { describeWhen } from '../support/services.ts';

const password = 'alice-secret';

/** The connector with what a connection would have: a password, and leave to reach this machine. */
function withAccess(): Connector<ImapConfig, any> {
  const of = (ctx: Context<ImapConfig>): Context<ImapConfig> => ({
    ...ctx,
    addresses: async () => [{ address: '127.0.0.1', family: 4 }],
    secret: async () => password,
  });
  return {
    ...imap,
    partitions: (ctx) => imap.partitions(of(ctx)),
    list: (ctx, ...rest) => imap.list(of(ctx), ...rest),
    head: (ctx, ...rest) => imap.head!(of(ctx), ...rest),
    changes: (ctx, ...rest) => imap.changes!(of(ctx), ...rest),
    fetch: (ctx, ...rest) => imap.fetch(of(ctx), ...rest),
    fetchMany: (ctx, ...rest) => imap.fetchMany!(of(ctx), ...rest),
  };
}

describeWhen(dovecotBinary, 'there is no Dovecot', 'a mailbox that the server does not open', (binary) => {
  let server: Dovecot;
  let tap: Tap;
  let writer: ImapFlow;
  let opened: TestDatabase;
  let user: string;
  let accounts = 0;

  beforeAll(async () => {
    server = await startDovecot(binary);
    tap = await startTap(server.port, systemClock);
  });
  afterAll(async () => {
    await tap.close();
    await server.close();
  });
  beforeEach(async () => {
    user = `user-${++accounts}`;
    await server.addUser({ user, password });
    writer = await server.writer({ user, password });
    opened = await openTestDatabase();
  });
  afterEach(async () => {
    tap.rule(undefined);
    writer.close();
    await opened.close();
  });

  async function open() {
    const { database } = opened;
    const clock = createTestClock();
    const config = { host: '127.0.0.1', port: tap.port, secure: false, startTls: false, user };
    const mirror = await createMirror({ database, clock, connector: withAccess(), config });
    const runs = createSyncRuns({ database, clock, wake: async () => {} });
    return {
      mirror,
      async sync(mode: 'incremental' | 'full' = 'incremental') {
        clock.advance(60_000);
        expect(await mirror.sync({ mode })).toMatchObject({ status: 'completed' });
        return [...(await mirror.texts()).keys()].toSorted();
      },
      reasons: async () => (await runs.progress(mirror.id)).problems.map(({ reason }) => reason),
    };
  }

  const append = (box: string, id: string, answers?: string) =>
    writer.append(
      box,
      mailText([`Message-ID: <${id}>`, ...(answers ? [`References: <${answers}>`] : [])], `text of ${id}`),
      [],
      new Date('2026-11-02T10:00:00Z'),
    );

  async function remove(box: string, id: string): Promise<void> {
    await writer.mailboxOpen(box);
    await writer.messageDelete({ header: { 'message-id': `<${id}>` } }, { uid: true });
    await writer.mailboxClose();
  }

  const folder = () => join(server.mailFolder, user, '.Archive');

  it.each([
    {
      how: 'the disk refuses it',
      shut: () => chmod(folder(), 0),
      unshut: () => chmod(folder(), 0o700),
    },
    {
      how: 'it is counted and not opened',
      shut: async () =>
        tap.rule(({ name, args }) => (name === 'EXAMINE' && /Archive/.test(args) ? { status: 500 } : undefined)),
      unshut: async () => tap.rule(undefined),
    },
  ])('keeps what lies in it, and the others go on, when $how', async ({ shut, unshut }) => {
    await writer.mailboxCreate('Archive');
    for (const id of ['one@x', 'two@x']) await append('INBOX', id);
    for (const id of ['old@x', 'older@x']) await append('Archive', id);
    // A thread in both.
    await append('Archive', 'both@x');
    await append('INBOX', 'answer@x', 'both@x');
    const { mirror, sync, reasons } = await open();
    const everything = ['<both@x>', '<old@x>', '<older@x>', '<one@x>', '<two@x>'];
    expect(await sync()).toEqual(everything);
    const whole = (await mirror.texts()).get('<both@x>')!;

    await shut();
    await append('INBOX', 'new@x');
    await append('INBOX', 'later@x', 'both@x');
    await remove('INBOX', 'two@x');
    const without = [...everything.filter((id) => id !== '<two@x>'), '<new@x>'].toSorted();
    for (const mode of ['incremental', 'incremental', 'full'] as const) expect(await sync(mode)).toEqual(without);
    expect((await mirror.texts()).get('<both@x>')).toBe(whole);
    expect(await reasons()).toEqual([expect.stringContaining('Archive (')]);

    // What is left of the thread outside goes: what lies in the closed mailbox must not go with it.
    await remove('INBOX', 'answer@x');
    await remove('INBOX', 'later@x');
    expect(await sync()).toEqual(without);
    expect(await sync('full')).toEqual(without);

    await unshut();
    expect(await sync()).toEqual(without);
    expect(await reasons()).toEqual([]);
    const left = (await mirror.texts()).get('<both@x>')!;
    expect(left).toContain('text of both@x');
    expect(left).not.toContain('text of answer@x');
    await remove('Archive', 'old@x');
    expect(await sync()).toEqual(without.filter((id) => id !== '<old@x>'));
  });

  it('is an error when there is no other', async () => {
    await append('INBOX', 'one@x');
    const { mirror, sync } = await open();
    expect(await sync()).toEqual(['<one@x>']);
    tap.rule(({ name }) => (name === 'EXAMINE' ? { status: 500 } : undefined));
    await append('INBOX', 'two@x');
    expect(await mirror.sync({ mode: 'full' })).toMatchObject({ status: 'failed', itemsDeleted: 0 });
    expect([...(await mirror.texts()).keys()]).toEqual(['<one@x>']);
  });
});
