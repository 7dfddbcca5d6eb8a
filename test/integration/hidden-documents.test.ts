import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createContainerTags } from '../../src/account/container-tags.ts';
import { everyContainer } from '../../src/base/scope.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createDocuments } from '../../src/engine/document-service.ts';
import { createTextWork } from '../../src/engine/text/text-work.ts';
import { createProcessor } from '../../src/engine/process.ts';
import { purgeDeleted } from '../../src/engine/remove.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { createSearch } from '../../src/search/create-search.ts';
import { sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { rescope } from '../support/rescope.ts';
import { createScopedSource } from '../support/scoped-source.ts';

const textWork = createTextWork({ log: silentLogger, threads: 1, timeoutMs: 30_000, maxMemoryMb: 512 });
afterAll(() => textWork.close());

describe('documents that a mirror removed', () => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  async function open() {
    opened = await openTestDatabase();
    const { database } = opened;
    const clock = createTestClock();
    const source = createScopedSource();
    const mirror = await createMirror({ database, clock, connector: source.connector() });
    const hashing = createHashingEmbedder();
    const embedded: string[] = [];
    const embedder: typeof hashing = {
      ...hashing,
      async embed(texts, options) {
        if (options?.kind === 'document') embedded.push(...texts);
        return hashing.embed(texts, options);
      },
    };
    const log = silentLogger;
    const processor = createProcessor({ database, clock, log, textWork, embedder });
    const search = createSearch({ database, embedder, clock, log });
    const documents = createDocuments({ database, clock, wake: async () => {} });
    const never = new AbortController().signal;
    for (const id of ['apple', 'banana', 'cherry']) source.put('s', id, { text: `All about ${id} trees.` });

    async function sync(): Promise<void> {
      await mirror.sync();
      await processor.drain(never);
    }

    /** Everything in which a document shows. */
    async function seen(customId: string) {
      const scope = everyContainer;
      const { documents: listed, total } = await documents.list({
        scope,
        sort: 'createdAt',
        order: 'asc',
        limit: 100,
        page: 1,
      });
      const [summary] = await createContainerTags({
        database,
        clock,
        defaultContainerTag: 'sm_project_default',
        removeConnections: async () => 0,
      }).list(scope);
      const found = await search.search({
        q: `${customId.split(':')[1]} trees`,
        scope,
        mode: 'hybrid',
        threshold: 0,
        limit: 50,
      });
      const counts = await documents.countByStatus(scope);
      return {
        found: (await documents.find(customId, scope)) !== null,
        listed: listed.some((one) => one.customId === customId),
        total,
        done: counts.done,
        summarized: summary?.documentCount,
        memories: summary?.memoryCount,
        searched: JSON.stringify(found).includes(customId.split(':')[1]!),
      };
    }
    return { database, clock, source, mirror, embedded, sync, seen, documents };
  }

  const count = async (table: string) => {
    const tables = { chunks: sql`chunks`, memories: sql`memories`, documents: sql`documents` };
    const [row] = await opened.database.query<{ count: number }>(
      sql`select count(*) as count from ${tables[table as keyof typeof tables]}`,
    );
    return row!.count;
  };

  it('are seen by nothing, and are back as they were with their item', async () => {
    const { database, clock, source, mirror, embedded, sync, seen } = await open();
    await sync();
    const [apple] = await mirror.rows();
    await database.execute(sql`
      insert into memories (id, container_tag, memory, content_hash, terms, term_counts, term_total, created_at, updated_at)
      values ('fact', 'mirror', 'The apple trees bloom.', 'x', '{}', '{}', 0, ${clock.now()}, ${clock.now()})`);
    await database.execute(sql`
      insert into memory_sources (memory_id, document_id, created_at) values ('fact', ${apple!.id}, ${clock.now()})`);
    const visible = { found: true, listed: true, total: 3, done: 3, summarized: 3, memories: 1, searched: true };
    expect(await seen('scoped:apple')).toEqual(visible);

    await rescope(database, mirror.id, { filters: { exclude: ['apple'] } });
    await sync();
    expect(await seen('scoped:apple')).toEqual({
      found: false,
      listed: false,
      total: 2,
      done: 2,
      summarized: 2,
      memories: 0,
      searched: false,
    });
    expect(await count('chunks')).toBe(3);

    embedded.length = 0;
    source.requests.length = 0;
    await rescope(database, mirror.id, { filters: {} });
    await mirror.sync();
    expect(await seen('scoped:apple')).toEqual(visible);
    expect(embedded).toEqual([]);
    expect(source.fetches()).toEqual([]);
  });

  it('leave nothing behind when they are deleted for good', async () => {
    const { database, clock, source, sync, mirror } = await open();
    await sync();
    source.remove('s', 'apple');
    await database.execute(sql`update connections set on_source_delete = 'delete'`);
    await rescope(database, mirror.id, { filters: { include: ['cherry'] } });
    await sync();
    const before = new Date(clock.now().getTime() + 1);
    expect(await purgeDeleted(database, { before, batch: 1, now: before })).toBe(1);
    expect(await purgeDeleted(database, { before, batch: 5, now: before })).toBe(1);
    expect([await count('documents'), await count('chunks')]).toEqual([1, 1]);
  });

  it('do not stand in the way of a caller who stores the same customId, nor come back over it', async () => {
    const { database, source, sync, mirror, documents } = await open();
    await sync();
    await rescope(database, mirror.id, { filters: { exclude: ['apple'] } });
    await sync();
    const hidden = (await mirror.rows()).find((row) => row.deleted_at !== null)!;
    const body = { kind: 'text', text: 'Mine.' } as const;
    const [mine] = await documents.add([{ containerTag: 'mirror', customId: 'scoped:apple', source: 'api', body }]);
    expect(mine).toMatchObject({ outcome: 'created' });
    expect(mine!.id).not.toBe(hidden.id);
    await rescope(database, mirror.id, { filters: {} });
    source.requests.length = 0;
    await sync();
    expect(source.fetches()).toEqual(['fetch apple']);
    expect((await mirror.texts()).get('apple')).toBe('All about apple trees.');
    expect((await documents.find('scoped:apple', everyContainer))!.id).toBe(mine!.id);
  });

  it('a document that the user deletes stays deleted until the source changes it', async () => {
    const { database, source, sync, mirror, documents } = await open();
    await sync();
    const id = (await mirror.documentIds()).get('apple')!;
    await documents.remove([id]);
    expect(await count('documents')).toBe(2);
    await rescope(database, mirror.id, { filters: { exclude: ['apple'] } });
    await sync();
    await rescope(database, mirror.id, { filters: {} });
    await sync();
    expect((await mirror.texts()).has('apple')).toBe(false);
    source.change('s', 'apple', { text: 'New apples.' });
    await sync();
    expect((await mirror.texts()).get('apple')).toBe('New apples.');
    expect((await mirror.documentIds()).get('apple')).not.toBe(id);
  });

  it('one that was removed while it waited to be processed is processed when it is back', async () => {
    const { database, sync, mirror, seen } = await open();
    await mirror.sync();
    await rescope(database, mirror.id, { filters: { exclude: ['apple'] } });
    await sync();
    expect(await count('chunks')).toBe(2);
    await rescope(database, mirror.id, { filters: {} });
    await sync();
    expect(await seen('scoped:apple')).toMatchObject({ searched: true, done: 3 });
  });
});
