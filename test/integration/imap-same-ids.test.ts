import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ImapFlow } from 'imapflow';
import imap from '../../connectors/imap/index.ts';
import { listPage } from '../../connectors/imap/list.ts';
import { dovecotBinary, startDovecot, type Dovecot } from '../../fixtures/servers/imap/dovecot.ts';
import { startTap, type Tap } from '../../fixtures/servers/imap/tap.ts';
import { systemClock } from '../../src/base/clock.ts';
import {
  createKeptPages,
  keepListing,
  mailPartition,
  mailText,
  openMailContext,
  readChanged,
  type KeptPages,
} from '../support/mail-context.ts';
import { describeWhen } from '../support/services.ts';

const received = new Date('2026-11-02T10:00:00Z');
const date = 'Date: Mon, 2 Nov 2026 10:00:00 +0000';

describeWhen(dovecotBinary, 'there is no Dovecot', 'mails with one Message-ID', (binary) => {
  let server: Dovecot;
  let tap: Tap;
  let writer: ImapFlow;
  let kept: KeptPages;
  let user: string;
  let accounts = 0;
  let position: any;

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
    await server.addUser({ user, password: 'alice-secret' });
    writer = await server.writer({ user, password: 'alice-secret' });
    kept = createKeptPages();
  });
  afterEach(() => writer.close());

  const append = async (box: string, text: string, headers: readonly string[] = ['Message-ID: <one@x>', date]) =>
    ((await writer.append(box, mailText(headers, text), [], received)) as { uid: number }).uid;

  async function within(box: string, work: () => Promise<unknown>): Promise<void> {
    await writer.mailboxOpen(box);
    await work();
    await writer.mailboxClose();
  }

  /** One run, in a process of its own. */
  async function run<Value>(work: (ctx: ReturnType<typeof openMailContext>['ctx']) => Promise<Value>): Promise<Value> {
    const { ctx, dispose } = openMailContext({ port: tap.port, user }, undefined, kept);
    try {
      return await work(ctx);
    } finally {
      await dispose();
    }
  }

  const ways = {
    'a listing': async () => void (position = await run((ctx) => keepListing(ctx, kept))),
    async changes() {
      const page = await run((ctx) => imap.changes!(ctx, mailPartition, position));
      kept.keep(page);
      position = page.next;
    },
  };

  /** The texts of all mails in memory, after what changed was read. */
  async function memory(): Promise<string[]> {
    await run((ctx) => readChanged(ctx, kept));
    return [...kept.documents.values()]
      .flatMap(({ text }) => text.split('\n').map((line) => line.split(': ')[1]!))
      .sort();
  }

  const bodiesRead = () => tap.traffic.recent().filter(({ path }) => /BODY\.PEEK\[\d/.test(path)).length;

  it.each([
    { what: 'of the same size', first: 'true words', second: 'fake words' },
    { what: 'that is longer', first: 'true words', second: 'fake words, and more of them' },
    { what: 'that is shorter', first: 'true words', second: 'fake' },
  ])('shows a second mail $what beside the first', async ({ first, second }) => {
    await append('INBOX', first);
    await ways['a listing']();
    expect(await memory()).toEqual([first]);
    await append('INBOX', second);
    await ways.changes();
    expect(await memory()).toEqual([first, second].sort());
    await ways['a listing']();
    expect(await memory()).toEqual([first, second].sort());
    await within('INBOX', () => writer.messageDelete('1', { uid: true }));
    await ways.changes();
    expect(await memory()).toEqual([second]);
  });

  it('shows all of them at the first listing, in whatever mailboxes they are', async () => {
    await append('INBOX', 'first words');
    await append('INBOX', 'other words');
    await append('Sent', 'third words');
    await ways['a listing']();
    expect(await memory()).toEqual(['first words', 'other words', 'third words']);
  });

  it('tells mails without a Message-ID apart that begin alike and have one size', async () => {
    const long = '0'.repeat(5_000);
    await append('INBOX', `${long} first`, [date]);
    await append('INBOX', `${long} other`, [date]);
    await ways['a listing']();
    expect((await memory()).map((text) => text.slice(-5))).toEqual(['first', 'other']);
  });

  it.each(['a listing', 'changes'] as const)('notices by %s a mail that was replaced in its place', async (way) => {
    const uid = await append('INBOX', 'first words');
    await ways['a listing']();
    await memory();
    await within('INBOX', () => writer.messageDelete(String(uid), { uid: true }));
    await append('INBOX', 'other words');
    await ways[way]();
    expect(await memory()).toEqual(['other words']);
  });

  it('notices a replaced mail also when the listing that saw it first was interrupted', async () => {
    const uid = await append('INBOX', 'first words');
    await ways['a listing']();
    await memory();
    const [rev] = kept.threads.values();
    await within('INBOX', () => writer.messageDelete(String(uid), { uid: true }));
    await append('INBOX', 'other words');
    for (let index = 0; index < 5; index++) {
      await append('INBOX', 'words', [`Message-ID: <more-${index}@x>`, date]);
    }
    // Of the first page only the records are kept, as when the process dies before the page that shows the thread.
    const { records } = await run((ctx) => imap.list(ctx, mailPartition));
    kept.keep({ refs: [], records: { ...records, counted: null } });
    await ways['a listing']();
    expect(kept.threads.get('<one@x>')).not.toBe(rev);
    expect(await memory()).toContain('other words');
  });

  it('shows copies in several mailboxes once, under the rev that the mail had, and compares them once', async () => {
    await append('INBOX', 'first words', ['Received: from here', 'Message-ID: <one@x>', date]);
    await ways['a listing']();
    const revs = new Map(kept.threads);
    expect(await memory()).toEqual(['first words']);
    await append('Sent', 'first words');
    await within('INBOX', () => writer.messageCopy('1', 'Archive', { uid: true })).catch(() => undefined);
    await ways.changes();
    expect(await memory()).toEqual(['first words']);
    expect(kept.threads).toEqual(revs);
    const before = bodiesRead();
    await ways['a listing']();
    expect(kept.threads).toEqual(revs);
    expect(bodiesRead()).toBe(before);
  });

  it('says that a listing is not complete when mail came whenever the mailboxes were read', async () => {
    await append('INBOX', 'first words');
    let came = 0;
    tap.rule(async ({ name }) => {
      if (name === 'EXAMINE') await append('Sent', 'words', [`Message-ID: <late-${++came}@x>`, date]);
      return undefined;
    });
    try {
      const page = await run((ctx) => imap.list(ctx, mailPartition));
      expect(page).toMatchObject({ done: true, incomplete: expect.any(String) });
    } finally {
      tap.rule(undefined);
    }
  });

  it('begins a listing anew when the mailboxes changed before it went on in another process', async () => {
    for (const id of ['one', 'two', 'three']) await append('INBOX', 'words', [`Message-ID: <${id}@x>`, date]);
    const { next } = await run((ctx) => listPage(ctx, mailPartition, undefined, 1));
    expect(next).toBeDefined();
    const goOn = () => run((ctx) => listPage(ctx, mailPartition, next, 1));
    expect(await goOn()).toMatchObject({ refs: [expect.anything()] });
    await append('INBOX', 'words', ['Message-ID: <four@x>', date]);
    await expect(goOn()).rejects.toMatchObject({ kind: 'cursor_expired' });
  });

  it('names what went since the listing of the same run, also when it is not known what was there', async () => {
    for (const id of ['one', 'two', 'three']) await append('INBOX', 'words', [`Message-ID: <${id}@x>`, date]);
    const page = await run(async (ctx) => {
      const head = await keepListing(ctx, kept);
      kept.records.clear();
      await within('INBOX', () => writer.messageDelete('2', { uid: true }));
      return imap.changes!(ctx, mailPartition, head);
    });
    expect(page).toMatchObject({ refs: [], missing: ['<two@x>'], done: true });
  });

  it('reads nothing of mail that only moved', async () => {
    const uid = await append('INBOX', 'first words');
    await ways['a listing']();
    await memory();
    const revs = new Map(kept.threads);
    await within('INBOX', () => writer.messageMove(String(uid), 'Sent', { uid: true }));
    const before = bodiesRead();
    await ways['a listing']();
    expect(kept.threads).toEqual(revs);
    expect(bodiesRead()).toBe(before);
  });

  it('takes no other mail for one that moved, also when what had its Message-ID comes back later', async () => {
    for (const words of ['first words', 'first words']) await append('INBOX', words);
    await ways['a listing']();
    expect(await memory()).toEqual(['first words']);
    await within('INBOX', () => writer.messageDelete('1:*', { uid: true }));
    await append('Sent', 'quite other words');
    await ways['a listing']();
    expect(await memory()).toEqual(['quite other words']);
    await append('INBOX', 'first words');
    await ways['a listing']();
    expect(await memory()).toEqual(['first words', 'quite other words']);
  });

  it('does not call a mail gone that is in another mailbox whenever one is read', async () => {
    await append('INBOX', 'first words');
    const [ref] = (await run((ctx) => imap.list(ctx, mailPartition))).refs;
    let at = 'INBOX';
    tap.rule(async ({ name, args }) => {
      if (name !== 'EXAMINE') return undefined;
      const away = args.includes('INBOX') ? 'Sent' : 'INBOX';
      if (at !== away) await within(at, () => writer.messageMove('1:*', away, { uid: true }));
      at = away;
      return undefined;
    });
    try {
      await expect(run((ctx) => imap.fetch(ctx, mailPartition, ref!))).rejects.toMatchObject({ kind: 'transient' });
    } finally {
      tap.rule(undefined);
    }
  });

  it('does not call a mail gone that may have moved into a mailbox that the server does not open', async () => {
    await append('INBOX', 'first words');
    const [ref] = (await run((ctx) => imap.list(ctx, mailPartition))).refs;
    await within('INBOX', () => writer.messageMove('1:*', 'Sent', { uid: true }));
    tap.rule(({ name, args }) => (name === 'EXAMINE' && args.includes('Sent') ? { status: 500 } : undefined));
    try {
      await expect(run((ctx) => imap.fetch(ctx, mailPartition, ref!))).rejects.toMatchObject({ kind: 'transient' });
    } finally {
      tap.rule(undefined);
    }
  });

  it('does not show a thread without the mails that lie in a mailbox that the server does not open', async () => {
    await append('INBOX', 'first words');
    await append('Sent', 'an answer', ['Message-ID: <answer@x>', 'References: <one@x>', date]);
    await ways['a listing']();
    // As of a thread whose places are too many to keep.
    const { locator: _, ...ref } = kept.refs.get('<one@x>')!;
    tap.rule(({ name, args }) => (name === 'EXAMINE' && args.includes('Sent') ? { status: 500 } : undefined));
    try {
      await expect(run((ctx) => imap.fetch(ctx, mailPartition, ref))).rejects.toMatchObject({ kind: 'forbidden' });
    } finally {
      tap.rule(undefined);
    }
  });

  it('looks for the relatives of a mail that bears the Message-ID of another one', async () => {
    await append('INBOX', 'first words');
    await append('INBOX', 'an answer', ['Message-ID: <answer@x>', 'References: <lost@x>', date]);
    await ways['a listing']();
    expect(kept.threads.size).toBe(2);
    await append('INBOX', 'forged words', ['Message-ID: <one@x>', 'References: <lost@x>', date]);
    await ways.changes();
    const changed = new Set(kept.threads.keys());
    await ways['a listing']();
    expect(changed).toEqual(new Set(kept.threads.keys()));
    expect(await memory()).toEqual(['an answer', 'first words', 'forged words']);
  });
});
