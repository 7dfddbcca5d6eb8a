import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { ImapFlow } from 'imapflow';
import imap from '../../connectors/imap/index.ts';
import { dovecotBinary, startDovecot, type Dovecot } from '../../fixtures/servers/imap/dovecot.ts';
import { createLogger } from '../../src/base/log.ts';
import { checkFetched, contentBody } from '../../src/sync/check-item.ts';
import { createTextWork, type TextWork } from '../../src/engine/text/text-work.ts';
import { mailText, openMailContext } from '../support/mail-context.ts';
import { describeWhen } from '../support/services.ts';

const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64');
const latin1 = (text: string) => Buffer.from(text, 'latin1');

/** What mails in the wild look like, and a word that their text must hold. */
const messy: [what: string, source: string | Buffer, word: string][] = [
  ['no Date, From, Message-ID or Subject', 'X-Odd: yes\r\n\r\nnothing known\r\n', 'nothing known'],
  ['no body', mailText(['Message-ID: <a@x>', 'Subject: bare'], ''), '(no text)'],
  ['no header at all', '\r\njust words\r\n', 'just words'],
  ['a date that is none', mailText(['Date: yesterday-ish', 'Message-ID: <b@x>'], 'late words'), 'late words'],
  ['a date in the year 20000', mailText(['Date: 1 Jan 20000 00:00:00 +0000'], 'far words'), 'far words'],
  ['a quoted name with a comma', mailText(['From: "Doe, J" <j@example.com>'], 'comma'), 'j@example.com'],
  ['an unknown charset', mailText(['Content-Type: text/plain; charset=unknown-8bit'], 'odd words'), 'odd words'],
  ['a charset that does not exist', mailText(['Content-Type: text/plain; charset=klingon'], 'qapla'), 'qapla'],
  [
    'UTF-8 that says it is ASCII',
    mailText(['Content-Type: text/plain; charset=us-ascii', 'Content-Transfer-Encoding: 8bit'], 'Grüße'),
    'Grüße',
  ],
  [
    'Latin-1 that says it is UTF-8',
    Buffer.concat([latin1('Content-Type: text/plain; charset=utf-8\r\n\r\n'), latin1('Gr\xfc\xdfe\r\n')]),
    'Grüße',
  ],
  ['ISO-2022-JP', mailText(['Content-Type: text/plain; charset=iso-2022-jp'], '\x1b$B$3$s$K$A$O\x1b(B'), 'こんにちは'],
  [
    'quoted-printable with soft breaks and broken escapes',
    mailText(
      ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: quoted-printable'],
      'long =\r\nline, Gr=C3=BC=C3=9Fe, 100=% and =ZZ',
    ),
    'long line, Grüße, 100=% and =ZZ',
  ],
  [
    'base64 with rubbish in it',
    mailText(['Content-Type: text/plain', 'Content-Transfer-Encoding: base64'], `${base64('inside words')}\r\n!!\r\n`),
    'inside words',
  ],
  [
    'HTML only',
    mailText(['Content-Type: text/html; charset=utf-8'], '<p>Bold <b>words</b></p><script>x()</script>'),
    'Bold words',
  ],
  [
    'an empty plain text beside HTML',
    mailText(
      ['Content-Type: multipart/alternative; boundary=b'],
      '--b\r\nContent-Type: text/plain\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>shown words</p>\r\n--b--',
    ),
    'shown words',
  ],
  [
    'a boundary that never comes',
    mailText(['Content-Type: multipart/mixed; boundary=never'], 'words without a part'),
    '(no text)',
  ],
  [
    'a boundary that never ends',
    mailText(['Content-Type: multipart/mixed; boundary=b'], '--b\r\nContent-Type: text/plain\r\n\r\ncut words'),
    'cut words',
  ],
  ['a wrong content type', mailText(['Content-Type: text'], 'plain after all'), 'plain after all'],
  [
    'an attachment with a name in RFC 2231',
    mailText(
      ['Content-Type: multipart/mixed; boundary=b'],
      "--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename*=utf-8''%C3%A4pfel.txt\r\n\r\nfruit\r\n--b--",
    ),
    'äpfel.txt',
  ],
  [
    'winmail.dat',
    mailText(
      ['Content-Type: multipart/mixed; boundary=b'],
      `--b\r\nContent-Type: text/plain\r\n\r\nsee it\r\n--b\r\nContent-Type: application/ms-tnef; name=winmail.dat\r\nContent-Transfer-Encoding: base64\r\n\r\n${base64('x\x9f>"')}\r\n--b--`,
    ),
    'winmail.dat',
  ],
  ['a mail in a mail', mailText(['Content-Type: message/rfc822'], 'Subject: inner\r\n\r\ninner words'), 'inner'],
  ['mails in mails, 50 deep', `${'Content-Type: message/rfc822\r\n\r\n'.repeat(50)}Subject: core\r\n\r\nwords\r\n`, ''],
  [
    'multiparts in multiparts, 50 deep',
    `${Array.from({ length: 50 }, (_, at) => `Content-Type: multipart/mixed; boundary=b${at}\r\n\r\n--b${at}\r\n`).join('')}Content-Type: text/plain\r\n\r\ndeep\r\n`,
    '',
  ],
  ['a NUL in its text', mailText(['Message-ID: <nul@x>'], 'before\x00after'), 'before'],
  ['a Message-ID without brackets', mailText(['Message-ID: bare-id@x'], 'bare words'), 'bare words'],
  ['three Message-IDs', mailText(['Message-ID: <1@x> <2@x> <3@x>'], 'three'), 'three'],
  ['a subject of 20,000 characters', mailText([`Subject: ${'long '.repeat(4_000)}`], 'after it'), 'after it'],
  ['a thousand references', mailText([`References: ${'<r@x>\r\n '.repeat(1_000)}`], 'referred'), 'referred'],
  ['a signature that encrypts', mailText(['Content-Type: application/pkcs7-mime; name=smime.p7m'], 'MII'), 'smime.p7m'],
];

