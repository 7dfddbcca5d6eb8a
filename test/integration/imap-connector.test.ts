import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it } from 'vitest';
import type { ImapFlow } from 'imapflow';
import type { Context, FetchedDocument, Partition, Ref } from 'memoryd/connector';
import imap from '../../connectors/imap/index.ts';
import type { ImapConfig } from '../../connectors/imap/config.ts';
import { dovecotBinary, startDovecot, type Dovecot } from '../../fixtures/servers/imap/dovecot.ts';
import { keepListing, openMailContext } from '../support/mail-context.ts';
import { describeWhen } from '../support/services.ts';

const partition: Partition = { id: 'mail' };

interface MailFields {
  id?: string;
  references?: string;
  inReplyTo?: string;
  subject?: string;
  text?: string;
}

function mailOf({ id, references, inReplyTo, subject = 'Plan', text = 'Hello.' }: MailFields): string {
  return [
    'From: "Doe, Jane" <jane@example.com>',
    'To: joe@example.com',
    'Date: Mon, 2 Nov 2026 10:00:00 +0000',
    `Subject: ${subject}`,
    ...(id === undefined ? [] : [`Message-ID: <${id}>`]),
    ...(references === undefined ? [] : [`References: ${references}`]),
    ...(inReplyTo === undefined ? [] : [`In-Reply-To: ${inReplyTo}`]),
    'Content-Type: text/plain; charset=utf-8',
    '',
    text,
    '',
  ].join('\r\n');
}

