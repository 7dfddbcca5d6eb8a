import type { Worker } from 'node:worker_threads';
import { deflateSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { makePdf } from '../../../fixtures/make-documents.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { createTextWork, type TextWork, type TextWorkOptions } from '../../../src/engine/text/text-work.ts';

const opened: TextWork[] = [];
const open = (options: Partial<TextWorkOptions>) => {
  const textWork = createTextWork({ log: silentLogger, ...options });
  opened.push(textWork);
  return textWork;
};
afterEach(() => Promise.all(opened.splice(0).map((textWork) => textWork.close())));

const pdf = {
  kind: 'file',
  bytes: makePdf('Plan', [['Rotate the signing key every 90 days.']]),
  name: 'a.pdf',
} as const;
/** Each `<` becomes an element of its own in the parser: takes many seconds. */
const slow = { kind: 'html', text: `<html><body>${'<'.repeat(4_000_000)}` } as const;
const failure = (reason: string, code = 'extract_failed') => ({
  code,
  message: expect.stringContaining(reason) as string,
});

/** A page whose packed content unpacks to 300 MiB of spaces. */
function bomb(): Uint8Array {
  const stream = deflateSync(Buffer.alloc(300 * 1024 * 1024, ' '), { level: 1 });
  const head =
    '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj ' +
    '3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj ' +
    `4 0 obj<</Filter/FlateDecode/Length ${stream.length}>>stream\n`;
  return Buffer.concat([Buffer.from(head), stream, Buffer.from('\nendstream endobj\ntrailer<</Root 1 0 R>>')]);
}

describe('work in threads', { timeout: 60_000 }, () => {
  it('ends a document that takes too long, goes on with the next, and never blocks the caller', async () => {
    const textWork = open({ timeoutMs: 4000, maxMemoryMb: 4096 });
    let ticks = 0;
    const timer = setInterval(() => ticks++, 10);
    await expect(textWork.extract(slow)).rejects.toMatchObject(failure('took longer than 4 seconds'));
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(50);
    expect((await textWork.extract({ kind: 'html', text: '<p>next' })).text).toBe('next');
  });

  it('ends a document that takes too much memory, inside or outside of the heap', async () => {
    const textWork = open({ timeoutMs: 60_000, maxMemoryMb: 128 });
    const hungry = [{ kind: 'file', bytes: bomb(), name: 'b.pdf' } as const, slow];
    for (const input of hungry) {
      await expect(textWork.extract(input)).rejects.toMatchObject(failure('took more than 128 MiB of memory'));
    }
    expect((await textWork.extract(pdf)).title).toBe('Plan');
  }, 120_000);

  it('reads several documents with few threads', async () => {
    const textWork = open({});
    const titles = await Promise.all(Array.from({ length: 10 }, async () => (await textWork.extract(pdf)).title));
    expect(titles).toEqual(Array.from({ length: 10 }, () => 'Plan'));
  });

  it('stops reading and waiting when the caller does not want it any more', async () => {
    const textWork = open({});
    const reading = new AbortController();
    const waiting = new AbortController();
    const first = textWork.extract(slow, { signal: reading.signal });
    // Only one thread works on what is large, so it waits for the first.
    const second = textWork.extract(slow, { signal: waiting.signal });
    const third = textWork.extract({ kind: 'text', text: `# Third\n\n${'word '.repeat(100_000)}` });
    waiting.abort(new Error('not this one'));
    await expect(second).rejects.toThrow('not this one');
    reading.abort(new Error('nor this'));
    await expect(first).rejects.toThrow('nor this');
    expect((await third).title).toBe('Third');
    await expect(textWork.extract(pdf, { signal: reading.signal })).rejects.toThrow('nor this');
  });

  it('fails what is under way, and all that follows, once it is closed', async () => {
    const textWork = open({});
    const under = [textWork.extract(slow), textWork.extract(pdf)];
    const settled = Promise.allSettled(under);
    await textWork.close();
    for (const result of await settled) {
      expect(result).toMatchObject({ status: 'rejected', reason: failure('shutting down', 'unavailable') });
    }
    await expect(textWork.extract(pdf)).rejects.toMatchObject(failure('shutting down', 'unavailable'));
  });

  it('finishes what is small while something huge is worked on, however much of that waits', async () => {
    const textWork = open({});
    const finished: string[] = [];
    const huge = Array.from({ length: 4 }, () => textWork.extract(slow).finally(() => finished.push('huge')));
    const settled = Promise.allSettled(huge);
    const small = Array.from({ length: 100 }, async (_, index) => {
      await textWork.extract({ kind: 'markdown', text: `# Note ${index}` }, { container: `c${index % 7}` });
      finished.push('small');
    });
    await Promise.all(small);
    expect(finished).toEqual(Array.from({ length: 100 }, () => 'small'));
    await textWork.close();
    await settled;
  });

  it('lets what seemed small and is slow give way to what waits behind it', async () => {
    const textWork = open({ giveWayMs: 500, timeoutMs: 600_000, maxMemoryMb: 8_192 });
    // Small by its size, and as slow as the large one once it is unpacked.
    const sly = { kind: 'file', bytes: bomb(), name: 'b.pdf' } as const;
    const finished: string[] = [];
    const slowOnes = [textWork.extract(slow), textWork.extract(sly), textWork.extract(sly)];
    const settled = Promise.allSettled(slowOnes.map((one) => one.finally(() => finished.push('slow'))));
    await Promise.all(Array.from({ length: 20 }, () => textWork.extract({ kind: 'markdown', text: 'small' })));
    finished.push('small');
    expect(finished[0]).toBe('small');
    await textWork.close();
    await settled;
  });

  it('begins what seemed small again among the large when it needs much memory, and gives that back', async () => {
    const started: Worker[] = [];
    const ended: Worker[] = [];
    const note = (worker: Worker) => {
      started.push(worker);
      worker.once('exit', () => ended.push(worker));
    };
    process.on('worker', note);
    const textWork = open({ giveWayMb: 48 });
    const { text } = await textWork.extract({ kind: 'html', text: '<p>a'.repeat(60_000) });
    expect(text.length).toBe(60_000 * 3 - 2);
    await expect.poll(() => ended.length).toBe(2);
    expect((await textWork.extract(pdf)).title).toBe('Plan');
    expect(started).toHaveLength(3);
    process.off('worker', note);
  });

  it('does not let one bad document take those with it that were sent along', async () => {
    const textWork = open({ timeoutMs: 5000, giveWayMs: 1000, maxMemoryMb: 128 });
    const warm = await Promise.all(Array.from({ length: 4 }, () => textWork.extract(pdf)));
    expect(warm).toHaveLength(4);
    const bad = { kind: 'file', bytes: bomb().slice(), name: 'b.pdf' } as const;
    const all = await Promise.allSettled([pdf, pdf, pdf, bad, pdf, bad, pdf].map((input) => textWork.extract(input)));
    expect(all.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
    ]);
  });

  it('hands over what a thread says of a document', async () => {
    const textWork = open({});
    const broken = { kind: 'file', bytes: Buffer.from('%PDF-1.7\nnothing'), name: 'a.pdf' } as const;
    await expect(textWork.extract(broken)).rejects.toMatchObject({ ...failure('damaged'), shouldRetry: false });
    const large = { ...pdf, maxTextBytes: 10 };
    await expect(textWork.extract(large)).rejects.toMatchObject(failure('the most that is taken', 'too_large'));
  });
});

