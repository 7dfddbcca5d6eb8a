import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Connector, Hint, Page, UnreadPart } from '../../src/connector/contract.ts';
import { createWatching, type Watching } from '../../src/inbound/watching.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { runDueSync } from '../support/api-sync.ts';
import { scriptedConnector } from '../support/scripted-connector.ts';

let unread: UnreadPart[];
/** What the source says while it is watched; the watch ends with what `fail` is given. */
let source: { hint(hint: Hint): void; fail(error: Error): void } | undefined;
let test: TestApi;
let watching: Watching;
let id: string;

const connector: Connector<any, any> = {
  ...scriptedConnector({
    list: (): Page => ({ refs: [{ id: 'a', rev: 'r1', path: 'a' }], unread, done: true }),
  }),
  watch(context, hint) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    context.signal.addEventListener('abort', () => resolve());
    source = { hint, fail: reject };
    hint({});
    return promise;
  },
};

beforeEach(async () => {
  unread = [];
  source = undefined;
  test = await startTestApi({ connectors: { scripted: connector } });
  const { database, log } = test;
  const wake = async () => {};
  watching = createWatching({
    database,
    clock: systemClock,
    log,
    connector: async () => connector,
    wake,
    debounceMs: 1,
  });
  id = (await test.call('POST', '/v3/connections/scripted', { containerTag: 'work' })).body.id;
});
afterEach(async () => {
  await watching.close();
  await test.close();
});

it('say why the connector of a provider cannot be used, wherever the provider is named', async () => {
  const broken = await startTestApi({
    brokenConnectors: [
      { plugin: './mine.ts', provider: 'mine', reason: 'It has no verb list.' },
      { plugin: 'memoryd-connector-lost', provider: null, reason: 'The package is not installed.' },
    ],
  });
  try {
    const named = (provider: string) => broken.call('POST', `/v3/connections/${provider}`, { containerTag: 'work' });
    const newer = (provider: string) => broken.call('POST', '/ns/work/connectors', { provider });
    const reason = { error: 'The connector mine of ./mine.ts is broken.', details: 'It has no verb list.' };
    expect(await named('mine')).toMatchObject({ status: 400, body: reason });
    expect((await broken.call('GET', '/v3/connectors/mine/spec')).body).toMatchObject(reason);
    expect(JSON.stringify((await newer('mine')).body)).toContain(reason.details);
    // What did not load at all may hold any connector.
    const lost = 'Plugins that could not be loaded: memoryd-connector-lost';
    expect(await named('lost')).toMatchObject({
      status: 400,
      body: { error: [{ message: `lost is not the name of a connector. ${lost}` }] },
    });
    expect(await named('onedrive')).toMatchObject({ status: 501, body: { details: lost } });
    expect(JSON.stringify((await newer('lost')).body)).toContain(lost);
  } finally {
    await broken.close();
  }
});

async function sync(): Promise<void> {
  await test.call('POST', `/v3/connections/${id}/sync`, {});
  await runDueSync(test, connector, id);
}

/** As one answer, the list and the progress say it. */
async function problems(): Promise<{ code: string; partition: string | null; reason: string }[]> {
  const [one, list, progress] = await Promise.all([
    test.call('GET', `/v3/connections/${id}`),
    test.call('POST', '/v3/connections/list', {}),
    test.call('GET', `/v3/connections/${id}/progress`),
  ]);
  expect(list.body[0].problems).toEqual(one.body.problems);
  expect(progress.body.problems).toEqual(one.body.problems);
  return one.body.problems;
}

it('a connection says which part of its source cannot be read and why, until it can be', async () => {
  unread = [{ path: 'locked', reason: 'EACCES' }];
  await sync();
  expect(await problems()).toMatchObject([
    { partition: 'all', code: 'incomplete_listing', reason: expect.stringContaining('locked (EACCES)') },
  ]);
  unread = [];
  await sync();
  expect(await problems()).toEqual([]);
});

it('a connection says why its source cannot be watched, until it is', async () => {
  await watching.refresh();
  expect(await problems()).toEqual([]);
  source!.hint({ late: 'The system watches no more folders.' });
  const codes = async () => (await problems()).map(({ code, partition, reason }) => ({ code, partition, reason }));
  await expect
    .poll(codes)
    .toEqual([{ code: 'unwatched', partition: null, reason: 'The system watches no more folders.' }]);
  source!.hint({});
  await expect.poll(codes).toEqual([]);
  source!.fail(new Error('with content in it'));
  await expect.poll(codes).toMatchObject([{ code: 'unwatched', reason: expect.stringContaining('by the schedule') }]);
  expect((await problems())[0]!.reason).not.toContain('content');
  await test.call('PATCH', `/v3/connections/${id}`, { paused: true });
  expect(await problems()).toEqual([]);
});
