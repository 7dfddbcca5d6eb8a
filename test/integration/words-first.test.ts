import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { MemorydError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { everyContainer } from '../../src/base/scope.ts';
import type { DocumentInput } from '../../src/engine/document.ts';
import { createDocuments } from '../../src/engine/document-service.ts';
import { createProcessor } from '../../src/engine/process.ts';
import { createTextWork } from '../../src/engine/text/text-work.ts';
import type { Findings, Remembering } from '../../src/memory/remember.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { createSearch } from '../../src/search/create-search.ts';
import { releaseAllLeases } from '../../src/store/processing.ts';
import { rawSql, sql } from '../../src/store/sql.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { createCrashingDatabase } from '../support/crashing-database.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { isAllowed, recordedMoves, recordStatuses } from '../support/status-history.ts';

const textWork = createTextWork({ log: silentLogger, threads: 1, timeoutMs: 30_000, maxMemoryMb: 512 });
afterAll(() => textWork.close());

const momentMs = 500;
const never = new AbortController().signal;

/** Of documents it makes vectors when the gate is open, and says when one waits; a car and an automobile are the same to it. */
function createGatedEmbedder(clock: TestClock) {
  const inner = createHashingEmbedder();
  const state = {
    texts: [] as string[],
    msPerText: 0,
    gate: Promise.resolve(),
    waits: Promise.withResolvers<void>(),
    check: async (_texts: readonly string[]): Promise<void> => {},
  };
  const embedder: Embedder = {
    ...inner,
    async embed(texts, options) {
      const meant = texts.map((text) => text.replaceAll('automobile', 'car'));
      if (options?.kind === 'query') return inner.embed(meant, options);
      options?.signal?.throwIfAborted();
      state.waits.resolve();
      await Promise.race([state.gate, aborted(options?.signal)]);
      await state.check(texts);
      clock.advance(state.msPerText * texts.length);
      state.texts.push(...texts);
      return inner.embed(meant, options);
    },
  };
  /** From here on calls wait until what this answers is called. */
  function close(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    Object.assign(state, { gate: promise, waits: Promise.withResolvers<void>() });
    return resolve;
  }
  return Object.assign(state, { embedder, close });
}

function aborted(signal?: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal?.addEventListener('abort', () => reject(signal.reason));
  return promise;
}

const note = (customId: string, text: string, more: Partial<DocumentInput> = {}): DocumentInput => ({
  ...{ containerTag: 'notes', customId, source: 'api', body: { kind: 'markdown', text }, ...more },
});

/** A chunk for each. */
const parts = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => {
    const sentence = `${name} ${index} speaks of matter number ${index} at some length, so that it fills a chunk.`;
    return `## Part ${index}\n\n${`${sentence} `.repeat(24)}`;
  }).join('\n\n');

