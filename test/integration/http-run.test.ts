import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAddressGuard } from '../../src/base/address-guard.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { defineConnector } from '../../src/connector/contract.ts';
import { createOutbound, type Outbound } from '../../src/source/http/outbound.ts';
import { findConnection } from '../../src/store/connections.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { answer, startSource, type Source } from '../support/http-source.ts';
import { createMirror } from '../support/mirror.ts';

const clock = createTestClock();
const begin = clock.now().getTime();
let opened: TestDatabase;
let outbound: Outbound;
let source: Source;
let limitedFor: number | null = null;

beforeAll(async () => {
  opened = await openTestDatabase('pglite');
  const guard = createAddressGuard({ allowPrivateUrls: false, allowedPrivateHosts: ['127.0.0.1'] });
  const { database } = opened;
  outbound = createOutbound({ database, clock, log: silentLogger, guard, metrics: createMetrics() });
  source = await startSource((request, response) => {
    // Its clock is an hour ahead of ours.
    const date = new Date(clock.now().getTime() + 3_600_000).toUTCString();
    if (limitedFor !== null) return answer(response, 429, {}, { date, 'retry-after': String(limitedFor) });
    return answer(response, 200, request.url === '/notes' ? ['a', 'b'] : { text: `text of ${request.url}` }, { date });
  });
});
afterAll(async () => {
  await source.close();
  await outbound.close();
  await opened.close();
});

const connector = defineConnector({
  spec: {
    name: 'notes',
    version: '1.0.0',
    title: 'Notes',
    kind: 'notes',
    description: 'Notes behind an HTTP API.',
    config: { type: 'object' },
    auth: [],
  },
  check: async () => [],
  partitions: async () => [{ id: 'notes' }],
  async list(ctx) {
    const ids = (await ctx.http.get<string[]>(`${source.url}/notes`)).json;
    return { refs: ids.map((id) => ({ id, rev: '1' })), done: true };
  },
  async fetch(ctx, _, ref) {
    const { text } = (await ctx.http.get(`${source.url}/notes/${ref.id}`)).json;
    return { text: `${text} at ${ctx.now().toISOString().slice(0, 13)}` };
  },
});

it('a run that has to wait for its source ends, and goes on when the wait is over', async () => {
  const { database } = opened;
  const mirror = await createMirror({ database, clock, connector, runner: { outbound } });
  limitedFor = 600;
  expect(await mirror.sync()).toMatchObject({ status: 'failed', errorCode: 'rate_limited' });
  const due = (await findConnection(database, mirror.id))!.nextSyncAt!;
  expect(due.getTime() - begin).toBeGreaterThanOrEqual(600_000);
  expect(source.requests).toHaveLength(1);

  limitedFor = null;
  clock.advance(590_000);
  await mirror.sync();
  expect(source.requests).toHaveLength(1);

  clock.advance(due.getTime() - clock.now().getTime());
  expect(await mirror.sync()).toMatchObject({ status: 'completed', itemsAdded: 2 });
  // By the clock of the source.
  expect([...(await mirror.texts()).values()]).toEqual([
    'text of /notes/a at 2026-03-01T10',
    'text of /notes/b at 2026-03-01T10',
  ]);
});

it('a connector without HTTP is told so', async () => {
  const mirror = await createMirror({ database: opened.database, clock, connector, containerTag: 'other' });
  expect(await mirror.sync()).toMatchObject({ status: 'failed', errorCode: 'internal' });
});
