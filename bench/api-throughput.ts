import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import fastify, { type FastifyInstance } from 'fastify';
import { newId } from '../src/base/ids.ts';
import type { Database } from '../src/store/database.ts';
import { sql } from '../src/store/sql.ts';
import { fullKey, startTestApi, type TestApi } from '../test/support/api.ts';
import type { Load } from './api-load-worker.ts';
import { untilProcessed, withDaemon } from './daemon.ts';
import { makeBenchStore, openBenchDatabase, type Engine } from './databases.ts';
import { median, type Figure } from './report.ts';

const rounds = 5;
const atOnce = 16;
/** Words of one document, about a kilobyte. */
const words = 'the harbour crane lifts containers at dawn and the bakery sells bread before six '.repeat(12);

/** Documents that a daemon accepts per second while it processes them, against a bare route with one insert. */
export async function benchApiAdd(engine: Engine, requests: number): Promise<Figure> {
  const store = await makeBenchStore(engine);
  const { database, close } = await openBenchDatabase(engine);
  const bareApp = bareServer(database);
  const client = startClient();
  try {
    await database.script(bareTable);
    const bare = await bareApp.listen(anyPort);
    return await withDaemon(store, async (daemon) => {
      const [theirRates, ourRates]: [number[], number[]] = [[], []];
      for (let round = 0; round < rounds; round++) {
        const bodies = Array.from({ length: Math.ceil(requests / rounds) }, (_, index) =>
          body(`${round} ${index} ${words}`),
        );
        const load = { method: 'POST' as const, bodies, key: daemon.key };
        theirRates.push(await client.send({ ...load, origin: bare, paths: bodies.map(() => '/documents') }));
        ourRates.push(await client.send({ ...load, origin: daemon.url, paths: bodies.map(() => '/v3/documents') }));
        await untilProcessed(daemon);
      }
      return figure(`documents accepted by a daemon at work, ${engine}`, ourRates, theirRates, 'one insert', 0.6);
    });
  } finally {
    await client.close();
    await bareApp.close();
    await close();
    await store.remove();
  }
}

/** Documents accepted per second into a container with a quota, against one without. */
export async function benchApiAddWithQuota(engine: Engine, requests: number): Promise<Figure> {
  return withServers(engine, async ({ ours, send, test }) => {
    const quota = { documents: 1_000_000, bytes: 1_000_000_000 };
    await test.call('PATCH', '/v3/container-tags/limited', { quota });
    const perRound = Math.ceil(requests / rounds);
    const [freeRates, limitedRates]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      const part = (containerTag: string) =>
        Array.from({ length: perRound }, (_, index) => body(`${round} ${index} ${words}`, containerTag));
      const load = { method: 'POST' as const, origin: ours, paths: part('').map(() => '/v3/documents') };
      freeRates.push(await send({ ...load, bodies: part('bench') }));
      limitedRates.push(await send({ ...load, bodies: part('limited') }));
    }
    return {
      ...figure(`documents accepted with a quota, ${engine}`, limitedRates, freeRates, 'no quota', 0.7),
      limit: `without a quota: ${median(freeRates).toFixed(0)} per second`,
    };
  });
}

/** Documents read by their id per second, against a bare route with one select on the same database. */
export async function benchApiGet(engine: Engine, requests: number): Promise<Figure> {
  return withServers(engine, async ({ ours, bare, send, test }) => {
    const ids = await stored(test, 500);
    const [theirRates, ourRates]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      const part = Array.from({ length: Math.ceil(requests / rounds) }, (_, index) => ids[index % ids.length]!);
      const load = { method: 'GET' as const };
      theirRates.push(await send({ ...load, origin: bare, paths: part.map((id) => `/documents/${id}`) }));
      ourRates.push(await send({ ...load, origin: ours, paths: part.map((id) => `/v3/documents/${id}`) }));
    }
    return figure(`documents read by id, ${engine}`, ourRates, theirRates, 'one select', 0.6);
  });
}

