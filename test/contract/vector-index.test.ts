import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import type { Database } from '../../src/store/database.ts';
import { sql } from '../../src/store/sql.ts';
import { createVectorIndex, type VectorIndexOptions } from '../../src/store/vector-index.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createRandom, createVectors } from '../support/random-vectors.ts';
import { storeWorld, worldModel } from '../support/search-world.ts';

const dimensions = 4;
const threshold = 50;
const minuteMs = 60_000;

describe.each(engines)('vector index on %s', (engine) => {
  let opened: TestDatabase;
  let database: Database;
  let clock: TestClock;
  let stored: number;

  beforeAll(async () => {
    opened = await openTestDatabase(engine);
    database = opened.database;
  });
  beforeEach(() => {
    clock = createTestClock();
    stored = 0;
  });
  afterEach(async () => {
    for (const { name } of await indexes()) await database.script(`drop index ${name}`);
    await database.script('truncate documents, memories, leases, connections, sync_items cascade');
  });
  afterAll(() => opened.close());

  function create(options: Partial<VectorIndexOptions> = {}) {
    return createVectorIndex({
      kind: 'chunks',
      database,
      embedder: { id: worldModel, dimensions },
      clock,
      log: silentLogger,
      threshold,
      bulkDocuments: 10,
      ...options,
    });
  }

  async function storeVectors(count: number, model = worldModel, width = dimensions): Promise<void> {
    const next = createVectors(createRandom(stored), { dimensions: width, clusters: 5, spread: 0.5 });
    const id = `d${stored++}`;
    const chunks = Array.from({ length: count }, (_, index) => ({
      id: `${id}-${index}`,
      text: 'text',
      vector: next(),
      model,
    }));
    await storeWorld(database, { documents: [{ id, containerTag: 'team', chunks }] });
  }

  async function queueDocuments(count: number): Promise<void> {
    await database.execute(sql`
      insert into documents (id, container_tag, status, type, content_hash, created_at, updated_at)
      select 'waiting' || n, 'team', 'queued', 'text', '', now(), now() from generate_series(1, ${count}::integer) n`);
  }

  /** A run that has its connection for another half a minute. */
  async function beginFetching(count: number): Promise<void> {
    const until = new Date(clock.now().getTime() + minuteMs / 2);
    await database.execute(sql`
      insert into connections (id, provider, container_tag, status, lease_until, created_at, updated_at)
      values ('running', 'folder', 'team', 'active', ${until}, now(), now())`);
    await database.execute(sql`
      insert into partitions (connection_id, id, created_at, updated_at) values ('running', 'all', now(), now())`);
    await database.execute(sql`
      insert into sync_items (connection_id, partition_id, ext_id, custom_id, want_rev, state, seen_epoch, created_at, updated_at)
      select 'running', 'all', n, n, 'r', 'pending', 1, now(), now() from generate_series(1, ${count}::integer) n`);
  }

  async function indexes(): Promise<{ name: string; valid: boolean; definition: string }[]> {
    return database.query(sql`
      select c.relname as name, i.indisvalid as valid, pg_get_indexdef(c.oid) as definition
      from pg_index i join pg_class c on c.oid = i.indexrelid
      where c.relname like '%\\_hnsw\\_%'`);
  }

  test('is absent below the threshold, and built at it', async () => {
    const index = create();
    await storeVectors(threshold - 1);
    expect(await index.ensure()).toBe('absent');
    expect(await indexes()).toEqual([]);
    await storeVectors(1);
    clock.advance(minuteMs);
    expect(await index.ensure()).toBe('ready');
    const [built] = await indexes();
    expect(built!.valid).toBe(true);
    expect(built!.definition).toContain(`(embedding)::vector(${dimensions})`);
    expect(built!.definition).toContain('hand-made');
  });

  test('of memories holds those that count, by the same rules', async () => {
    const next = createVectors(createRandom(1), { dimensions, clusters: 5, spread: 0.5 });
    const memories = Array.from({ length: threshold + 1 }, (_, index) => ({
      ...{ id: `m${index}`, containerTag: 'team', text: 'text', vector: next(), forgotten: index < 2 },
    }));
    await storeWorld(database, { documents: [], memories });
    expect(await create({ kind: 'memories' }).ensure()).toBe('absent');
    await database.execute(sql`update memories set is_forgotten = false where id = 'm0'`);
    expect(await create({ kind: 'memories' }).ensure()).toBe('ready');
    const [built] = await indexes();
    expect(built!.name).toMatch(/^memories_hnsw_/);
    expect(built!.definition).toContain('is_latest');
    expect(await create().ensure()).toBe('absent');
  });

  test('vectors of other models do not count', async () => {
    await storeVectors(threshold * 2, 'another');
    expect(await create().ensure()).toBe('absent');
  });

  test('looks again only after a rest', async () => {
    const index = create();
    expect(await index.ensure()).toBe('absent');
    await storeVectors(threshold);
    clock.advance(5_000);
    expect(await index.ensure()).toBe('absent');
    clock.advance(5_000);
    expect(await index.ensure()).toBe('ready');
  });

  test('another model’s index goes, and the new model has its own', async () => {
    await storeVectors(threshold, 'small', 3);
    await create({ embedder: { id: 'small', dimensions: 3 } }).ensure();
    const [old] = await indexes();
    await storeVectors(threshold);
    expect(await create().ensure()).toBe('ready');
    const found = await indexes();
    expect(found.length).toBe(1);
    expect(found[0]!.name).not.toBe(old!.name);
  });

  test.each(["o'brien/model:7b@v1.2", 'dollar $1 \\ back', '模型'])('model ids may hold anything: %s', async (id) => {
    await storeVectors(threshold, id);
    const index = create({ embedder: { id, dimensions } });
    expect(await index.ensure()).toBe('ready');
    expect((await indexes())[0]!.valid).toBe(true);
    const [row] = await database.query<{ count: number }>(
      sql`select count(*) as count from chunks where embedding_model = ${id}`,
    );
    expect(row!.count).toBe(threshold);
  });

  test('more dimensions than pgvector indexes are left unindexed', async () => {
    const index = create({ embedder: { id: 'huge', dimensions: 3_072 } });
    expect(await index.ensure()).toBe('unsupported');
  });

  describe('a bulk load', () => {
    test('is seen by itself when many documents wait', async () => {
      await storeVectors(threshold);
      const index = create();
      await queueDocuments(16);
      // Fewer than a third of the vectors: inserting is as good.
      expect(await index.ensure()).toBe('ready');
      await database.execute(sql`delete from documents where status = 'queued'`);
      await queueDocuments(40);
      clock.advance(minuteMs);
      expect(await index.ensure()).toBe('deferred');
      expect(await indexes()).toEqual([]);
      await database.execute(sql`update documents set status = 'done'`);
      clock.advance(minuteMs);
      expect(await index.ensure()).toBe('ready');
    });

    test('is seen by itself when a run of this moment is still to fetch many items, and not when it is over', async () => {
      await storeVectors(threshold);
      await beginFetching(40);
      const index = create();
      expect(await index.ensure()).toBe('deferred');
      clock.advance(minuteMs);
      expect(await index.ensure()).toBe('ready');
    });
  });

  test('callers at the same time make one index, and the second does not wait', async () => {
    await storeVectors(threshold);
    const index = create();
    const states = await Promise.all([index.ensure(), index.ensure()]);
    expect(states).toEqual(['ready', 'building']);
    expect((await indexes()).length).toBe(1);
  });

  test('an aborted signal builds nothing', async () => {
    await storeVectors(threshold);
    expect(await create().ensure(AbortSignal.abort())).toBe('deferred');
    expect(await indexes()).toEqual([]);
  });

  if (engine === 'postgres')
    describe('on a server', () => {
      test('an unfinished index of an interrupted build is replaced', async () => {
        await storeVectors(threshold);
        await create().ensure();
        const [built] = await indexes();
        await database.execute(sql`update pg_index set indisvalid = false where indexrelid = ${built!.name}::regclass`);
        const index = create();
        expect(await index.ensure()).toBe('ready');
        expect(await indexes()).toEqual([expect.objectContaining({ name: built!.name, valid: true })]);
      });

      test('a server without shared memory for several builders has one', async () => {
        // What a container with Docker's default of 64 MB answers.
        await database.script(`
          create function no_shared_memory() returns event_trigger language plpgsql as $$
          begin
            if current_setting('max_parallel_maintenance_workers') <> '0' then
              raise exception 'could not resize shared memory segment: No space left on device' using errcode = '53100';
            end if;
          end $$;
          create event trigger shared_memory on ddl_command_start when tag in ('CREATE INDEX')
            execute function no_shared_memory();`);
        try {
          await storeVectors(threshold);
          expect(await create().ensure()).toBe('ready');
          expect((await indexes()).map(({ valid }) => valid)).toEqual([true]);
        } finally {
          await database.script('drop event trigger shared_memory; drop function no_shared_memory()');
        }
      });

      test('several processes make one index; those that do not lead go on', async () => {
        await storeVectors(threshold);
        const states = await Promise.all([create(), create(), create()].map((index) => index.ensure()));
        expect(states).toContain('ready');
        expect((await indexes()).map(({ valid }) => valid)).toEqual([true]);
      });

      test('a build that waits ends when it is aborted', async () => {
        await storeVectors(threshold);
        const stop = new AbortController();
        const index = create();
        // A writer that is not done holds the build up.
        const began = Promise.withResolvers<void>();
        const end = Promise.withResolvers<void>();
        const writer = database.transaction(async (tx) => {
          await tx.execute(sql`update chunks set type = 'code' where id = 'd0-0'`);
          began.resolve();
          await end.promise;
        });
        await began.promise;
        const ensured = index.ensure(stop.signal);
        await expect.poll(building, { timeout: 10_000 }).toBe(1);
        stop.abort();
        expect(await ensured).toBe('deferred');
        end.resolve();
        await writer;
        clock.advance(minuteMs);
        expect(await index.ensure()).toBe('ready');
        expect((await indexes()).map(({ valid }) => valid)).toEqual([true]);
      });
    });

  async function building(): Promise<number> {
    const [row] = await database.query<{ count: number }>(sql`
      select count(*) as count from pg_stat_progress_create_index where datname = current_database()`);
    return row!.count;
  }
});
