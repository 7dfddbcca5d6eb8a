import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { MemorydError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { DocumentInput } from '../../src/engine/document.ts';
import { createDocuments } from '../../src/engine/document-service.ts';
import { createTextWork } from '../../src/engine/text/text-work.ts';
import { createProcessor } from '../../src/engine/process.ts';
import type { Findings, Remembering } from '../../src/memory/remember.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { redriveDocuments, releaseAllLeases } from '../../src/store/processing.ts';
import { rawSql, sql } from '../../src/store/sql.ts';
import { everyContainer } from '../../src/base/scope.ts';

import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { createTestClock } from '../support/clock.ts';
import { createCrashingDatabase } from '../support/crashing-database.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';

const textWork = createTextWork({ log: silentLogger, threads: 1, timeoutMs: 30_000, maxMemoryMb: 512 });
afterAll(() => textWork.close());

/** An embedder whose calls can be counted, held up and made to fail. */
function instrument(inner: Embedder) {
  const state = {
    texts: [] as string[],
    before: async (_texts: readonly string[]): Promise<void> => {},
  };
  const embedder: Embedder = {
    ...inner,
    async embed(texts, options) {
      await state.before(texts);
      state.texts.push(...texts);
      return inner.embed(texts, options);
    },
  };
  return Object.assign(state, { embedder });
}

const note = (text: string, more: Partial<DocumentInput> = {}): DocumentInput => ({
  containerTag: 'notes',
  customId: 'one',
  source: 'api',
  body: { kind: 'text', text },
  ...more,
});

const paragraphs = (count: number, change: (index: number) => string = () => '') =>
  Array.from({ length: count }, (_, index) => {
    const sentence = `Paragraph ${index} speaks of matter number ${index} at some length, so that it fills a chunk.`;
    return `## Part ${index}\n\n${`${sentence} `.repeat(12)}${change(index)}`;
  }).join('\n\n');

describe('processing', () => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  async function open() {
    opened = await openTestDatabase();
    const { database } = opened;
    const clock = createTestClock();
    const instrumented = instrument(createHashingEmbedder());
    const options = { database, clock, log: silentLogger, textWork, embedder: instrumented.embedder };
    const processor = createProcessor(options);
    const documents = createDocuments({ database, clock, wake: async () => {} });
    const drain = (signal = new AbortController().signal) => processor.drain(signal);
    const chunks = () =>
      database.query<{ id: string; content: string; position: number; document_id: string }>(
        rawSql('select id, content, position, document_id from chunks order by document_id, position'),
      );
    const status = async (id: string) => (await documents.find(id, everyContainer))!;
    return { database, clock, documents, options, drain, chunks, status, instrumented };
  }

  it('takes a document from queued to done with searchable chunks', async () => {
    const { documents, drain, chunks, status } = await open();
    const [added] = await documents.add([note('# Keys\n\nRotate the signing key every 90 days.')]);
    expect(await drain()).toBe(1);
    expect(await status(added!.id)).toMatchObject({
      status: 'done',
      error: null,
      content: expect.stringContaining('Rotate'),
    });
    expect(await chunks()).toMatchObject([{ position: 0, content: expect.stringContaining('Rotate the signing key') }]);
    expect(await drain()).toBe(0);
  });

  it('embeds only what an edit changed, and keeps the order of chunks', async () => {
    const { documents, drain, chunks, instrumented } = await open();
    const body = (text: string) => note('', { body: { kind: 'markdown', text } });
    await documents.add([body(paragraphs(20))]);
    await drain();
    const before = await chunks();
    expect(before.length).toBeGreaterThanOrEqual(20);
    instrumented.texts.length = 0;
    const edited = paragraphs(20, (index) => (index === 10 ? 'And one thing more.' : ''));
    await documents.add([body(edited.replace('## Part 3', '## Part in between\n\nSomething short.\n\n## Part 3'))]);
    await drain();
    const after = await chunks();
    expect(instrumented.texts.length).toBeLessThanOrEqual(4);
    expect(after.map((one) => one.position)).toEqual(after.map((_, index) => index));
    expect(after.map((one) => one.content).join('\n')).toContain('And one thing more.');
    const kept = new Set(before.map((one) => one.id));
    expect(after.filter((one) => kept.has(one.id)).length).toBeGreaterThanOrEqual(before.length - 3);
  });

  it('makes all of a document anew that is indexed again, and finds it as before until then', async () => {
    const { database, documents, drain, chunks, status, instrumented } = await open();
    const [added, other] = await documents.add([
      note('', { body: { kind: 'markdown', text: paragraphs(20) } }),
      note('Nobody asks for this one.', { customId: 'other' }),
    ]);
    await drain();
    const before = await chunks();
    // As an older version has cut it.
    await database.execute(sql`update chunks set terms = '{older}' where document_id = ${added!.id}`);
    instrumented.texts.length = 0;
    expect(await documents.reindex(added!.id)).toMatchObject({ id: added!.id, status: 'queued' });
    expect(await chunks()).toEqual(before);
    await expect(documents.reindex(added!.id)).rejects.toMatchObject({ code: 'conflict' });
    await drain();
    const after = await chunks();
    const ofIt = (all: typeof before) => all.filter((one) => one.document_id === added!.id);
    expect(await status(added!.id)).toMatchObject({ status: 'done', error: null });
    expect(ofIt(after).map(({ content }) => content)).toEqual(ofIt(before).map(({ content }) => content));
    expect(instrumented.texts).toHaveLength(ofIt(after).length);
    const [{ count }] = (await database.query(
      sql`select count(*)::integer as count from chunks where terms = '{older}'`,
    )) as [{ count: number }];
    expect(count).toBe(0);
    const ofOther = (all: typeof before) => all.filter((one) => one.document_id === other!.id);
    expect(ofOther(after)).toEqual(ofOther(before));
  });

  it('lets short documents become searchable before the vectors of a long one are there', async () => {
    const { documents, drain, chunks, instrumented } = await open();
    const [long] = await documents.add([
      note('', { customId: 'long', body: { kind: 'markdown', text: paragraphs(300) } }),
      ...['two', 'three'].map((customId) => note(`A short one, ${customId}.`, { customId })),
    ]);
    const seen: string[][] = [];
    instrumented.before = async (texts) => {
      if (texts.some((text) => text.includes('Paragraph 7 '))) seen.push((await chunks()).map((one) => one.content));
    };
    await drain();
    expect(seen[0]?.toSorted()).toEqual(['A short one, three.', 'A short one, two.']);
    expect((await chunks()).filter((one) => one.document_id === long!.id).length).toBeGreaterThanOrEqual(300);
  });

  it('throws an older revision away when a newer one arrives in the middle', async () => {
    const { documents, drain, chunks, status, instrumented } = await open();
    const [added] = await documents.add([note('the first version')]);
    let arrived = false;
    instrumented.before = async () => {
      if (arrived) return;
      arrived = true;
      await documents.add([note('the second version')]);
    };
    await drain();
    expect(await status(added!.id)).toMatchObject({ status: 'done', content: 'the second version', revision: 2 });
    expect((await chunks()).map((one) => one.content)).toEqual(['the second version']);
  });

  it('writes nothing for a document that was deleted meanwhile', async () => {
    const { documents, drain, chunks, instrumented } = await open();
    const [added] = await documents.add([note('soon gone')]);
    instrumented.before = async () => {
      await documents.remove([added!.id]);
    };
    await drain();
    expect(await chunks()).toEqual([]);
  });

  it('keeps the previous chunks while a document is processed again, and when that fails', async () => {
    const { documents, drain, chunks, status, instrumented } = await open();
    const [added] = await documents.add([note('what is known')]);
    await drain();
    await documents.add([note('what is new')]);
    instrumented.before = async () => {
      throw new MemorydError('embed_failed', 'The model is away.');
    };
    await drain();
    expect((await chunks()).map((one) => one.content)).toEqual(['what is known']);
    expect(await status(added!.id)).toMatchObject({ status: 'queued', error: { code: 'embed_failed', attempts: 1 } });
  });

  it('tries a retryable failure three times, then drives it again later', async () => {
    const { database, clock, documents, drain, status, instrumented } = await open();
    const [added] = await documents.add([note('patience')]);
    instrumented.before = async () => {
      throw new MemorydError('embed_failed', 'The model is away.', { retryAfterMs: 1 });
    };
    for (const pauseMs of [0, 5_000, 30_000]) {
      clock.advance(pauseMs);
      expect(await drain()).toBe(1);
      expect(await drain()).toBe(0);
    }
    expect(await status(added!.id)).toMatchObject({ status: 'failed', error: { code: 'embed_failed' } });
    instrumented.before = async () => {};
    expect(await redriveDocuments(database, clock.now())).toBe(0);
    clock.advance(60_000);
    expect(await redriveDocuments(database, clock.now())).toBe(1);
    await drain();
    expect(await status(added!.id)).toMatchObject({ status: 'done', error: null });
  });

  it('ends an unreadable file with its reason and without another attempt, its neighbours unharmed', async () => {
    const { clock, documents, drain, status } = await open();
    const file = (customId: string, bytes: Uint8Array, name: string) =>
      note('', { customId, body: { kind: 'file', bytes, name } });
    const results = await documents.add([
      file('broken', Buffer.from('%PDF-1.7\nnot really\u0000'), 'broken.pdf'),
      file('binary', Buffer.from('89504e470d0a1a0a0000000d49484452000000ff', 'hex'), 'notes.md'),
      file('fine', Buffer.from('# Fine\n\nAll is well.'), 'fine.md'),
    ]);
    await drain();
    const [broken, binary, fine] = await Promise.all(results.map(({ id }) => status(id)));
    expect(broken).toMatchObject({ status: 'failed', error: { code: 'extract_failed', nextRetryAt: null } });
    expect(binary).toMatchObject({ status: 'failed', error: { code: 'unsupported_type' } });
    expect(fine).toMatchObject({ status: 'done', title: 'Fine' });
    clock.advance(86_400_000);
    expect(await drain()).toBe(0);
  });

  it('one text that the model cannot take does not fail its neighbours', async () => {
    const { documents, drain, status, instrumented } = await open();
    const results = await documents.add(['good', 'POISON', 'fine'].map((text) => note(text, { customId: text })));
    instrumented.before = async (texts) => {
      if (texts.some((text) => text.includes('POISON')))
        throw new MemorydError('embed_failed', 'The model cannot take this.');
    };
    await drain();
    const all = await Promise.all(results.map(({ id }) => status(id)));
    expect(all.map((one) => one.status)).toEqual(['done', 'queued', 'done']);
  });

  it('gives claimed documents back at a stop, without counting an attempt', async () => {
    const { database, documents, drain, status, instrumented } = await open();
    const [added] = await documents.add([note('interrupted')]);
    const stop = new AbortController();
    instrumented.before = async () => {
      stop.abort();
      stop.signal.throwIfAborted();
    };
    await drain(stop.signal);
    const [row] = await database.query(
      sql`select status, attempts, lease_token from documents where id = ${added!.id}`,
    );
    expect(row).toEqual({ status: 'queued', attempts: 0, lease_token: null });
    instrumented.before = async () => {};
    await drain();
    expect(await status(added!.id)).toMatchObject({ status: 'done' });
  });

  it('a worker that lost its lease stores no memories either: the one that has the document found them', async () => {
    const { documents, options, instrumented } = await open();
    const found: string[][] = [];
    const remembering = {
      findIn: async (_: unknown, texts: { id: string }[]) => ({ documents: texts, mined: [], indexed: new Map() }),
      store: async (_: unknown, findings: Findings) => void found.push(findings.documents.map(({ id }) => id)),
    } as unknown as Remembering;
    const [added] = await documents.add([note('Mira has a boat.', { dreaming: 'instant' })]);
    const never = new AbortController().signal;
    instrumented.before = async () => {
      instrumented.before = async () => {};
      // As when it is stopped for longer than its lease, so that its renewal is stopped too.
      const minuteLater = createTestClock('2026-03-01T09:01:00.000Z');
      expect(await createProcessor({ ...options, clock: minuteLater, remembering }).drain(never)).toBe(1);
    };
    await createProcessor({ ...options, remembering }).drain(never);
    expect(found).toEqual([[added!.id], []]);
  });

  it('a dead worker’s documents are processed when its lease has ended, or at once by the only process', async () => {
    const { database, clock, documents, drain, status } = await open();
    const [added] = await documents.add([note('left behind')]);
    const takeAndDie = () =>
      database.execute(sql`
        update documents set status = 'embedding', lease_token = 'dead',
          next_attempt_at = ${new Date(clock.now().getTime() + 30_000)} where id = ${added!.id}`);
    await takeAndDie();
    expect(await drain()).toBe(0);
    clock.advance(30_000);
    expect(await drain()).toBe(1);
    expect(await status(added!.id)).toMatchObject({ status: 'done' });
    await documents.add([note('left behind again')]);
    await takeAndDie();
    await releaseAllLeases(database, clock.now());
    expect(await drain()).toBe(1);
    expect(await status(added!.id)).toMatchObject({ status: 'done', content: 'left behind again' });
  });

  it('a document that ends workers is tried alone in the end, so that its neighbours come in, and then no more', async () => {
    const { database, clock, documents, options, instrumented, status } = await open();
    const texts = ['bad', ...Array.from({ length: 5 }, (_, index) => `good ${index}`)];
    const added = await documents.add(texts.map((text) => note(text, { customId: text })));
    let crashes = 0;
    for (; crashes < 30; crashes++) {
      const process = createCrashingDatabase(database);
      instrumented.before = async (asked) => {
        if (asked.includes('bad')) process.crash();
      };
      await createProcessor({ ...options, database: process })
        .drain(new AbortController().signal)
        .catch(() => {});
      if (!process.crashed) break;
      clock.advance(61_000);
      if (crashes < 4) continue;
      for (const { id } of added.slice(1)) expect(await status(id)).toMatchObject({ status: 'done', error: null });
    }
    expect(crashes).toBe(10);
    expect(await status(added[0]!.id)).toMatchObject({ status: 'failed', error: { code: 'lost_worker', attempts: 1 } });
  });

  it('an empty document is done with no chunks', async () => {
    const { documents, drain, chunks, status } = await open();
    const [added] = await documents.add([
      note('', { body: { kind: 'file', bytes: new Uint8Array(), name: 'empty.txt' } }),
    ]);
    await drain();
    expect(await status(added!.id)).toMatchObject({ status: 'done', content: '' });
    expect(await chunks()).toEqual([]);
  });

  it('several workers share the work and do none of it twice', async () => {
    const { documents, drain, chunks } = await open();
    await documents.add(Array.from({ length: 150 }, (_, index) => note(`note ${index}`, { customId: `n${index}` })));
    const claimed = await Promise.all([drain(), drain(), drain(), drain()]);
    expect(claimed.reduce((sum, count) => sum + count)).toBe(150);
    expect(new Set((await chunks()).map((one) => one.content)).size).toBe(150);
    expect(await chunks()).toHaveLength(150);
  });
});
