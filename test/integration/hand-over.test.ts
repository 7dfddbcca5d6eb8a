import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { everyContainer } from '../../src/base/scope.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { DocumentInput } from '../../src/engine/document.ts';
import { createDocuments } from '../../src/engine/document-service.ts';
import { createTextWork } from '../../src/engine/text/text-work.ts';
import { createHandOver, type HandOver, createProcessor, type Processor } from '../../src/engine/process.ts';
import { ingest } from '../../src/engine/ingest.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { rawSql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';

const textWork = createTextWork({ log: silentLogger });
afterAll(() => textWork.close());

describe('documents handed over', () => {
  let opened: TestDatabase;
  let processor: Processor;
  let handOver: HandOver;
  let clock: ReturnType<typeof createTestClock>;
  beforeEach(async () => {
    opened = await openTestDatabase();
    clock = createTestClock();
    const { database } = opened;
    processor = createProcessor({ database, clock, log: silentLogger, textWork, embedder: createHashingEmbedder() });
    handOver = createHandOver({ processor, clock, log: silentLogger, concurrency: 2, batchSize: 3 });
  });
  afterEach(async () => {
    await handOver.close();
    await opened.close();
  });

  const notes = (count: number): DocumentInput[] =>
    Array.from({ length: count }, (_, index) => ({
      containerTag: 'notes',
      customId: `note-${index}`,
      source: 'api',
      body: { kind: 'text', text: `Note ${index} speaks of subject ${index}.` },
    }));
  const store = async (inputs: DocumentInput[]) => {
    const lease = handOver.reserve()!;
    const results = await opened.database.transaction((tx) => ingest(tx, inputs, clock, lease));
    return { lease, results, claimed: results.flatMap((one) => one.claimed ?? []) };
  };
  const statuses = async () => {
    const documents = createDocuments({ database: opened.database, clock, wake: async () => {} });
    return documents.countByStatus(everyContainer);
  };

  it('are done without a claim', async () => {
    const { lease, claimed, results } = await store(notes(10));
    expect(results.map((one) => one.status)).toEqual(Array(10).fill('queued'));
    expect(await processor.drain(new AbortController().signal)).toBe(0);
    handOver.accept(lease, claimed);
    await expect.poll(async () => (await statuses()).done, { timeout: 30_000 }).toBe(10);
    const chunks = await opened.database.query<{ content: string }>(rawSql('select content from chunks'));
    expect(new Set(chunks.map((one) => one.content)).size).toBe(10);
  });

  it('only new ones are; a changed one is queued for any worker', async () => {
    const first = await store(notes(2));
    handOver.accept(first.lease, first.claimed);
    await expect.poll(async () => (await statuses()).done, { timeout: 30_000 }).toBe(2);
    const changed = notes(3).map((one) => ({
      ...one,
      body: { kind: 'text' as const, text: `${one.customId} is new` },
    }));
    const second = await store(changed);
    expect(second.claimed).toHaveLength(1);
    expect(await processor.drain(new AbortController().signal)).toBe(2);
  });

  it('are found by another worker when this process dies before it starts', async () => {
    await store(notes(4));
    expect(await processor.drain(new AbortController().signal)).toBe(0);
    clock.advance(30_001);
    expect(await processor.drain(new AbortController().signal)).toBe(4);
    expect((await statuses()).done).toBe(4);
  });

  it('go back to the queue at a stop', async () => {
    const { lease, claimed } = await store(notes(5));
    await handOver.close();
    expect(handOver.reserve()).toBeNull();
    handOver.accept(lease, claimed);
    await expect.poll(async () => (await statuses()).queued).toBe(5);
    expect(await processor.drain(new AbortController().signal)).toBe(5);
  });
});
