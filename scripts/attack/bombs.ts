import { deflateRawSync, gzipSync } from 'node:zlib';
import { fileForm } from './forms.ts';
import { inParallel, type Sent } from './sender.ts';
import type { Target } from './target.ts';

interface Bomb {
  name: string;
  /** `taken`: it is stored, and its processing may fail. */
  expected: readonly number[];
  sent: Omit<Sent, 'key'>;
}

/** What is small and becomes large, deep or many. Each is refused at once, or fails as a document alone. */
export async function attackWithBombs({ sender, keys }: Target, size: number, report: (fault: string) => void) {
  await inParallel(bombs(size), 4, async ({ name, expected, sent }) => {
    const { status } = await sender.send({ ...sent, key: keys.full });
    if (!expected.includes(status)) report(`${name}: ${status}, not ${expected.join(' or ')}`);
  });
}

const taken = [200, 201, 202];
const refused = [400, 413];

function bombs(size: number): Bomb[] {
  const post = (path: string, body: string | Buffer, headers = {}) => ({ method: 'POST', path, body, headers });
  const upload = (name: string, bytes: Buffer, type: string) => ({
    method: 'POST',
    path: '/v3/documents/file',
    ...fileForm(name, bytes, type, 'bombs'),
  });
  const document = (content: string) => post('/v3/documents', JSON.stringify({ content, containerTag: 'bombs' }));
  const keys = Object.fromEntries(Array.from({ length: Math.min(300_000, size) }, (_, index) => [`k${index}`, index]));
  const parts = Array.from(
    { length: Math.min(300_000, size) },
    (_, index) => `--edge\r\ncontent-disposition: form-data; name="a${index}"\r\n\r\nb\r\n`,
  );
  return [
    { name: 'deep JSON', expected: refused, sent: post('/v3/documents', '['.repeat(size) + ']'.repeat(size)) },
    {
      name: 'deep metadata',
      expected: refused,
      sent: post('/v3/documents', `{"content":"a","metadata":${'{"a":'.repeat(size)}1${'}'.repeat(size)}}`),
    },
    {
      name: 'deep filters',
      expected: refused,
      sent: post('/v4/search', JSON.stringify({ q: 'a', filters: `${'{"AND":['.repeat(2_000)}${']}'.repeat(2_000)}` })),
    },
    {
      name: 'many metadata keys',
      expected: refused,
      sent: post('/v3/documents', JSON.stringify({ content: 'a', metadata: keys })),
    },
    {
      name: 'many form parts',
      expected: refused,
      sent: {
        method: 'POST',
        path: '/v3/documents/file',
        body: `${parts.join('')}--edge--\r\n`,
        headers: { 'content-type': 'multipart/form-data; boundary=edge' },
      },
    },
    {
      name: 'many entries',
      expected: refused,
      sent: post('/v3/documents/batch', JSON.stringify({ documents: Array.from({ length: 20_000 }, () => 1) })),
    },
    {
      name: 'packed body',
      expected: [400, 415],
      sent: post('/v3/documents', gzipSync(Buffer.alloc(size * 10)), {
        'content-encoding': 'gzip',
        'content-type': 'application/json',
      }),
    },
    {
      name: 'long path',
      expected: [400, 404, 414, 431],
      sent: { method: 'GET', path: `/v3/documents/${'a'.repeat(12_000)}` },
    },
    {
      name: 'huge headers',
      expected: [431],
      sent: { method: 'GET', path: '/health', headers: { 'x-a': 'a'.repeat(60_000) } },
    },
    {
      name: 'many headers',
      expected: [200, 431],
      sent: {
        method: 'GET',
        path: '/health',
        headers: Object.fromEntries(Array.from({ length: 1_900 }, (_, index) => [`x-${index}`, 'a'])),
      },
    },
    {
      name: 'deep page',
      expected: taken,
      sent: upload('deep.html', Buffer.from('<div><p>a'.repeat(size)), 'text/html'),
    },
    {
      name: 'deep XML',
      expected: taken,
      sent: upload('deep.svg', Buffer.from('<title>'.repeat(size)), 'image/svg+xml'),
    },
    {
      name: 'JSON file',
      expected: taken,
      sent: upload('deep.json', Buffer.from('['.repeat(size)), 'application/json'),
    },
    {
      name: 'zip bomb',
      expected: taken,
      sent: upload(
        'bomb.docx',
        zipBomb(size * 100),
        'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      ),
    },
    { name: 'gzip', expected: taken, sent: upload('a.gz', gzipSync(Buffer.alloc(size * 100)), 'application/gzip') },
    {
      name: 'wide table',
      expected: taken,
      sent: upload('a.csv', Buffer.from(`${'a,'.repeat(size / 4)}\n${'b\n'.repeat(size / 4)}`), 'text/csv'),
    },
    { name: 'abbreviations', expected: taken, sent: document('Mr. '.repeat(size / 4)) },
    { name: 'one word', expected: taken, sent: document('a'.repeat(size)) },
    { name: 'marks on one letter', expected: taken, sent: document(`a${'\u0301\u0316'.repeat(size / 4)}`) },
    { name: 'spaces', expected: taken, sent: document(`I am here${' '.repeat(size)}x`) },
    { name: 'unclosed quotes', expected: taken, sent: document('“ '.repeat(size / 4)) },
    { name: 'dots', expected: taken, sent: document(`Well${'.'.repeat(size)} a`) },
  ];
}

/** An archive with one part of a Word document that unpacks to so many bytes. */
function zipBomb(bytes: number): Buffer {
  const name = Buffer.from('word/document.xml');
  const packed = deflateRawSync(Buffer.alloc(bytes, 'a'));
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  local.writeUInt16LE(8, 8);
  local.writeUInt32LE(packed.length, 18);
  local.writeUInt32LE(bytes, 22);
  local.writeUInt16LE(name.length, 26);
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(8, 10);
  entry.writeUInt32LE(packed.length, 20);
  entry.writeUInt32LE(bytes, 24);
  entry.writeUInt16LE(name.length, 28);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(entry.length + name.length, 12);
  end.writeUInt32LE(local.length + name.length + packed.length, 16);
  return Buffer.concat([local, name, packed, entry, name, end]);
}
