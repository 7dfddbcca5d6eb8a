import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { everyContainer } from '../../src/base/scope.ts';
import type { DocumentInput } from '../../src/engine/document.ts';
import { createDocuments } from '../../src/engine/document-service.ts';
import { createHandOver, createProcessor } from '../../src/engine/process.ts';
import { ingest } from '../../src/engine/ingest.ts';
import { createTextWork, type TextWork } from '../../src/engine/text/text-work.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';

/** Takes the parser longer than any test: each `<` becomes an element of its own. */
const huge = (index: number): DocumentInput => ({
  ...{ containerTag: 'a', customId: `huge-${index}`, source: 'api' },
  body: { kind: 'html', text: `<html><body>${'<'.repeat(4_000_000)}` },
});
const small = (index: number): DocumentInput => ({
  ...{ containerTag: index % 2 === 0 ? 'a' : 'b', customId: `small-${index}`, source: 'api' },
  body: { kind: 'text', text: `Note ${index} speaks of subject ${index}.` },
});
const range = <Item>(count: number, make: (index: number) => Item) => Array.from({ length: count }, (_, i) => make(i));

describe('documents beside a huge one', { timeout: 60_000 }, () => {
  let opened: TestDatabase;
  let textWork: TextWork;
  const stop = new AbortController();
  beforeEach(async () => {
    opened = await openTestDatabase();
    textWork = createTextWork({ log: silentLogger, timeoutMs: 600_000, maxMemoryMb: 4_096 });
  });
  afterEach(async () => {
    await textWork.close();
    await opened.close();
  });

  function open() {
    const { database } = opened;
    const parts = { database, clock: systemClock, log: silentLogger };
    const processor = createProcessor({ ...parts, textWork, embedder: createHashingEmbedder(), leaseMs: 3_600_000 });
    const documents = createDocuments({ ...parts, wake: async () => {} });
    const done = async () => (await documents.countByStatus(everyContainer)).done;
    return { ...parts, processor, documents, done };
  }

  it('are done while it is still in work, whether they came with it or after it', async () => {
    const { processor, documents, done } = open();
    await documents.add([...range(3, huge), ...range(20, small)]);
    const drained = processor.drain(stop.signal);
    await expect.poll(done, { timeout: 40_000 }).toBe(20);
    await documents.add(range(10, (index) => small(100 + index)));
    await expect.poll(done, { timeout: 40_000 }).toBe(30);
    expect((await documents.countByStatus(everyContainer)).failed ?? 0).toBe(0);
    await textWork.close();
    await drained;
  });

  it('are done when they are handed over after more huge ones than there are workers', async () => {
    const { database, clock, log, processor, done } = open();
    const handOver = createHandOver({ processor, clock, log, concurrency: 1, batchSize: 2 });
    const lease = handOver.reserve()!;
    const inputs = [...range(4, huge), ...range(20, small)];
    const results = await database.transaction((tx) => ingest(tx, inputs, clock, lease));
    handOver.accept(
      lease,
      results.flatMap((one) => one.claimed ?? []),
    );
    await expect.poll(done, { timeout: 40_000 }).toBe(20);
    await textWork.close();
    await handOver.close();
  });
});
