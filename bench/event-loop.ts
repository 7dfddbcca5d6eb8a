/**
 * How long the main thread stands still while the embedded database works: 2,000 chunks with
 * vectors are inserted and an HNSW index is built, beside a loop of `select 1`.
 *
 *     node bench/event-loop.ts [rows]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { newId } from '../src/base/ids.ts';
import { silentLogger } from '../src/base/log.ts';
import type { Database } from '../src/store/database.ts';
import { migrate } from '../src/store/migrate.ts';
import { openPglite } from '../src/store/pglite/open-pglite.ts';
import { sql } from '../src/store/sql.ts';

const batchRows = 50;
const dimensions = 384;
const roundTrips = 2_000;

interface Stall {
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

/** The event loop's delay beyond the timer's own millisecond, while `work` runs. */
async function measureStall(work: () => Promise<void>): Promise<Stall> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const startedAt = performance.now();
  delay.enable();
  await work();
  delay.disable();
  const ms = (nanoseconds: number) => Number((nanoseconds / 1e6).toFixed(1));
  return {
    seconds: Number(((performance.now() - startedAt) / 1_000).toFixed(2)),
    p50Ms: ms(delay.percentile(50)),
    p99Ms: ms(delay.percentile(99)),
    maxMs: ms(delay.max),
  };
}

/** Latencies of `select 1`, in milliseconds. */
async function measureRoundTrips(database: Database): Promise<{ p50Ms: number; p99Ms: number; perSecond: number }> {
  const latencies: number[] = [];
  for (let index = 0; index < roundTrips; index++) {
    const startedAt = performance.now();
    await database.query(sql`select 1`);
    latencies.push(performance.now() - startedAt);
  }
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number) => Number(sorted[Math.floor(sorted.length * share)]!.toFixed(3));
  const totalMs = latencies.reduce((sum, each) => sum + each, 0);
  return { p50Ms: at(0.5), p99Ms: at(0.99), perSecond: Math.round((roundTrips * 1_000) / totalMs) };
}

function randomVector(): string {
  const values = Array.from({ length: dimensions }, () => (Math.random() - 0.5).toFixed(6));
  return `[${values.join(',')}]`;
}

interface Row {
  id: string;
  content: string;
  terms: string;
  embedding: string;
}

/** Made before the clock runs: only what the database costs is measured. */
function makeRows(count: number): Row[] {
  return Array.from({ length: count }, (_, position) => ({
    id: newId(new Date()),
    content: `chunk ${position} ${'lorem ipsum dolor sit amet '.repeat(28)}`,
    terms: `{term${position % 97},term${position % 89},term${position % 83}}`,
    embedding: randomVector(),
  }));
}

async function insert(database: Database, all: readonly Row[]): Promise<void> {
  for (let from = 0; from < all.length; from += batchRows) {
    const batch = all.slice(from, from + batchRows);
    await database.execute(sql`
      insert into chunks (id, document_id, container_tag, position, content, token_count, content_hash, terms,
                          term_counts, term_total, embedding, embedding_model, created_at)
      select id, 'document', 'bench', ${from} + row, content, 120, 'hash', terms::text[], '{1,1,1}', 3,
             embedding::vector, 'bench', ${new Date(0)}::timestamptz
      from unnest(${batch.map((row) => row.id)}::text[], ${batch.map((row) => row.content)}::text[],
                  ${batch.map((row) => row.terms)}::text[], ${batch.map((row) => row.embedding)}::text[])
           with ordinality as given (id, content, terms, embedding, row)`);
  }
}

async function prepare(database: Database): Promise<void> {
  await migrate(database, { log: silentLogger });
  await database.execute(sql`
    insert into documents (id, container_tag, status, type, content_hash, created_at, updated_at)
    values ('document', 'bench', 'done', 'text', 'hash', ${new Date(0)}::timestamptz, ${new Date(0)}::timestamptz)`);
}

interface EventLoopFigures {
  idle: Stall;
  insert: Stall;
  build: Stall;
  read: Stall;
  roundTrips: { p50Ms: number; p99Ms: number; perSecond: number };
  residentMb: number;
}

export async function benchEventLoop(rows: number): Promise<EventLoopFigures> {
  const dataDir = await mkdtemp(join(tmpdir(), 'memoryd-bench-'));
  const database = await openPglite({ dataDir, log: silentLogger });
  try {
    await prepare(database);
    const all = makeRows(rows);
    const hnsw = sql`create index bench_hnsw on chunks using hnsw ((embedding::vector(384)) vector_cosine_ops)`;
    return {
      idle: await measureStall(() => new Promise((resolve) => setTimeout(resolve, 1_000))),
      roundTrips: await measureRoundTrips(database),
      insert: await measureStall(() => insert(database, all)),
      build: await measureStall(async () => void (await database.execute(hnsw))),
      read: await measureStall(async () => void (await database.query(sql`select id, content, embedding from chunks`))),
      residentMb: Math.round(process.memoryUsage().rss / 1e6),
    };
  } finally {
    await database.close();
    await rm(dataDir, { recursive: true });
  }
}

if (import.meta.main) console.log(await benchEventLoop(Number(process.argv[2] ?? 2_000)));
