import { request, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { retryText } from '../../src/api/routes/syncs.ts';
import type { Connector } from '../../src/connector/contract.ts';
import { sql } from '../../src/store/sql.ts';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';
import { runDueSync } from '../support/api-sync.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

interface Received {
  event: string;
  id: string;
  data: any;
}

interface Stream {
  response: IncomingMessage;
  text(): string;
  events(): Received[];
  ended(): boolean;
  /** Goes away without a word. */
  drop(): void;
}

let test: TestApi;
let url: string;
let source: ReturnType<typeof createSyntheticSource>;
let connector: Connector<any, any>;
let connection: string;
let run: string;
/** How often the run was looked at. */
let looks: number;

beforeEach(async () => {
  source = createSyntheticSource();
  connector = source.connector();
  looks = 0;
  test = await startTestApi({
    connectors: { synthetic: connector },
    services: ({ connections }) => ({
      connections: {
        ...connections,
        run: (id, runId) => {
          looks += 1;
          return connections.run(id, runId);
        },
      },
    }),
  });
  url = await test.api.listen({ port: 0, host: '127.0.0.1' });
  connection = (await test.call('POST', '/v3/connections/synthetic', { containerTag: 'mine' })).body.id;
  [{ id: run }] = (await test.call('GET', `/v3/connections/${connection}/runs`)).body;
});
afterEach(() => test.close());

const path = (query = '') => `/v3/connections/${connection}/runs/${run}/events${query}`;

function open(address = path(), headers: Record<string, string> = {}): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${address}`, { headers: { authorization: `Bearer ${fullKey}`, ...headers } });
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      let hasEnded = false;
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('close', () => (hasEnded = true)).on('error', () => {});
      resolve({
        response,
        text: () => text,
        events: () => eventsIn(text),
        ended: () => hasEnded,
        drop: () => sent.destroy(),
      });
    });
    sent.end();
  });
}

function eventsIn(text: string): Received[] {
  return text
    .split('\n\n')
    .filter((block) => block.startsWith('event: '))
    .map((block) => {
      const [event, id, data] = block.split('\n').map((line) => line.slice(line.indexOf(': ') + 2));
      return { event: event!, id: id!, data: JSON.parse(data!) };
    });
}

/** Lets half seconds pass until something is true. */
const within = <Value>(read: () => Value) =>
  expect.poll(() => {
    test.clock.advance(500);
    return read();
  });

const report = (seen: number) =>
  test.database.execute(sql`
    update sync_runs set items_seen = ${seen}, items_processed = ${seen}, items_total = 100, items_per_second = 10
    where id = ${run}`);

describe('the events of a run', () => {
  it('tell its progress as it moves, then its end, and pass through proxies', async () => {
    const stream = await open();
    expect(stream.response.statusCode).toBe(200);
    expect(stream.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': expect.any(String),
    });
    await within(() => stream.events().length).toBe(1);
    expect(stream.text().startsWith(`${retryText(2_000)}event: progress\nid: `)).toBe(true);
    await report(40);
    await within(() => stream.events().length).toBe(2);
    expect(stream.events()[1]).toMatchObject({
      event: 'progress',
      data: { run: { id: run, itemsSeen: 40, etaMs: 6_000 }, items: { pending: 0 }, heldDeletes: 0, problems: [] },
    });
    source.put('a', 'text');
    await runDueSync(test, connector, connection);
    await within(() => stream.ended()).toBe(true);
    const last = stream.events().at(-1)!;
    expect(last).toMatchObject({ event: 'end', id: 'end', data: { run: { status: 'completed', itemsAdded: 1 } } });
    expect(last.data.documents).toEqual({ waiting: 1, foundByWords: 0, done: 0, failed: 0 });
    expect(new Set(stream.events().map(({ id }) => id)).size).toBe(stream.events().length);
  });

  it('go on where they broke off, and say when nothing is left', async () => {
    await report(40);
    const first = await open();
    await within(() => first.events().length).toBe(1);
    first.drop();
    const again = await open(path(), { 'last-event-id': first.events()[0]!.id });
    const seen = looks;
    await within(() => looks).toBeGreaterThan(seen + 3);
    expect(again.events()).toEqual([]);
    await report(41);
    await within(() => again.events().length).toBe(1);
    await runDueSync(test, connector, connection);
    await within(() => again.ended()).toBe(true);
    const late = await open(path(), { 'last-event-id': again.events().at(-1)!.id });
    expect(late.response.statusCode).toBe(204);
  });

  it('of a run that is over are its end', async () => {
    await runDueSync(test, connector, connection);
    const stream = await open();
    await expect.poll(() => stream.ended()).toBe(true);
    expect(stream.events().map(({ event }) => event)).toEqual(['end']);
  });

  it('go on until the documents can be found, when that is asked for', async () => {
    source.put('a', 'text');
    await runDueSync(test, connector, connection);
    const stream = await open(path('?until=documents'));
    await within(() => stream.events().length).toBe(1);
    expect(stream.events()[0]).toMatchObject({ event: 'progress', data: { documents: { waiting: 1 } } });
    await test.process();
    await within(() => stream.ended()).toBe(true);
    expect(stream.events().at(-1)).toMatchObject({ event: 'end', data: { documents: { waiting: 0, done: 1 } } });
  });

  it('keep the connection open while nothing happens', async () => {
    const stream = await open();
    await within(() => stream.events().length).toBe(1);
    test.clock.advance(14_000);
    expect(stream.text()).not.toContain('heartbeat');
    await within(() => stream.text()).toContain(': heartbeat\n\n');
    expect(stream.events()).toHaveLength(1);
  });

  it('end when the connection is deleted', async () => {
    const stream = await open();
    await within(() => stream.events().length).toBe(1);
    await test.call('DELETE', `/v3/connections/${connection}`);
    await within(() => stream.ended()).toBe(true);
    expect(stream.events().map(({ event }) => event)).toEqual(['progress']);
    expect((await open()).response.statusCode).toBe(404);
  });

  it('cost nothing once the client is gone', async () => {
    const stream = await open();
    await within(() => stream.events().length).toBe(1);
    stream.drop();
    await expect
      .poll(() => new Promise((resolve) => test.api.server.getConnections((_, count) => resolve(count))))
      .toBe(0);
    test.clock.advance(500);
    const seen = looks;
    test.clock.advance(60_000);
    await test.call('GET', '/v3/session');
    expect(looks).toBe(seen);
  });

  it('do not keep the service from closing', async () => {
    const stream = await open();
    await within(() => stream.events().length).toBe(1);
    await test.api.close();
    await expect.poll(() => stream.ended()).toBe(true);
    expect(stream.events().map(({ event }) => event)).toEqual(['progress']);
  });

  it('are for those who may see the connection', async () => {
    const stranger = await test.newKey({ containerTags: ['elsewhere'] });
    const reader = await test.newKey({ containerTags: ['mine'], permission: 'read' });
    const status = async (address: string, key: string) => {
      const stream = await open(address, { authorization: `Bearer ${key}` });
      stream.drop();
      return stream.response.statusCode;
    };
    expect(await status(path(), stranger)).toBe(404);
    expect(await status(path(), 'wrong')).toBe(401);
    expect(await status(path(), reader)).toBe(200);
    expect(await status(`/v3/connections/${connection}/runs/none/events`, reader)).toBe(404);
    expect(await status(path('?until=never'), reader)).toBe(400);
    expect(
      (await test.api.inject({ method: 'HEAD', url: path(), headers: { authorization: `Bearer ${fullKey}` } }))
        .statusCode,
    ).toBe(404);
  });
});