describeWhen(dovecotBinary, 'there is no Dovecot', 'the mail connector on a real server', (binary) => {
  describe.each([
    { name: 'with CONDSTORE and QRESYNC', without: [] },
    { name: 'without them', without: ['CONDSTORE', 'QRESYNC'] },
  ])('$name', ({ without }) => {
    let server: Dovecot;
    let writer: ImapFlow;
    let opened: ReturnType<typeof openMailContext>;
    let ctx: Context<ImapConfig>;

    beforeAll(async () => {
      server = await startDovecot(binary, { without });
      writer = await server.writer();
    });
    afterAll(() => server.close());
    beforeEach(open);
    afterEach(async () => {
      await opened.dispose();
      for (const { path } of await writer.list()) {
        await writer.mailboxOpen(path);
        await writer.messageDelete('1:*');
        await writer.mailboxClose();
      }
    });

    function open(): void {
      opened = openMailContext({ port: server.port });
      ctx = opened.ctx;
    }

    const refs = async (): Promise<Ref[]> => (await imap.list(ctx, partition)).refs;

    async function textOf(ref: Ref): Promise<string> {
      const fetched = (await imap.fetch(ctx, partition, ref)) as FetchedDocument;
      expect(fetched.rev).toBe(ref.rev);
      return fetched.parts!.map((part) => part.text).join('\n');
    }

    it('shows an empty account without an error', async () => {
      expect(await imap.list(ctx, partition)).toMatchObject({ refs: [], done: true });
    });

    it('makes one document of a thread over several mailboxes, without the quoted history', async () => {
      await writer.append('INBOX', mailOf({ id: 'root@x', text: 'First words.' }));
      const answer = 'Second words.\r\n\r\nOn Monday, Jane Doe wrote:\r\n> First words.';
      await writer.append('Sent', mailOf({ id: 'two@x', references: '<root@x>', subject: 'Re: Plan', text: answer }));
      const found = await refs();
      expect(found.map(({ id }) => id)).toEqual(['<root@x>']);
      expect(await textOf(found[0]!)).toBe('First words.\nSecond words.');
    });

    it('offers the extensions, or hides them', () => {
      expect(writer.capabilities.has('CONDSTORE')).toBe(without.length === 0);
      expect(writer.capabilities.has('QRESYNC')).toBe(without.length === 0);
    });

    const identities = async () => (await refs()).map(({ id, rev }) => ({ id, rev }));

    async function moveAll(from: string, to: string): Promise<bigint> {
      const { uidValidity } = await writer.mailboxOpen(from);
      await writer.messageMove('1:*', to);
      await writer.mailboxClose();
      return uidValidity;
    }

    it('keeps the id and the rev of mail that moves, and that comes back under another UIDVALIDITY', async () => {
      await writer.append('INBOX', mailOf({ id: 'moving@x' }));
      await writer.append('INBOX', mailOf({ text: 'Without an id.' }));
      const before = await identities();
      expect(before).toHaveLength(2);
      await writer.mailboxCreate('Box');
      await moveAll('INBOX', 'Box');
      expect(await identities()).toEqual(before);
      const first = await moveAll('Box', 'INBOX');
      await writer.mailboxDelete('Box');
      await writer.mailboxCreate('Box');
      await moveAll('INBOX', 'Box');
      expect(await identities()).toEqual(before);
      expect(await moveAll('Box', 'INBOX')).not.toBe(first);
      await writer.mailboxDelete('Box');
    });

    it('does not take the mail of a mailbox made anew for the one that was listed', async () => {
      await writer.mailboxCreate('Box');
      await writer.append('Box', mailOf({ id: 'old@x', text: 'old' }));
      const [old] = await refs();
      await writer.mailboxDelete('Box');
      await writer.mailboxCreate('Box');
      await writer.append('Box', mailOf({ id: 'new@x', text: 'new' }));
      expect(await imap.fetch(ctx, partition, old!)).toEqual({ gone: true });
      await writer.mailboxDelete('Box');
    });

    it.each([
      ['no header but one', 'X-Odd: yes\r\n\r\nwords\r\n'],
      ['no body', 'Subject: empty\r\nMessage-ID: <empty@x>\r\n\r\n'],
      ['an unknown charset', 'Content-Type: text/plain; charset=unknown-8bit\r\n\r\nwords\r\n'],
      ['a date that is none', 'Date: yesterday-ish\r\nMessage-ID: <date@x>\r\n\r\nwords\r\n'],
      ['mails in mails, 50 deep', `${'Content-Type: message/rfc822\r\n\r\n'.repeat(50)}Subject: core\r\n\r\nwords\r\n`],
    ])('makes a document of a mail with %s', async (_, source) => {
      await writer.append('INBOX', source);
      const [ref] = await refs();
      const fetched = await imap.fetch(ctx, partition, ref!);
      expect(fetched).toMatchObject({ rev: ref!.rev, metadata: { messageCount: 1 } });
    });

    it('tells by the state of the mailboxes that mail came or went, and that nothing did', async () => {
      await writer.append('INBOX', mailOf({ id: 'one@x' }));
      const head = await keepListing(ctx, opened.kept);
      expect(await imap.changes!(ctx, partition, head)).toMatchObject({ refs: [], done: true });
      await writer.append('Sent', mailOf({ id: 'two@x' }));
      const came = await imap.changes!(ctx, partition, head);
      expect(came).toMatchObject({ refs: [{ id: '<two@x>' }], missing: [] });
      opened.kept.keep(came);
      await writer.mailboxOpen('INBOX');
      await writer.messageDelete('1:*');
      expect(await imap.changes!(ctx, partition, came.next!)).toMatchObject({ refs: [], missing: ['<one@x>'] });
    });

    it('leaves trash out and marks nothing as seen', async () => {
      await writer.append('INBOX', mailOf({ id: 'seen@x' }));
      await writer.append('Trash', mailOf({ id: 'trash@x' }));
      const found = await refs();
      expect(found.map(({ id }) => id)).toEqual(['<seen@x>']);
      await textOf(found[0]!);
      await writer.mailboxOpen('INBOX');
      const message = await writer.fetchOne('1', { flags: true });
      expect(message && message.flags?.has('\\Seen')).toBe(false);
    });

    it('answers gone for a thread that was removed after the listing', async () => {
      await writer.append('INBOX', mailOf({ id: 'brief@x' }));
      const [ref] = await refs();
      await writer.mailboxOpen('INBOX');
      await writer.messageDelete('1:*');
      expect(await imap.fetch(ctx, partition, ref!)).toEqual({ gone: true });
    });

    it('reads all of a thread of which one mail moved after it was listed, alone or with others', async () => {
      await writer.append('INBOX', mailOf({ id: 'root@x', text: 'First words.' }));
      await writer.append('Sent', mailOf({ id: 'two@x', references: '<root@x>', text: 'Second words.' }));
      const found = await refs();
      await moveAll('Sent', 'INBOX');
      for await (const [, fetched] of imap.fetchMany!(ctx, partition, found)) {
        expect((fetched as FetchedDocument).parts).toHaveLength(2);
      }
      expect(await textOf(found[0]!)).toBe('First words.\nSecond words.');
    });

    it('waits for a new password when the server refuses this one', async () => {
      await opened.dispose();
      open();
      const refused = { ...ctx, secret: async () => 'wrong' };
      await expect(imap.list(refused, partition)).rejects.toMatchObject({ kind: 'auth_expired' });
    });
  });
});
