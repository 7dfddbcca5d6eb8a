import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Agent, request } from 'undici';
import { createAddressGuard } from '../src/base/address-guard.ts';
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { createMetrics } from '../src/base/metrics.ts';
import type { ConnectorSpec } from '../src/connector/contract.ts';
import { createOutbound } from '../src/source/http/outbound.ts';
import { makeBenchStore, type Engine } from './databases.ts';
import { againstLeast, median, type Figure } from './report.ts';
import { authorizedBy } from '../test/support/token-authorization.ts';

const atOnce = 16;
const rounds = 5;

const spec: ConnectorSpec = {
  name: 'bench',
  version: '1.0.0',
  title: 'Bench',
  kind: 'other',
  description: 'A source that answers at once.',
  config: { type: 'object' },
  auth: [{ type: 'apiKey', fields: { type: 'object' } }],
  limits: [
    { match: '*', rate: 10_000_000, perMs: 60_000 },
    { match: 'GET */notes/**', rate: 50_000_000, perMs: 3_600_000 },
  ],
};

/** Requests of a connector with authorization and two budgets, against bare ones at the same source. */
export async function benchHttpOverhead(engine: Engine, requests: number): Promise<Figure> {
  const store = await makeBenchStore(engine);
  const database = await store.open();
  const source = new Worker(new URL('http-source-worker.ts', import.meta.url));
  const [port] = (await once(source, 'message')) as [number];
  const guard = createAddressGuard({ allowPrivateUrls: true, allowedPrivateHosts: [] });
  const common = { clock: systemClock, log: silentLogger };
  const outbound = createOutbound({ database, guard, metrics: createMetrics(), connectionsPerHost: atOnce, ...common });
  const authorization = authorizedBy('key');
  const { signal } = new AbortController();
  const { http } = outbound.open({ spec, config: {}, connectionId: null, authorization, signal });
  const agent = new Agent({ connections: atOnce });
  const urlOf = (index: number) => `http://127.0.0.1:${port}/notes/${index}`;
  const throughUs = async (index: number) => (await http.get(urlOf(index))).json.id;
  const bare = async (index: number) => {
    const headers = { authorization: 'Bearer key' };
    const { body } = await request(urlOf(index), { dispatcher: agent, headers });
    return ((await body.json()) as { id: string }).id;
  };
  try {
    const [ours, theirs]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      theirs.push(await ratePerSecond(requests, bare));
      ours.push(await ratePerSecond(requests, throughUs));
    }
    return {
      name: `requests of a connector, ${engine}`,
      value: `${median(ours).toFixed(0)} per second`,
      ...againstLeast(`bare requests ${median(theirs).toFixed(0)} per second`, median(ours) / median(theirs)),
      better: 'larger',
      target: null,
    };
  } finally {
    await outbound.close();
    await agent.close();
    await source.terminate();
    await database.close();
    await store.remove();
  }
}

async function ratePerSecond(requests: number, send: (index: number) => Promise<string>): Promise<number> {
  let next = 0;
  const started = performance.now();
  const worker = async () => {
    while (next < requests) {
      if ((await send(next++)) !== 'note') throw new Error('A request was answered wrongly.');
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return (requests / (performance.now() - started)) * 1_000;
}
