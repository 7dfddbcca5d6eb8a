import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { everyContainer } from '../../src/base/scope.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createDocuments } from '../../src/engine/document-service.ts';
import { createOcr, type Ocr } from '../../src/engine/ocr.ts';
import { createProcessor } from '../../src/engine/process.ts';
import { createTextWork } from '../../src/engine/text/text-work.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { withPictures } from '../../src/engine/read-document.ts';
import { makeZip } from '../../fixtures/make-documents.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { pageOf, scriptedConnector } from '../support/scripted-connector.ts';

const textWork = createTextWork({ log: silentLogger, threads: 1, timeoutMs: 30_000, maxMemoryMb: 512 });
afterAll(() => textWork.close());

const fixture = (name: string) => readFileSync(new URL(`../../fixtures/documents/${name}`, import.meta.url));
const scan = { bytes: fixture('scan.pdf'), mimeType: 'application/pdf', name: 'scan.pdf' };
const image = { bytes: fixture('logo.png'), mimeType: 'image/png', name: 'logo.png' };
const text = 'The lease ends in March.\n\nThe deposit is 900 euros.';

let opened: TestDatabase;
let ocr: Ocr;
let requests: { headers: IncomingMessage['headers']; body: Buffer }[];
let answer: (response: ServerResponse) => void;
const server = createServer((request, response) => {
  void buffer(request).then((body) => {
    requests.push({ headers: request.headers, body });
    answer(response);
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ocr`;
afterAll(() => server.close());

beforeEach(async () => {
  requests = [];
  answer = (response) => response.end('The lease ends in March.\n\f\nThe deposit is 900 euros.\n\f');
  opened = await openTestDatabase('pglite');
  ocr = createOcr({ url, apiKey: 'canary-key', timeoutMs: 5_000, concurrency: 2 });
});
afterEach(async () => {
  await ocr.close();
  await opened.close();
});

async function process(file: { bytes: Uint8Array; mimeType: string; name: string }, options: { ocr?: Ocr } = { ocr }) {
  const { database } = opened;
  const clock = createTestClock();
  const documents = createDocuments({ database, clock, wake: async () => {} });
  const embedder = createHashingEmbedder();
  const processor = createProcessor({ database, clock, log: silentLogger, textWork, embedder, ...options });
  const body = { kind: 'file', ...file } as const;
  const [added] = await documents.add([{ containerTag: 'papers', source: 'api', body }]);
  await processor.drain(new AbortController().signal);
  return (await documents.find(added!.id, everyContainer))!;
}

describe('reading text in images', () => {
  it('of a scanned PDF file and of an image, by a server that gets their bytes', async () => {
    expect(await process(scan)).toMatchObject({ status: 'done', type: 'pdf', content: text });
    expect(await process(image)).toMatchObject({ status: 'done', type: 'image', content: text });
    expect(requests.map(({ headers }) => headers['content-type'])).toEqual(['application/pdf', 'image/png']);
    expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer canary-key', 'Bearer canary-key']);
    expect(requests.map(({ body }) => body)).toEqual([scan.bytes, image.bytes]);
  });

  it('is off by default, and asks nobody about files that are read anyway or are no pictures', async () => {
    expect(await process(scan, {})).toMatchObject({ status: 'failed', error: { code: 'unsupported_type' } });
    const invoice = { bytes: fixture('invoice.pdf'), mimeType: 'application/pdf', name: 'invoice.pdf' };
    expect(await process(invoice)).toMatchObject({ status: 'done', type: 'pdf' });
    const broken = { bytes: fixture('broken.pdf'), mimeType: 'application/pdf', name: 'broken.pdf' };
    expect(await process(broken)).toMatchObject({ status: 'failed', error: { code: 'extract_failed' } });
    const archive = { bytes: Buffer.from('Rar!\x1a\x07\0\0\0\0', 'latin1'), mimeType: 'image/png', name: 'a.png' };
    expect(await process(archive)).toMatchObject({ status: 'failed', error: { code: 'unsupported_type' } });
    expect(requests).toEqual([]);
  });

  it.each<[string, (response: ServerResponse) => void, object]>([
    [
      'finds nothing',
      (response) => response.end(' \f\n'),
      { status: 'failed', error: { code: 'unsupported_type', message: expect.stringContaining('OCR found no text') } },
    ],
    [
      'refuses the file',
      (response) => response.writeHead(415).end(),
      { status: 'failed', error: { code: 'ocr_failed', message: 'The OCR server refused the file with status 415.' } },
    ],
    ['fails', (response) => response.writeHead(503).end(), { status: 'queued' }],
    [
      'breaks off',
      (response) => response.writeHead(200, { 'content-length': 9 }).end('The', () => response.destroy()),
      { status: 'queued' },
    ],
    [
      'answers without end',
      (response) => response.end('word '.repeat(2_000_000)),
      { status: 'failed', error: { code: 'too_large' } },
    ],
  ])('ends well when the server %s', async (_, reply, expected) => {
    answer = reply;
    const document = await process(scan);
    expect(document).toMatchObject(expected);
    expect(JSON.stringify(document)).not.toContain('canary-key');
  });

  it('waits for a server that is gone', async () => {
    const gone = createOcr({ url: 'http://127.0.0.1:9/ocr', timeoutMs: 5_000, concurrency: 1 });
    expect(await process(scan, { ocr: gone })).toMatchObject({ status: 'queued' });
    await gone.close();
  });
});

const archive = {
  bytes: makeZip([
    ['a note.txt', 'A plain note.'],
    ['logo.png', image.bytes],
    ['papers/lease.pdf', scan.bytes],
  ]),
  mimeType: 'application/zip',
  name: 'papers.zip',
};

function mailWith({ bytes, mimeType, name }: typeof image) {
  const lines = [
    'From: Ada <ada@example.com>\nSubject: The lease\nMIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b\n',
    '--b\nContent-Type: text/plain\n\nSee the picture.',
    `--b\nContent-Type: ${mimeType}; name=${name}\nContent-Disposition: attachment; filename=${name}`,
    `Content-Transfer-Encoding: base64\n\n${bytes.toString('base64')}\n--b--\n`,
  ];
  return { bytes: Buffer.from(lines.join('\n')), mimeType: 'message/rfc822', name: 'lease.eml' };
}

describe('pictures within other files', () => {
  it('are read in their places in an archive and among the attachments of a mail', async () => {
    const unpacked = await process(archive);
    expect(unpacked).toMatchObject({ status: 'done', type: 'text' });
    expect(unpacked.content).toBe(
      `## a note.txt\n\nA plain note.\n\n## logo.png\n\n${text}\n\n## papers/lease.pdf\n\n${text}`,
    );
    expect(requests.map(({ headers }) => headers['content-type'])).toEqual([
      'application/octet-stream',
      'application/pdf',
    ]);
    expect(requests.map(({ body }) => body)).toEqual([image.bytes, scan.bytes]);
    const mail = await process(mailWith(image));
    expect(mail.content).toMatch(/See the picture\.\n\n## Attachment: logo\.png\n\nThe lease ends in March\./);
  });

  it('are left out, and the rest is read, where OCR refuses them or there is none', async () => {
    expect((await process(archive, {})).content).toBe('## a note.txt\n\nA plain note.');
    expect(requests).toEqual([]);
    answer = (response) => response.writeHead(415).end();
    expect((await process(archive)).content).toBe('## a note.txt\n\nA plain note.');
    expect(requests).toHaveLength(2);
  });

  it('keep their file waiting while the server is in trouble', async () => {
    answer = (response) => response.writeHead(503).end();
    expect(await process(archive)).toMatchObject({ status: 'queued' });
  });
});