describe('words before vectors', () => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  async function open() {
    opened = await openTestDatabase();
    const { database } = opened;
    await recordStatuses(database);
    const clock = createTestClock();
    const model = createGatedEmbedder(clock);
    const options = { database, clock, log: silentLogger, textWork, embedder: model.embedder };
    const processor = createProcessor(options);
    const documents = createDocuments({ database, clock, wake: async () => {} });
    const search = createSearch({ database, clock, log: silentLogger, embedder: model.embedder });
    const chunks = () =>
      database.query<{ id: string; content: string; model: string | null; document_id: string }>(
        rawSql('select id, content, embedding_model as model, document_id from chunks order by document_id, position'),
      );
    const status = async (id: string) => (await documents.find(id, everyContainer))!;
    /** What is related to the query. */
    const found = async (q: string) => {
      const request = { q, scope: everyContainer, mode: 'hybrid', threshold: 0.6, limit: 10 } as const;
      return (await search.search(request)).map(({ text }) => text);
    };
    /** Adds a document and waits until it has its words, and the model its text. */
    const addWithWords = async (input: DocumentInput, worker = processor) => {
      const letGo = model.close();
      const { id } = (await documents.add([input]))[0]!;
      const drained = worker.drain(never);
      await model.waits.promise;
      clock.advance(momentMs);
      await expect.poll(async () => (await chunks()).some((one) => one.document_id === id)).toBe(true);
      return { id, letGo, drained };
    };
    const isInOrder = async () =>
      expect((await recordedMoves(database)).filter((move) => !isAllowed(move))).toEqual([]);
    return {
      ...{ database, clock, model, options, processor, documents, chunks, status, found, addWithWords, isInOrder },
    };
  }

  it('a document is found by its words before its vectors are there, and then by its meaning', async () => {
    const { model, documents, chunks, status, found, addWithWords, isInOrder } = await open();
    const { id, letGo, drained } = await addWithWords(note('one', 'Mira sold her car.'));
    expect(await status(id)).toMatchObject({ status: 'embedding', error: null, content: 'Mira sold her car.' });
    expect(await documents.countFoundByWords(everyContainer)).toBe(1);
    expect(await documents.oldestWaitingAt(everyContainer)).toBeInstanceOf(Date);
    expect(await found('Mira car')).toEqual(['Mira sold her car.']);
    expect(await found('automobile')).toEqual([]);
    letGo();
    await drained;
    expect(await status(id)).toMatchObject({ status: 'done' });
    expect(await documents.countFoundByWords(everyContainer)).toBe(0);
    expect(await documents.oldestWaitingAt(everyContainer)).toBeNull();
    expect(await found('automobile')).toEqual(['Mira sold her car.']);
    expect((await chunks()).map((one) => one.model)).toEqual([model.embedder.id]);
    expect(model.texts).toHaveLength(1);
    await isInOrder();
  });

  it('is done in one step when its vectors are there in a moment', async () => {
    const { database, model, processor, documents } = await open();
    model.msPerText = 10;
    await documents.add([note('one', parts('One', 5)), note('two', parts('Two', 5))]);
    await processor.drain(never);
    const [row] = await database.query(
      sql`select count(words_revision) as worded from documents where status = 'done'`,
    );
    expect(row).toEqual({ worded: 0 });
  });

  it('long documents are found by their words at once, and short documents get their vectors first', async () => {
    const { database, clock, model, processor, documents, chunks, isInOrder } = await open();
    model.msPerText = 100;
    await documents.add([note('first', 'The first one shows how long it takes.')]);
    await processor.drain(never);
    model.close();
    await documents.add([
      note('long', parts('Changelog', 40)),
      note('longer', parts('Manual', 40)),
      ...Array.from({ length: 12 }, (_, index) => note(`short ${index}`, `Short note ${index}.`)),
    ]);
    const stop = new AbortController();
    const drained = processor.drain(stop.signal);
    const worded = async () => {
      clock.advance(momentMs / 10);
      return new Set((await chunks()).map((one) => one.document_id)).size;
    };
    await expect.poll(worded).toBe(15);
    // Whichever was begun first is given back, so that all of them wait.
    stop.abort();
    await drained;
    model.close()();
    model.texts.length = 0;
    await processor.drain(never);
    const { texts } = model;
    // A second worker takes a turn of a long one meanwhile: as many texts as two seconds are enough for.
    const lastShort = texts.findLastIndex((text) => text.startsWith('Short note'));
    const before = texts.slice(0, lastShort).filter((text) => /Changelog|Manual/.test(text));
    expect(before.length).toBeLessThanOrEqual(20);
    expect(new Set(texts).size).toBe(texts.length);
    const [row] = await database.query(sql`
      select count(*) filter (where status = 'done') as done, (select count(*) from chunks where embedding is null) as left from documents`);
    expect(row).toEqual({ done: 15, left: 0 });
    await isInOrder();
  });

  it('a new document goes before those that wait', async () => {
    const { model, clock, processor, documents, chunks } = await open();
    model.msPerText = 1_000;
    await documents.add([note('first', 'The first one shows how long it takes.')]);
    await processor.drain(never);
    await documents.add(Array.from({ length: 160 }, (_, index) => note(`old ${index}`, `Old note ${index}.`)));
    model.texts.length = 0;
    let adding: Promise<void> | undefined;
    const areThere = (count: number) =>
      expect
        .poll(async () => {
          clock.advance(momentMs / 10);
          return (await chunks()).length;
        })
        .toBe(count);
    const add = async () => {
      await areThere(161);
      await documents.add([note('new', 'The new one.')]);
      await areThere(162);
    };
    model.check = () => (adding ??= add());
    await processor.drain(never);
    // The model takes so long by this clock that a lease may run out before it is renewed.
    expect(new Set(model.texts).size).toBe(161);
    expect(model.texts.indexOf('The new one.')).toBeLessThan(80);
  });

  it('a worker that dies between the steps leaves the words, and another one makes the vectors', async () => {
    const { database, clock, model, options, chunks, status, found, addWithWords, isInOrder } = await open();
    const process = createCrashingDatabase(database);
    const { id, drained } = await addWithWords(
      note('one', parts('Matter', 5)),
      createProcessor({ ...options, database: process }),
    );
    process.crash();
    const before = await chunks();
    expect(await found('"Matter 3"')).not.toEqual([]);
    model.close()();
    clock.advance(60_000);
    await createProcessor(options).drain(never);
    expect(await status(id)).toMatchObject({ status: 'done', error: null });
    const after = await chunks();
    expect(after.map((one) => one.id)).toEqual(before.map((one) => one.id));
    expect(after.every((one) => one.model === model.embedder.id)).toBe(true);
    await isInOrder();
    void drained.catch(() => {});
  });

  it('documents of the only process are continued when it starts again after a crash', async () => {
    const { database, clock, model, options, chunks, status, addWithWords, isInOrder } = await open();
    const process = createCrashingDatabase(database);
    const { id, drained } = await addWithWords(
      note('one', 'Kept.'),
      createProcessor({ ...options, database: process }),
    );
    process.crash();
    const before = await chunks();
    expect(await releaseAllLeases(database, clock.now())).toBe(1);
    expect(await status(id)).toMatchObject({ status: 'embedding' });
    model.close()();
    await createProcessor(options).drain(never);
    expect(await status(id)).toMatchObject({ status: 'done' });
    expect((await chunks()).map((one) => one.id)).toEqual(before.map((one) => one.id));
    await isInOrder();
    void drained.catch(() => {});
  });

  it('a stop gives the document back with its words', async () => {
    const { database, model, documents, processor, status, clock, chunks } = await open();
    const stop = new AbortController();
    model.close();
    const [added] = await documents.add([note('one', 'Interrupted.')]);
    const drained = processor.drain(stop.signal);
    await model.waits.promise;
    clock.advance(momentMs);
    await expect.poll(async () => (await chunks()).length).toBe(1);
    stop.abort();
    await drained;
    const [row] = await database.query(sql`select status, attempts, lease_token from documents`);
    expect(row).toEqual({ status: 'embedding', attempts: 0, lease_token: null });
    model.close()();
    await processor.drain(never);
    expect(await status(added!.id)).toMatchObject({ status: 'done' });
  });

  it('an edit between the steps keeps the old words until the new ones are there, and nothing of them after', async () => {
    const { model, processor, documents, chunks, status, found, addWithWords, isInOrder } = await open();
    const { id, letGo, drained } = await addWithWords(note('one', `# Old\n\nThe old text.\n\n${parts('Same', 3)}`));
    await documents.add([note('one', `# Old\n\nThe new text.\n\n${parts('Same', 3)}`)]);
    expect(await found('"old text"')).toHaveLength(1);
    letGo();
    await drained;
    await processor.drain(never);
    expect(await status(id)).toMatchObject({ status: 'done', revision: 2 });
    const contents = (await chunks()).map((one) => one.content).join('\n');
    expect(contents).toContain('new text');
    expect(contents).not.toContain('old text');
    expect((await chunks()).every((one) => one.model === model.embedder.id)).toBe(true);
    await isInOrder();
  });

  it('keeps chunks that an edit leaves as they are, with and without vectors', async () => {
    const { database, model, processor, documents, chunks } = await open();
    await documents.add([note('one', parts('Same', 6))]);
    await processor.drain(never);
    const before = await chunks();
    await database.execute(sql`update chunks set embedding = null, embedding_model = null where position < 3`);
    model.texts.length = 0;
    await documents.add([note('one', `${parts('Same', 6)}\n\n## Another\n\nOne more.`)]);
    await processor.drain(never);
    const after = await chunks();
    expect(after.slice(0, 5).map((one) => one.id)).toEqual(before.slice(0, 5).map((one) => one.id));
    expect(after.every((one) => one.model === model.embedder.id)).toBe(true);
    expect(model.texts.length).toBeLessThanOrEqual(5);
  });

  it('a document that is deleted between the steps is gone', async () => {
    const { documents, chunks, addWithWords } = await open();
    const { id, letGo, drained } = await addWithWords(note('one', 'Soon gone.'));
    await documents.remove([id]);
    letGo();
    await drained;
    expect(await chunks()).toEqual([]);
  });

  it('is found by its words while the model fails, and has its vectors when that works again', async () => {
    const { clock, model, processor, chunks, status, found, addWithWords, isInOrder } = await open();
    model.check = async () => {
      throw new MemorydError('embed_failed', 'The model is away.', { retryAfterMs: 1 });
    };
    const { id, letGo, drained } = await addWithWords(note('one', 'Mira sold her car.'));
    letGo();
    await drained;
    const before = await chunks();
    expect(await status(id)).toMatchObject({ status: 'queued', error: { code: 'embed_failed', attempts: 1 } });
    for (const pauseMs of [5_000, 30_000]) {
      clock.advance(pauseMs);
      await processor.drain(never);
    }
    expect(await status(id)).toMatchObject({ status: 'failed', error: { code: 'embed_failed' } });
    expect(await found('Mira car')).toEqual(['Mira sold her car.']);
    model.check = async () => {};
    await opened.database.execute(sql`update documents set status = 'queued', next_attempt_at = ${clock.now()}`);
    await processor.drain(never);
    expect(await status(id)).toMatchObject({ status: 'done', error: null });
    expect(await chunks()).toEqual(before.map((one) => ({ ...one, model: model.embedder.id })));
    await isInOrder();
  });

  it('one text that the model cannot take does not fail its neighbours', async () => {
    const { model, processor, documents, status } = await open();
    model.msPerText = 400;
    await documents.add([note('first', 'The first one shows how long it takes.')]);
    await processor.drain(never);
    model.check = async (texts) => {
      if (texts.some((text) => text.includes('POISON')))
        throw new MemorydError('embed_failed', 'The model cannot take this.');
    };
    const added = await documents.add(['good', 'POISON', 'fine'].map((text) => note(text, text)));
    await processor.drain(never);
    const all = await Promise.all(added.map(({ id }) => status(id)));
    expect(all.map((one) => one.status)).toEqual(['done', 'queued', 'done']);
  });

  it('a document that ends workers with its vectors is tried alone in the end, and then no more', async () => {
    const { database, clock, model, options, processor, documents, status } = await open();
    model.msPerText = 400;
    await documents.add([note('first', 'The first one shows how long it takes.')]);
    await processor.drain(never);
    model.close();
    const added = await documents.add(['bad', 'good', 'fine'].map((text) => note(text, text)));
    const stop = new AbortController();
    const drained = processor.drain(stop.signal);
    await model.waits.promise;
    stop.abort();
    await drained;
    model.close()();
    let crashes = 0;
    for (; crashes < 30; crashes++) {
      const process = createCrashingDatabase(database);
      model.check = async (texts) => {
        if (texts.includes('bad')) process.crash();
      };
      await createProcessor({ ...options, database: process })
        .drain(never)
        .catch(() => {});
      if (!process.crashed) break;
      clock.advance(61_000);
    }
    expect(crashes).toBe(10);
    const all = await Promise.all(added.map(({ id }) => status(id)));
    expect(all.map((one) => one.status)).toEqual(['failed', 'done', 'done']);
    expect(all[0]).toMatchObject({ error: { code: 'lost_worker' } });
  });

  it('equal texts are embedded once, of documents together and of one that comes later', async () => {
    const { model, processor, documents, chunks } = await open();
    model.msPerText = 100;
    const license = parts('License', 8);
    await documents.add([note('a', license)]);
    await processor.drain(never);
    await documents.add([note('b', license), note('c', license), note('d', `${license}\n\n## More\n\nAnd more.`)]);
    await processor.drain(never);
    expect(new Set(model.texts).size).toBe(model.texts.length);
    const all = await chunks();
    expect(all.length).toBeGreaterThan(32);
    expect(all.every((one) => one.model === model.embedder.id)).toBe(true);
    const [row] = await opened.database.query<{ vectors: number; texts: number }>(sql`
      select count(distinct embedding::text) as vectors, count(distinct content_hash) as texts from chunks`);
    expect(row!.vectors).toBe(row!.texts);
  });

  it('memories that are wanted at once are found in what has its words', async () => {
    const { model, options, documents } = await open();
    const stored: string[][] = [];
    const find = async (read: { id: string; text?: string }[]) => ({ documents: read, mined: [], indexed: new Map() });
    const remembering = {
      find,
      findIn: async (_: unknown, texts: { id: string }[]) => find(texts),
      store: async (_: unknown, findings: Findings) => void stored.push(findings.documents.map(({ id }) => id)),
    } as unknown as Remembering;
    model.msPerText = 400;
    const processor = createProcessor({ ...options, remembering });
    await documents.add([note('first', 'The first one shows how long it takes.')]);
    await processor.drain(never);
    const added = await documents.add([
      note('one', 'Mira has a boat.', { dreaming: 'instant' }),
      note('two', 'Mira has a car.', { dreaming: 'instant' }),
    ]);
    await processor.drain(never);
    expect(stored.flat().toSorted()).toEqual(added.map(({ id }) => id).toSorted());
  });

  it('several workers share the vectors and make none of them twice', async () => {
    const { model, options, documents, chunks } = await open();
    model.msPerText = 50;
    const workers = Array.from({ length: 3 }, () => createProcessor(options));
    await documents.add(Array.from({ length: 150 }, (_, index) => note(`n${index}`, `note ${index}`)));
    await Promise.all(workers.map((worker) => worker.drain(never)));
    expect(await chunks()).toHaveLength(150);
    expect((await chunks()).every((one) => one.model === model.embedder.id)).toBe(true);
    expect(model.texts).toHaveLength(150);
  });
});
