import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { readFileForm } from '../../../src/api/file-form.ts';

const maxFileBytes = 1_000;

/** A form that arrives in pieces of one size. */
function read(parts: readonly [head: string, body: string | Buffer][], pieceBytes = 10_000, end = '--b--\r\n') {
  const bytes = Buffer.concat([
    ...parts.flatMap(([head, body]) => [Buffer.from(`--b\r\n${head}\r\n\r\n`), Buffer.from(body), Buffer.from('\r\n')]),
    Buffer.from(end),
  ]);
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, place) =>
    bytes.subarray(place * pieceBytes, (place + 1) * pieceBytes),
  );
  return readFileForm(Readable.from(pieces), 'multipart/form-data; boundary="b"', maxFileBytes);
}

const disposition = (parameters: string) => `Content-Disposition: form-data; ${parameters}`;
const file = disposition('name="file"; filename="a.txt"');

it('is the same however it is cut', async () => {
  const whole: Parameters<typeof read>[0] = [
    [disposition('name="metadata"'), '{"a":\r\n"--c"}'],
    [`${file}\r\nContent-Type: application/pdf`, Buffer.from([0, 13, 10, 45, 45, 255])],
    [disposition('name="customId"'), 'größe'],
    [disposition('name="containerTag"'), 'last'],
  ];
  for (let pieceBytes = 1; pieceBytes < 400; pieceBytes += 1) {
    expect(await read(whole, pieceBytes)).toEqual({
      bytes: Buffer.from([0, 13, 10, 45, 45, 255]),
      name: 'a.txt',
      mimeType: 'application/pdf',
      fields: { metadata: { a: '--c' }, customId: 'größe', containerTag: 'last' },
    });
  }
});

it.each([
  ['no type', file, { mimeType: 'text/plain' }],
  ['a charset', `${file}\r\nContent-Type: Text/Plain; Charset=KOI8-R`, { mimeType: 'text/plain; charset=koi8-r' }],
  ['a type that is no ASCII', `${file}\r\nContent-Type: text/größe`, { mimeType: '' }],
  ['a name in UTF-8', disposition('name="file"; filename="größe.txt"'), { name: 'größe.txt' }],
  ['a name with marks', disposition('name="file"; filename="a %22b%22; c.txt"'), { name: 'a "b"; c.txt' }],
  ['a folder', disposition('name="file"; filename="docs/a.txt"'), { name: 'docs/a.txt' }],
  ['a percent sign', disposition('name="file"; filename="100%25.txt"'), { name: '100%25.txt' }],
  [
    'an encoded name',
    disposition(`name="file"; filename="a.txt"; filename*=UTF-8''gr%C3%B6%C3%9Fe`),
    { name: 'größe' },
  ],
  ['Base64', `${file}\r\nContent-Transfer-Encoding: base64`, { bytes: Buffer.from('text', 'base64') }],
])('of a file with %s', async (_, head, expected) => {
  expect(await read([[head, 'text']])).toMatchObject(expected);
});

it.each([
  ['breaks off', [[file, 'text']], ''],
  ['breaks off in a header', [[file, 'text']], '--b\r\ncontent-disposition'],
  ['has a part without a header', [[file, 'text']], '--b\r\n--b--\r\n'],
  ['has a part without a name', [[disposition('filename="a.txt"'), 'text']], undefined],
  ['has a part of another kind', [[file.replace('form-data', 'attachment'), 'text']], undefined],
  ['has a name that cannot be decoded', [[disposition(`name="file"; filename*=utf-8''%ff`), 'text']], undefined],
  ['is nothing', [], ''],
] as const)('is refused when it %s', async (_, parts, end) => {
  for (const pieceBytes of [1, 7, 10_000]) {
    await expect(read([...parts] as [string, string][], pieceBytes, end)).rejects.toThrow('The form cannot be read');
  }
});

it('is refused by its count of parts and the size of its file', async () => {
  const fields = (count: number) =>
    Array.from({ length: count }, (): [string, string] => [disposition('name="customId"'), 'a']);
  expect(await read([...fields(99), [file, 'x'.repeat(maxFileBytes)]])).toMatchObject({ fields: { customId: 'a' } });
  await expect(read([...fields(100), [file, 'text']])).rejects.toThrow('The form has more than 100 parts');
  await expect(read([...fields(5_000)])).rejects.toThrow('The form has more than 100 parts');
  await expect(read([[file, 'x'.repeat(maxFileBytes + 1)]])).rejects.toMatchObject({ code: 'payload_too_large' });
});
