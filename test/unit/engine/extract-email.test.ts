import { describe, expect, it } from 'vitest';
import { convert } from '../../../src/engine/extract/convert.ts';

const read = (mail: string) =>
  convert({ format: 'email', bytes: Buffer.from(mail.replaceAll('\n', '\r\n')), maxTextBytes: 1_000_000, depth: 0 });

/** A mail that carries a mail that carries a mail … */
function nested(depth: number): string {
  const header = `From: a@b.example\nSubject: Level ${depth}\nMIME-Version: 1.0\n`;
  if (depth === 0) return `${header}\nThe innermost text.\n`;
  const boundary = `b${depth}`;
  return `${header}Content-Type: multipart/mixed; boundary="${boundary}"\n\n--${boundary}\n\nText ${depth}\n--${boundary}\nContent-Type: message/rfc822\n\n${nested(depth - 1)}\n--${boundary}--\n`;
}

describe('mail', { timeout: 60_000 }, () => {
  it('takes the text of HTML when there is no other', async () => {
    const { text, title } = await read(
      'Subject: Hi\nContent-Type: text/html; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\n<p>Gr=FC=DFe</p><img src="cid:1">',
    );
    expect(text).toBe('# Hi\n\nGrüße');
    expect(title).toBe('Hi');
  });

  it('says nothing of a date that is none', async () => {
    const { text, metadata } = await read('From: a@b.example\nDate: some day\nSubject: x\n\nbody');
    expect(text).toBe('# x\n\nFrom: a@b.example\n\nbody');
    expect(metadata).toEqual({ from: 'a@b.example' });
  });

  it('has no title without a subject', async () => {
    expect(await read('From: a@b.example\n\nbody')).toMatchObject({ title: null, text: 'From: a@b.example\n\nbody' });
  });

  it('is refused when it has none of the headers that mails have', async () => {
    await expect(read('Just text: nobody sent it.\n\nNobody at all.')).rejects.toThrow(
      'The file says it is a mail, but its content is something else.',
    );
  });

  it.each([1, 2, 60])('opens one of %i mails inside of each other', async (depth) => {
    const { text } = await read(nested(depth));
    expect(text).toContain(`# Level ${depth}\n`);
    expect(text).toContain(`## Attachment: mail\n\n### Level ${depth - 1}\n`);
    expect(text.includes(`Level ${depth - 2}\n`)).toBe(false);
  });

  it.each([
    [
      'a missing last boundary',
      'Content-Type: multipart/mixed; boundary="b"\n\n--b\n\nfirst\n--b\nContent-Type: message/rfc822\n\n--b--',
    ],
    [
      'a wrong closing boundary',
      'Content-Type: multipart/mixed; boundary="b"\n\n--b\n\nfirst\n--b\nContent-Type: message/rfc822\n\nSubject: y\n\nz\n--c--',
    ],
    [
      'a cut attachment',
      'Content-Type: multipart/mixed; boundary="b"\n\n--b\n\nfirst\n--b\nContent-Type: text/plain; name=a.txt\nContent-Transfer-Encoding: base64\n\nAAA',
    ],
  ])('ends in spite of %s', async (_, mail) => {
    expect((await read(`Subject: x\nMIME-Version: 1.0\n${mail}`)).text).toContain('first');
  });

  it('reads attachments that hold text, under their names', async () => {
    const part = (type: string, name: string, content: string) =>
      `--b\nContent-Type: ${type}\nContent-Disposition: attachment; filename="${name}"\nContent-Transfer-Encoding: base64\n\n${Buffer.from(content).toString('base64')}\n`;
    const mail = `Subject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n--b\n\nbody\n${part('application/octet-stream', 'a.md', '# Top\n\n```\n# code\n```')}${part('text/plain', 'b.py', 'print(1)')}${part('application/zip', 'c.zip', 'PK\x05\x06')}--b--`;
    const { text, degraded } = await read(mail);
    expect(text).toBe(
      '# x\n\nbody\n\n## Attachment: a.md\n\n### Top\n\n```\n# code\n```\n\n## Attachment: b.py\n\n```python\nprint(1)\n```',
    );
    expect(degraded).toEqual(['Attachment c.zip: The ZIP archive is damaged: its ZIP directory is missing.']);
  });
});