describe('bodies', { timeout: 60_000 }, () => {
  it('of each kind are read as what they are', async () => {
    const textWork = open({});
    const read = async (kind: 'text' | 'markdown' | 'html' | 'conversation', text: string) => {
      const { format, type, text: canonical } = await textWork.extract({ kind, text });
      return { format, type, canonical };
    };
    expect(await read('text', 'plain')).toEqual({ format: 'text', type: 'text', canonical: 'plain' });
    expect(await read('text', '<!doctype html><p>page')).toEqual({
      format: 'markdown',
      type: 'webpage',
      canonical: 'page',
    });
    expect(await read('markdown', 'plain')).toEqual({ format: 'markdown', type: 'text', canonical: 'plain' });
    expect(await read('html', '<b>bold</b>')).toEqual({ format: 'markdown', type: 'webpage', canonical: '**bold**' });
    const turns = 'user: hello\nassistant: {"not": "json"}';
    expect(await read('conversation', turns)).toEqual({ format: 'conversation', type: 'text', canonical: turns });
  });

  it('that are too large are refused before they are read', async () => {
    const textWork = open({});
    const text = { kind: 'text', text: 'x'.repeat(200), maxTextBytes: 100 } as const;
    await expect(textWork.extract(text)).rejects.toMatchObject(failure('more than 100 bytes', 'too_large'));
  });

  it('of text are read however large they are', async () => {
    const textWork = open({});
    const text = `# Title\n\n${'word '.repeat(100_000)}`;
    expect(await textWork.extract({ kind: 'text', text })).toMatchObject({ text, title: 'Title', format: 'markdown' });
  });
});