describe('pictures of a source', () => {
  async function openSource(readBy: Ocr | null) {
    const clock = createTestClock();
    const picture = { file: { bytes: image.bytes, mimeType: 'image/png', name: 'logo.png' } };
    const connector = scriptedConnector({
      list: () => {
        const { refs, ...page } = pageOf('mail', 'photo', 'note', 'zip');
        return { ...page, refs: refs.map((ref) => (ref.id === 'photo' ? { ...ref, mimeType: 'image/png' } : ref)) };
      },
      fetch: (_, { id }) => {
        if (id === 'photo') return picture;
        if (id === 'zip') return { file: archive };
        return { parts: [{ markdown: `The ${id}.` }, ...(id === 'mail' ? [picture] : [])] };
      },
    });
    const runner = { extractor: withPictures(textWork, readBy) };
    const mirror = await createMirror({ database: opened.database, clock, connector, runner });
    const states = async () =>
      Object.fromEntries((await mirror.items()).map((item) => [item.ext_id, item.error_class ?? item.state]));
    return { clock, mirror, states };
  }

  it('are read among the parts of an item, and are items of their own', async () => {
    const { mirror, states } = await openSource(ocr);
    await mirror.sync();
    expect(await states()).toEqual({ mail: 'done', photo: 'done', note: 'done', zip: 'done' });
    expect((await mirror.texts()).get('mail')).toBe(`The mail.\n\n## logo.png\n\n${text}`);
  });

  it('are named where nobody reads them, and are no items', async () => {
    const { mirror, states } = await openSource(null);
    await mirror.sync();
    expect(await states()).toEqual({ mail: 'done', photo: 'unsupported_type', note: 'done', zip: 'done' });
    expect((await mirror.texts()).get('mail')).toMatch(/^The mail\.\n\n## logo\.png\n\n\*This is a PNG image/);
  });

  it('fail alone while the server is in trouble, and arrive when it is back', async () => {
    const whole = answer;
    answer = (response) => response.writeHead(503).end();
    const { clock, mirror, states } = await openSource(ocr);
    expect(await mirror.sync()).toMatchObject({ status: 'completed' });
    expect(await states()).toEqual({ mail: 'ocr_failed', photo: 'done', note: 'done', zip: 'done' });
    answer = whole;
    clock.advance(60_000);
    await mirror.sync();
    expect(await states()).toMatchObject({ mail: 'done' });
    expect((await mirror.texts()).get('mail')).toContain('The lease ends in March.');
  });
});