/** Python's collection of odd mails, where it is unpacked. */
const collection = process.env['MESSY_MAIL'];
const collected = collection === undefined ? [] : readdirSync(collection).filter((name) => name.endsWith('.txt'));

describeWhen(dovecotBinary, 'there is no Dovecot', 'mails as they come', (binary) => {
  let server: Dovecot;
  let writer: ImapFlow;
  let textWork: TextWork;
  let opened: ReturnType<typeof openMailContext> | undefined;

  beforeAll(async () => {
    server = await startDovecot(binary);
    writer = await server.writer();
    textWork = createTextWork({ log: createLogger('silent') });
  });
  afterAll(async () => {
    await textWork.close();
    await server.close();
  });
  afterEach(async () => {
    await opened?.dispose();
    await writer.mailboxOpen('INBOX');
    await writer.messageDelete('1:*');
    await writer.mailboxClose();
  });

  /** The text that memory gets of each thread. */
  async function textsOf(sources: readonly (string | Buffer)[]): Promise<string[]> {
    for (const source of sources) await writer.append('INBOX', source);
    opened = openMailContext({ port: server.port });
    const { ctx } = opened;
    const { refs } = await imap.list(ctx, { id: 'mail' });
    const texts: string[] = [];
    for (const ref of refs) {
      const fetched = checkFetched(await imap.fetch(ctx, { id: 'mail' }, ref));
      if (!('parts' in fetched)) throw new Error(`${ref.id} is no document.`);
      expect(fetched.rev).toBe(ref.rev);
      const content = await contentBody(fetched, textWork, ctx.signal);
      texts.push('body' in content && 'text' in content.body ? content.body.text : JSON.stringify(content));
    }
    return texts;
  }

  it.each(messy)('makes a document of a mail with %s', async (_, source, word) => {
    const [text] = await textsOf([source]);
    expect(text).toContain(word);
  });

  it('makes a document of each of them when they come together', async () => {
    const texts = await textsOf(messy.map(([, source]) => source));
    expect(texts).toHaveLength(messy.length);
  });

  if (collection !== undefined) {
    it('makes a document of every mail of a collection', async () => {
      const texts = await textsOf(collected.map((name) => readFileSync(join(collection, name))));
      expect(texts.length).toBeGreaterThan(collected.length * 0.7);
      expect(texts.every((text) => text.trim() !== '')).toBe(true);
    });
  }
});
