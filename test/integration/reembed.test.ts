import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { createDocuments } from '../../src/engine/document-service.ts';
import { withContext } from '../../src/engine/chunk/chunk.ts';
import { createTextWork } from '../../src/engine/text/text-work.ts';
import { createProcessor } from '../../src/engine/process.ts';
import { reembed } from '../../src/engine/reembed.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { holdLease } from '../../src/store/leases.ts';
import { rawSql, sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';

const textWork = createTextWork({ log: silentLogger, threads: 1, timeoutMs: 30_000, maxMemoryMb: 512 });
afterAll(() => textWork.close());

const documentCount = 70;
const before = createHashingEmbedder({ dimensions: 32 });
const after = createHashingEmbedder({ dimensions: 48 });

describe('a change of the embedding model', () => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  async function open() {
    opened = await openTestDatabase();
    const { database } = opened;
    const clock = createTestClock();
    const processor = createProcessor({ database, clock, log: silentLogger, textWork, embedder: before });
    await createDocuments({ database, clock, wake: async () => {} }).add(
      Array.from({ length: documentCount }, (_, index) => ({
        containerTag: 'notes',
        customId: String(index),
        source: 'api',
        body: { kind: 'markdown', text: `# Matter ${index}\n\nIt is settled in year ${1900 + index}.` },
      })),
    );
    await processor.drain(new AbortController().signal);
    await database.execute(sql`
      insert into memories (id, container_tag, memory, content_hash, terms, term_counts, term_total, embedding,
        embedding_model, created_at, updated_at)
      select 'm' || n, 'notes', 'Mira has ' || n || ' boats.', n::text, '{}', '{}', 0, null, ${before.id},
        ${clock.now()}::timestamptz, ${clock.now()}::timestamptz from generate_series(1, 5) n`);
    const run = (embedder: Embedder, signal = new AbortController().signal, holder = 'one') =>
      reembed({ database, embedder, clock, log: silentLogger, holder }, signal);
    const models = async () => {
      const rows = await database.query<{ model: string; count: number }>(
        rawSql(`select embedding_model as model, count(*) as count from
          (select embedding_model from chunks union all select embedding_model from memories) v group by 1`),
      );
      return Object.fromEntries(rows.map(({ model, count }) => [model, count]));
    };
    return { database, clock, run, models };
  }

  it('gives chunks and memories vectors of the new one, once', async () => {
    const { database, run, models } = await open();
    const all = documentCount + 5;
    expect(await run(after)).toBe(all);
    expect(await models()).toEqual({ [after.id]: all });
    const rows = await database.query<{ context: string | null; content: string; vector: string }>(
      rawSql(`
      select context, content, embedding::text as vector from chunks
      union all select null, memory, embedding::text from memories`),
    );
    const vectors = await after.embed(rows.map(({ context, content }) => withContext(context, content)));
    for (const [index, { vector }] of rows.entries()) {
      const stored = JSON.parse(vector) as number[];
      expect(stored.every((value, place) => Math.abs(value - vectors[index]![place]!) < 1e-6)).toBe(true);
    }
    expect(await run(after)).toBe(0);
  });

  it('goes on where it was stopped', async () => {
    const { run, models } = await open();
    const stop = new AbortController();
    const stopping: Embedder = {
      ...after,
      async embed(texts, options) {
        stop.abort();
        return after.embed(texts, { ...options, signal: new AbortController().signal });
      },
    };
    const first = await run(stopping, stop.signal);
    expect(first).toBe(64);
    expect(await models()).toEqual({ [before.id]: documentCount + 5 - first, [after.id]: first });
    expect(await run(after)).toBe(documentCount + 5 - first);
  });

  it('is taken over from a process that is gone', async () => {
    const { database, clock, run, models } = await open();
    const now = clock.now();
    await holdLease(database, 'reembed', { holder: 'killed', until: new Date(now.getTime() + 30_000), now });
    const running = run(after, new AbortController().signal, 'two');
    let isOver = false;
    void running.finally(() => (isOver = true));
    while (!isOver) {
      clock.advance(60_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await running).toBe(documentCount + 5);
    expect(await models()).toEqual({ [after.id]: documentCount + 5 });
  });
});
