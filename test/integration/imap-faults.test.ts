import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ImapFlow } from 'imapflow';
import type { Context, Hint, Partition, Ref } from 'memoryd/connector';
import imap from '../../connectors/imap/index.ts';
import type { ImapConfig } from '../../connectors/imap/config.ts';
import { dovecotBinary, startDovecot, type Dovecot } from '../../fixtures/servers/imap/dovecot.ts';
import { startTap, type Tap } from '../../fixtures/servers/imap/tap.ts';
import { keepListing, mailText, openMailContext } from '../support/mail-context.ts';
import { describeWhen } from '../support/services.ts';

const partition: Partition = { id: 'mail' };

describeWhen(dovecotBinary, 'there is no Dovecot', 'the mail connector before a line that fails', (binary) => {
  let server: Dovecot;
  let writer: ImapFlow;
  let tap: Tap;
  let ctx: Context<ImapConfig>;
  let opened: ReturnType<typeof openMailContext>;

  beforeAll(async () => {
    server = await startDovecot(binary);
    writer = await server.writer();
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    tap = await startTap(server.port, { now: () => new Date() });
    reopen();
  });
  afterEach(async () => {
    tap.rule(undefined);
    await opened.dispose();
    await tap.close();
    await writer.mailboxOpen('INBOX');
    await writer.messageDelete('1:*');
    await writer.mailboxClose();
  });

  function reopen(authorization?: Parameters<typeof openMailContext>[1]): void {
    opened = openMailContext({ port: tap.port, timeoutSeconds: 20 }, authorization);
    ctx = opened.ctx;
  }

  async function fill(count: number, kind = 'text/plain'): Promise<void> {
    for (let index = 0; index < count; index++) {
      const headers = [`Message-ID: <mail-${index}@x>`, `Subject: Mail ${index}`, `Content-Type: ${kind}`];
      await writer.append('INBOX', mailText(headers, `words ${index}`));
    }
  }

  async function readAll(): Promise<number> {
    const { refs } = await imap.list(ctx, partition);
    let read = 0;
    for await (const [, fetched] of imap.fetchMany!(ctx, partition, refs)) if ('parts' in fetched) read += 1;
    return read;
  }

  const since = (before: number) =>
    tap.traffic
      .recent()
      .slice(before)
      .map(({ method }) => method);

  it('reads everything over a line that drops every tenth command', async () => {
    await fill(30);
    let commands = 0;
    tap.rule(() => (++commands % 10 === 0 ? 'reset' : undefined));
    expect(await readAll()).toBe(30);
    const { refs } = await imap.list(ctx, partition);
    for (const ref of refs) expect(await imap.fetch(ctx, partition, ref)).toMatchObject({ rev: ref.rev });
    expect(commands).toBeGreaterThan(50);
  });

  it.each(['half-close', 'truncate'] as const)('reads everything after one %s', async (fault) => {
    await fill(3);
    let left = 1;
    tap.rule(({ name }) => (name === 'UID FETCH' && left-- > 0 ? fault : undefined));
    expect(await readAll()).toBe(3);
  });

  it('closes its connection when the login is refused', async () => {
    tap.rule(({ name }) => (name === 'AUTHENTICATE' ? { status: 401 } : undefined));
    await expect(imap.list(ctx, partition)).rejects.toMatchObject({ kind: 'auth_expired' });
    expect(since(0).filter((name) => name === 'AUTHENTICATE')).toHaveLength(1);
    await expect.poll(() => tap.connections()).toBe(0);
  });

  it('asks for one STATUS of each mailbox when nothing changed', async () => {
    await fill(2);
    const head = await imap.head!(ctx, partition);
    const before = tap.traffic.count();
    await imap.changes!(ctx, partition, head);
    // Without any subscription the vendor's client asks for them once more.
    expect(since(before).filter((name) => name !== 'LSUB')).toEqual(['LIST', 'STATUS', 'STATUS']);
  });

  it('reads one arrival without the mails that it has nothing to do with', async () => {
    await fill(20);
    const head = await keepListing(ctx, opened.kept);
    const before = tap.traffic.count();
    await writer.append('INBOX', mailText(['Message-ID: <answer@x>', 'References: <mail-3@x>', 'Subject: Re: Mail 3']));
    const page = await imap.changes!(ctx, partition, head);
    expect(page).toMatchObject({ refs: [{ id: '<mail-3@x>' }], missing: [], done: true });
    const asked = tap.traffic.recent().slice(before - tap.traffic.count());
    const shown = asked.filter(({ method }) => method === 'UID FETCH').map(({ path }) => path.split(' ')[0]);
    expect(shown).toHaveLength(2);
    expect(shown).not.toContain('1:21');
    expect(await imap.fetch(ctx, partition, page.refs[0]!)).toMatchObject({ metadata: { messageCount: 2 } });
  });

  it('joins two threads when a mail that answers both comes', async () => {
    await fill(2);
    const head = await keepListing(ctx, opened.kept);
    await writer.append('INBOX', mailText(['Message-ID: <both@x>', 'References: <mail-0@x> <mail-1@x>']));
    const page = await imap.changes!(ctx, partition, head);
    expect([...page.refs.map(({ id }) => id), ...page.missing!].sort()).toEqual(['<mail-0@x>', '<mail-1@x>']);
  });

  it('takes a mail that answers one which nobody has for a thread of its own', async () => {
    await fill(2);
    const head = await keepListing(ctx, opened.kept);
    await writer.append('INBOX', mailText(['Message-ID: <lost@x>', 'References: <never-seen@x>']));
    const first = await imap.changes!(ctx, partition, head);
    expect(first).toMatchObject({ refs: [{ id: '<never-seen@x>' }], missing: [] });
    opened.kept.keep(first);
    await writer.append('INBOX', mailText(['Message-ID: <found@x>', 'In-Reply-To: <never-seen@x>']));
    const second = await imap.changes!(ctx, partition, first.next!);
    expect(second.refs.map(({ id }) => id)).toEqual(['<never-seen@x>']);
    expect(await imap.fetch(ctx, partition, second.refs[0]!)).toMatchObject({ metadata: { messageCount: 2 } });
  });

  it('puts a mail into the thread of those that only say that they answer it', async () => {
    const answer = ['Message-ID: <answer@x>', 'References: <root@x>', 'In-Reply-To: <late@x>'];
    await writer.append('INBOX', mailText([...answer, 'Date: 1 Nov 2026 10:00:00 +0000']));
    const head = await keepListing(ctx, opened.kept);
    await writer.append('INBOX', mailText(['Message-ID: <late@x>', 'Date: 2 Nov 2026 10:00:00 +0000']));
    const page = await imap.changes!(ctx, partition, head);
    expect(page.refs.map(({ id }) => id)).toEqual(['<root@x>']);
    expect(await imap.fetch(ctx, partition, page.refs[0]!)).toMatchObject({ metadata: { messageCount: 2 } });
  });

  it('takes five hundred mails to one request for headers, and one hundred threads to one for bodies', async () => {
    await fill(120);
    let { refs } = await imap.list(ctx, partition);
    const listed = tap.traffic.recent().filter(({ method }) => method === 'UID FETCH');
    expect(listed).toHaveLength(1);
    const before = tap.traffic.count();
    refs = refs.slice(0, 100);
    for await (const [, fetched] of imap.fetchMany!(ctx, partition, refs)) expect(fetched).toHaveProperty('parts');
    // Their texts come with their structures.
    expect(since(before)).toEqual(['EXAMINE', 'UID FETCH']);
  });

  it('asks again for a text that is longer than what comes with the structure, and takes all of it', async () => {
    const text = `begin ${'word '.repeat(20_000)}end`;
    await writer.append('INBOX', mailText(['Message-ID: <long@x>'], text.replace(/.{70} /g, '$&\r\n')));
    const [ref] = (await imap.list(ctx, partition)).refs;
    const before = tap.traffic.count();
    const fetched = await imap.fetch(ctx, partition, ref!);
    const [part] = 'parts' in fetched ? (fetched.parts ?? []) : [];
    expect(part?.text?.replace(/\s+/g, ' ')).toBe(text);
    expect(since(before)).toEqual(['EXAMINE', 'UID FETCH', 'UID FETCH']);
  });

  it('downloads neither a large attachment nor what no text can be taken from', async () => {
    const part = (type: string, name: string, bytes: number) =>
      [
        '--b',
        `Content-Type: ${type}; name="${name}"`,
        'Content-Disposition: attachment',
        'Content-Transfer-Encoding: base64',
        '',
        Buffer.alloc(bytes, 'a').toString('base64').replace(/.{76}/g, '$&\r\n'),
      ].join('\r\n');
    const source = mailText(
      ['Message-ID: <big@x>', 'Content-Type: multipart/mixed; boundary=b'],
      [
        '--b\r\nContent-Type: text/plain\r\n\r\nSee the files.',
        part('application/pdf', 'large.pdf', 20_000_000),
        part('image/png', 'a.png', 30_000),
        part('application/ms-tnef', 'winmail.dat', 30_000),
        part('text/plain', 'small.txt', 300),
        '--b--',
      ].join('\r\n'),
    );
    await writer.append('INBOX', source);
    const [ref] = (await imap.list(ctx, partition)).refs;
    const fetched = await imap.fetch(ctx, partition, ref!);
    const parts = 'parts' in fetched ? (fetched.parts ?? []) : [];
    expect(parts.slice(1).map(({ title, file }) => [title, file?.bytes.length])).toEqual([
      ['large.pdf', undefined],
      ['a.png', undefined],
      ['winmail.dat', undefined],
      ['small.txt', 300],
    ]);
    const asked = tap.traffic.recent().map(({ path }) => path.match(/BODY\.PEEK\[\d[^)]*/)?.[0]);
    expect(asked.filter(Boolean)).toEqual(['BODY.PEEK[1]<0.65536>', 'BODY.PEEK[5]']);
  });

  it('hints at mail that comes, and at mail that goes', async () => {
    const hints: Hint[] = [];
    const watching = imap.watch!(ctx, (hint) => hints.push(hint));
    await expect.poll(() => since(0)).toContain('IDLE');
    const before = hints.length;
    await writer.append('INBOX', mailText(['Message-ID: <pushed@x>']));
    await expect.poll(() => hints.length, { timeout: 10_000 }).toBeGreaterThan(before);
    const after = hints.length;
    await writer.mailboxOpen('INBOX');
    await writer.messageDelete('1:*');
    await expect.poll(() => hints.length, { timeout: 10_000 }).toBeGreaterThan(after);
    opened.stop.abort();
    await watching;
    await expect.poll(() => tap.connections()).toBe(0);
  });

  it('lists a mail that moves into a mailbox that was read already', async () => {
    await fill(3);
    let left = 1;
    await writer.append('Sent', mailText(['Message-ID: <sent@x>']));
    tap.traffic.intercept(async ({ method, path }) => {
      if (method !== 'EXAMINE' || !path.startsWith('Sent') || left-- <= 0) return;
      await writer.mailboxOpen('Sent');
      await writer.messageMove('1:*', 'INBOX');
      await writer.mailboxClose();
    });
    const page = await imap.list(ctx, partition);
    expect(page.refs.map(({ id }) => id)).toContain('<sent@x>');
    expect(page.incomplete).toBeUndefined();
  });

  it('reads a thread that moved after it was listed', async () => {
    await fill(1);
    const [ref] = (await imap.list(ctx, partition)).refs;
    await writer.mailboxOpen('INBOX');
    await writer.messageMove('1:*', 'Sent');
    await writer.mailboxClose();
    expect(await imap.fetch(ctx, partition, ref as Ref)).toMatchObject({ rev: ref!.rev });
    await writer.mailboxOpen('Sent');
    await writer.messageDelete('1:*');
    await writer.mailboxClose();
  });
});
