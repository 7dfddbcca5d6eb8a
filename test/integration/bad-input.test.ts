import { deflateRawSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeDocuments, makeDocx, makePdf, makeZip } from '../../fixtures/make-documents.ts';
import { everyContainer } from '../../src/base/scope.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { DocumentBody } from '../../src/engine/document.ts';
import { createDocuments } from '../../src/engine/document-service.ts';
import { createProcessor, type Processor } from '../../src/engine/process.ts';
import { createTextWork } from '../../src/engine/text/text-work.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';

const textWork = createTextWork({ log: silentLogger, threads: 2, timeoutMs: 60_000, maxMemoryMb: 256 });
const files = makeDocuments();
const docx = makeDocx([['', 'The lease ends in March.']]);
const pdf = files.get('invoice.pdf')!;
const zipped = (name: string, content: Uint8Array) => makeZip([[name, content]]);
const file = (name: string, bytes: Uint8Array | string): DocumentBody => ({
  kind: 'file',
  name,
  bytes: Buffer.from(bytes),
});
const text = (content: string): DocumentBody => ({ kind: 'text', text: content });
const pages = (count: number) =>
  makePdf(
    'Long',
    Array.from({ length: count }, (_, page) => [`Page ${page}`]),
  );
const half = (bytes: Uint8Array) => bytes.subarray(0, bytes.length / 2);

let opened: TestDatabase;
let documents: ReturnType<typeof createDocuments>;
let processor: Processor;
beforeAll(async () => {
  opened = await openTestDatabase('pglite');
  const { database } = opened;
  const clock = createTestClock();
  documents = createDocuments({ database, clock, wake: async () => {} });
  const embedder = createHashingEmbedder();
  processor = createProcessor({ database, clock, log: silentLogger, textWork, embedder });
});
afterAll(async () => {
  await textWork.close();
  await opened.close();
});

async function process(body: DocumentBody) {
  const [added] = await documents.add([{ containerTag: 'bad', source: 'api', body }]);
  await processor.drain(new AbortController().signal);
  return (await documents.find(added!.id, everyContainer))!;
}

type Case = [
  name: string,
  body: () => DocumentBody,
  outcome: 'done' | 'extract_failed' | 'unsupported_type' | 'too_large',
];

const cases: Case[] = [
  ['a picture that says it is Word', () => file('letter.docx', files.get('logo.png')!), 'unsupported_type'],
  ['text that says it is PDF', () => file('a.pdf', 'Only text.'), 'extract_failed'],
  ['a PDF that says it is text', () => file('a.txt', pdf), 'done'],
  ['an empty file', () => file('empty.txt', ''), 'done'],
  ['an empty PDF', () => file('empty.pdf', ''), 'extract_failed'],
  ['half a PDF', () => file('half.pdf', half(pdf)), 'extract_failed'],
  ['half a Word document', () => file('half.docx', half(docx)), 'extract_failed'],
  ['half a workbook', () => file('half.xlsx', half(files.get('stock.xlsx')!)), 'extract_failed'],
  [
    'half a gzip file',
    () => file('half.txt.gz', half(gzipSync('The lease ends in March. '.repeat(100)))),
    'extract_failed',
  ],
  ['a PDF with a password', () => file('a.pdf', files.get('protected.pdf')!), 'extract_failed'],
  ['a PDF of 1,000 pages', () => file('long.pdf', pages(1_000)), 'done'],
  [
    'a zip in a zip in a zip',
    () => file('a.zip', zipped('b.zip', zipped('c.zip', zipped('d.txt', Buffer.from('deep'))))),
    'extract_failed',
  ],
  [
    'a quarter of a gigabyte in a gzip file of its thousandth',
    () => file('zeros.txt.gz', gzipSync(Buffer.alloc(2 ** 28), { level: 1 })),
    'extract_failed',
  ],
  ['a megabyte without a space', () => text('a'.repeat(2 ** 20)), 'done'],
  ['a megabyte of ideographs', () => text('猫が寝る'.repeat(2 ** 16)), 'done'],
  ['emoji only', () => text('😀👩‍👩‍👧🇩🇪'.repeat(1_000)), 'done'],
  ['text from right to left', () => text('العقد ينتهي في آذار. \u202eהחוזה מסתיים במרץ.\u202c'), 'done'],
  ['thirty megabytes without a space', () => file('a.txt', Buffer.alloc(30 * 2 ** 20, 'a')), 'too_large'],
  [
    'half characters in UTF-16',
    () => file('a.txt', Buffer.from('\ufeffThe lock\ud800 is 4711.\udfff', 'utf16le')),
    'done',
  ],
  ['half characters in JSON', () => file('a.json', '{"text": "The lock \\ud800 is 4711."}'), 'done'],
  ['a note with a NUL', () => file('a.md', `# Notes\n\nThe plumber\0 comes at nine.`), 'done'],
  ['text full of NUL', () => file('a.txt', Buffer.from('a\0b c d', 'utf16le')), 'unsupported_type'],
  ['noise', () => file('noise.bin', deflateRawSync(Buffer.from(pdf)).subarray(3)), 'unsupported_type'],
];

describe('bad input', () => {
  it.each(cases)('%s ends, with a sentence when it fails', { timeout: 60_000 }, async (_, body, outcome) => {
    const { status, error } = await process(body());
    expect({ status, code: error?.code ?? null }).toEqual(
      outcome === 'done' ? { status: 'done', code: null } : { status: 'failed', code: outcome },
    );
    if (error) expect(error.message).toMatch(/^[A-Z].{15,}\.$/);
  });

  it('that takes longer than it may is given up', async () => {
    const hasty = createTextWork({ log: silentLogger, threads: 2, timeoutMs: 300 });
    const long = { kind: 'file', name: 'long.pdf', bytes: pages(10_000) } as const;
    await expect(hasty.extract(long)).rejects.toMatchObject({
      code: 'extract_failed',
      message: expect.stringMatching(/^[A-Z].{15,}\.$/),
    });
    await hasty.close();
  });

  it('does no harm to what comes after it', async () => {
    expect(await process(file('letter.docx', docx))).toMatchObject({
      status: 'done',
      content: expect.stringContaining('The lease ends in March.'),
    });
  });
});