/** What each dialect does per second, the newer one against the older one. */
export async function benchDialects(engine: Engine, requests: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  await withServers(engine, async ({ ours, send, test }) => {
    const ids = await stored(test, 500);
    const count = Math.ceil(requests / rounds);
    const post = (path: string, bodyOf: (index: number) => object) => ({
      method: 'POST' as const,
      paths: Array.from({ length: count }, () => path),
      bodies: Array.from({ length: count }, (_, index) => JSON.stringify(bodyOf(index))),
    });
    const get = (pathOf: (id: string) => string) => ({
      method: 'GET' as const,
      paths: Array.from({ length: count }, (_, index) => pathOf(ids[index % ids.length]!)),
    });
    const content = (name: string, index: number) => `${name} ${index} ${words}`;
    const operations: [name: string, older: (name: string) => Sent, newer: (name: string) => Sent][] = [
      [
        'documents added',
        (name) => post('/v3/documents', (index) => ({ content: content(name, index), containerTag: 'bench' })),
        (name) => post('/ns/bench/document', (index) => ({ content: content(name, index) })),
      ],
      [
        'documents added under ids',
        (name) =>
          post('/v3/documents', (index) => ({
            ...{ content: content(name, index), containerTag: 'bench', customId: `${name}-${index}` },
          })),
        (name) => post('/ns/bench/document', (index) => ({ content: content(name, index), id: `${name}-${index}` })),
      ],
      ['documents read by id', () => get((id) => `/v3/documents/${id}`), () => get((id) => `/ns/bench/document/${id}`)],
      [
        'searches of passages',
        () =>
          post('/v4/search', (index) => ({
            ...{ q: `crane ${index % 100}`, containerTag: 'bench', searchMode: 'documents', threshold: 0.3 },
          })),
        () => post('/ns/bench/search', (index) => ({ query: `crane ${index % 100}`, searchMode: 'chunks' })),
      ],
    ];
    for (const [name, older, newer] of operations) {
      const rates: [older: number[], newer: number[]] = [[], []];
      for (let round = 0; round < rounds; round++) {
        const turns = [
          async () => rates[0].push(await send({ ...older(`older-${round}`), origin: ours })),
          async () => rates[1].push(await send({ ...newer(`newer-${round}`), origin: ours })),
        ];
        for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
      }
      figures.push({
        ...figure(`${name}, v5, ${engine}`, rates[1], rates[0], '', 0.95),
        limit: `the older dialect: ${median(rates[0]).toFixed(0)} per second`,
      });
    }
  });
  return figures;
}

type Sent = Pick<Load, 'method' | 'paths' | 'bodies'>;

const body = (content: string, containerTag = 'bench') =>
  JSON.stringify({ content, containerTag, metadata: { kind: 'bench' } });

function figure(name: string, ours: number[], theirs: number[], work: string, target: number): Figure {
  return {
    name,
    value: `${median(ours).toFixed(0)} per second`,
    limit: `bare route with ${work}: ${median(theirs).toFixed(0)} per second`,
    // Of the two in one round, because the machine is not equally fast all the time.
    ratio: median(ours.map((rate, round) => rate / theirs[round]!)),
    better: 'larger',
    target,
  };
}

const anyPort = { port: 0, host: '127.0.0.1' };
const bareTable = 'create table bare_documents (id text primary key, body jsonb not null)';

/** A client in a thread of its own. */
function startClient() {
  const worker = new Worker(new URL('api-load-worker.ts', import.meta.url));
  return {
    /** Answers requests per second. */
    async send({ key, ...load }: Omit<Load, 'headers' | 'atOnce'> & { key: string }): Promise<number> {
      const authorization = `Bearer ${key}`;
      const headers = load.method === 'GET' ? { authorization } : { authorization, 'content-type': 'application/json' };
      worker.postMessage({ ...load, headers, atOnce });
      const [{ durationMs, error }] = (await once(worker, 'message')) as [{ durationMs: number; error?: string }];
      if (error !== undefined) throw new Error(error);
      return (load.paths.length / durationMs) * 1_000;
    },
    close: () => worker.terminate(),
  };
}

interface Servers {
  test: TestApi;
  ours: string;
  bare: string;
  /** Answers requests per second. */
  send(load: Omit<Load, 'headers' | 'atOnce'>): Promise<number>;
}

/** Both servers in this process, on one database. */
async function withServers<Result>(engine: Engine, work: (servers: Servers) => Promise<Result>): Promise<Result> {
  const test = await startTestApi({ engine, logLevel: 'info' });
  const bareApp = bareServer(test.database);
  const client = startClient();
  try {
    await test.database.script(bareTable);
    return await work({
      test,
      ours: await test.api.listen(anyPort),
      bare: await bareApp.listen(anyPort),
      send: (load) => client.send({ ...load, key: fullKey }),
    });
  } finally {
    await client.close();
    await bareApp.close();
    await test.close();
  }
}

function bareServer(database: Database): FastifyInstance {
  const app = fastify();
  app.post('/documents', async (request) => {
    const id = newId(new Date());
    await database.execute(
      sql`insert into bare_documents (id, body) values (${id}, ${JSON.stringify(request.body)}::jsonb)`,
    );
    return { id, status: 'queued' };
  });
  app.get<{ Params: { id: string } }>('/documents/:id', async (request) => {
    const [row] = await database.query<{ body: object }>(
      sql`select id, body from bare_documents where id = ${request.params.id}`,
    );
    return row;
  });
  return app;
}

/** Processed documents, and the same in the bare table under their ids. */
async function stored(test: TestApi, count: number): Promise<string[]> {
  const documents = Array.from({ length: count }, (_, index) => ({
    content: `${index} ${words}`,
    containerTag: 'bench',
  }));
  const { body: answer } = await test.call('POST', '/v3/documents/batch', { documents });
  await test.process();
  const ids = (answer.results as { id: string }[]).map(({ id }) => id);
  for (const id of ids) {
    const { body: document } = await test.call('GET', `/v3/documents/${id}`);
    await test.database.execute(
      sql`insert into bare_documents (id, body) values (${id}, ${JSON.stringify(document)}::jsonb)`,
    );
  }
  return ids;
}
