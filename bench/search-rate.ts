import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import fastify from 'fastify';
import type { Daemon } from '../test/support/daemon.ts';
import { call } from '../test/support/memory-of.ts';
import type { Load } from './api-load-worker.ts';
import { withDaemon } from './daemon.ts';
import { makeBenchStore, type Engine } from './databases.ts';
import { median, type Figure } from './report.ts';
import { loadTexts } from './search-http.ts';
import { createSearchWorld } from './search-world.ts';

const chunks = 200;
const atOnce = 16;
const rounds = 5;
const queryCount = 100;

/** Searches per second in a small store, 16 at once, against Fastify that gives out the same answer and does nothing else. */
export async function benchSearchRate(engine: Engine, requests: number): Promise<Figure> {
  const store = await makeBenchStore(engine);
  const client = new Worker(new URL('api-load-worker.ts', import.meta.url));
  const world = createSearchWorld(11);
  try {
    return await withDaemon(store, async (daemon) => {
      await loadTexts(daemon, world, chunks);
      const bodies = Array.from({ length: queryCount }, () => bodyOf(world.text(5)));
      const bare = await bareServer(daemon, bodies[0]!);
      const [ours, theirs]: [number[], number[]] = [[], []];
      const rate = (origin: string) => rateOf(client, { origin, bodies, key: daemon.key, requests });
      // The first searches of a scope read its texts.
      await rate(daemon.url);
      for (let round = 0; round < rounds; round++) {
        theirs.push(await rate(bare.origin));
        ours.push(await rate(daemon.url));
      }
      await bare.close();
      const spread = [Math.min(...ours), Math.max(...ours)].map((one) => one.toFixed(0)).join(' to ');
      return {
        name: `searches, ${chunks} chunks, ${atOnce} clients, ${engine}`,
        value: `${median(ours).toFixed(0)} per second (${spread})`,
        limit: `Fastify alone: ${median(theirs).toFixed(0)} per second`,
        ratio: median(ours) / median(theirs),
        better: 'larger',
        target: 0.1,
      };
    });
  } finally {
    await client.terminate();
    await store.remove();
  }
}

const bodyOf = (q: string) =>
  JSON.stringify({ q, containerTag: 'bench', searchMode: 'documents', threshold: 0, limit: 10 });

/** Answers every search with what the daemon answered to one. */
async function bareServer(daemon: Daemon, body: string): Promise<{ origin: string; close(): Promise<void> }> {
  const answer = await call(daemon, 'POST', '/v4/search', JSON.parse(body));
  const app = fastify();
  app.post('/v4/search', async () => answer);
  return { origin: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() };
}

async function rateOf(
  client: Worker,
  { origin, bodies, key, requests }: { origin: string; bodies: readonly string[]; key: string; requests: number },
): Promise<number> {
  const load: Load = {
    ...{ origin, method: 'POST', atOnce },
    paths: Array.from({ length: requests }, () => '/v4/search'),
    bodies: Array.from({ length: requests }, (_, index) => bodies[index % bodies.length]!),
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  };
  client.postMessage(load);
  const [{ durationMs, error }] = (await once(client, 'message')) as [{ durationMs: number; error?: string }];
  if (error !== undefined) throw new Error(error);
  return (requests / durationMs) * 1_000;
}
