import { describe, expect, it } from 'vitest';
import { ConnectorError, type ConnectorSpec } from '../../src/connector/contract.ts';
import { answer } from '../support/http-source.ts';
import { useHttp } from '../support/http-stand.ts';

const begin = Date.parse('2026-03-01T09:00:00Z');

describe('limits of a source', () => {
  const { serve, open } = useHttp();

  const limitOf = async (call: Promise<unknown>): Promise<ConnectorError> => {
    const error: unknown = await call.then(
      () => 'no error',
      (thrown: unknown) => thrown,
    );
    if (!ConnectorError.is(error) || error.kind !== 'rate_limited') throw new Error(`not a limit: ${String(error)}`);
    return error;
  };

  const github = { remaining: 'X-RateLimit-Remaining', reset: 'X-RateLimit-Reset', resetUnit: 'unix-seconds' } as const;
  const seconds = (ms: number) => String(Math.floor(ms / 1_000));

  it('that the configuration sets, and that requests of different costs spend together', async () => {
    const source = await serve((_request, response) => answer(response, 200, {}));
    const limits = ({ units }: { units: number }) =>
      [
        { match: 'GET */light', weight: 5 },
        { match: 'GET */heavy', weight: 40 },
      ].map((one) => ({ ...one, rate: units, perMs: 60_000, quota: 'units' }));
    const { http } = await open({ spec: { limits }, config: { units: 100 } });
    await http.get(`${source.url}/heavy`);
    await http.get(`${source.url}/heavy`);
    for (let count = 0; count < 4; count++) await http.get(`${source.url}/light`);
    await limitOf(http.get(`${source.url}/light`));
    await limitOf(http.get(`${source.url}/heavy`));
  });

  // The server's clock is two hours behind ours; only its own dates count.
  const serverDate = new Date(begin - 2 * 3_600_000).toUTCString();
  const serverLater = new Date(begin - 2 * 3_600_000 + 90_000);
  it.each<[string, number, Record<string, string>, number]>([
    ['429 with seconds', 429, { 'retry-after': '90' }, 90_000],
    ['429 with a date', 429, { 'retry-after': serverLater.toUTCString() }, 90_000],
    ['429 with a date that is past', 429, { 'retry-after': new Date(0).toUTCString(), date: serverDate }, 0],
    ['429 that says nothing', 429, {}, 60_000],
    ['429 with nonsense', 429, { 'retry-after': 'soon' }, 60_000],
    ['429 with a negative number', 429, { 'retry-after': '-5' }, 60_000],
    ['429 for a century', 429, { 'retry-after': '3153600000' }, 86_400_000],
    ['503 with seconds', 503, { 'retry-after': '90' }, 90_000],
    ['529', 529, {}, 60_000],
    ['403 with seconds', 403, { 'retry-after': '90' }, 90_000],
    [
      '403 with a spent quota',
      403,
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': seconds(serverLater.getTime()) },
      90_000,
    ],
    [
      '429 with a spent quota, reset in seconds',
      429,
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '90' },
      90_000,
    ],
  ])('%s: nothing is sent before, by any process, and the worker is free', async (_, status, headers, waitMs) => {
    const source = await serve((_request, response, count) =>
      answer(response, count === 1 ? status : 200, {}, { date: serverDate, ...headers }),
    );
    const first = await open();
    const second = await open({ clock: first.clock, connectionId: first.connectionId });
    if (waitMs === 0) {
      expect((await first.http.get(source.url)).status).toBe(200);
      return;
    }
    const error = await limitOf(first.http.get(source.url));
    expect(error.retryAt!.getTime() - begin).toBe(waitMs);
    expect(error.message).toBe(`GET 127.0.0.1:${source.port}/ answered ${status}`);
    expect(first.clock.slept).toEqual([]);
    first.clock.advance(waitMs - 5_001);
    for (const { http } of [first, second]) {
      expect((await limitOf(http.post(`${source.url}/other`))).retryAt).toEqual(error.retryAt);
    }
    expect(source.requests).toHaveLength(1);
    first.clock.advance(5_001);
    expect((await second.http.get(source.url)).status).toBe(200);
    expect((await first.http.get(source.url)).status).toBe(200);
  });

  it('for a moment are slept through, by all requests of the budget', async () => {
    const source = await serve((_, response, count) =>
      count === 1 ? answer(response, 429, {}, { 'retry-after': '2' }) : answer(response, 200),
    );
    const { http, clock, metrics } = await open();
    expect((await http.post(source.url, { json: {} })).status).toBe(200);
    expect(clock.slept).toEqual([2_000]);
    expect(metrics.read('memoryd_source_limited_total', { provider: 'acme', class: '*' })).toBe(1);
  });

  it('for a moment, again and again, end after three repetitions', async () => {
    const source = await serve((_, response) => answer(response, 429, {}, { 'retry-after': '1' }));
    const { http } = await open();
    await limitOf(http.get(source.url));
    expect(source.requests).toHaveLength(4);
  });

  it('are found by the connector where the status does not tell', async () => {
    const classify: ConnectorSpec['classify'] = ({ status, headers, json }) =>
      status === 403 && json()?.reason === 'userRateLimitExceeded'
        ? { kind: 'rate_limited', ...(headers['x-wait'] ? { retryAfterMs: Number(headers['x-wait']) } : {}) }
        : undefined;
    const source = await serve((request, response) =>
      answer(
        response,
        403,
        { reason: request.url.slice(1) },
        request.url === '/userRateLimitExceeded' ? { 'x-wait': '7000' } : {},
      ),
    );
    const { http } = await open({ spec: { classify } });
    await expect(http.get(`${source.url}/insufficientFilePermissions`)).rejects.toMatchObject({ kind: 'forbidden' });
    const error = await limitOf(http.get(`${source.url}/userRateLimitExceeded`));
    expect(error.retryAt!.getTime() - begin).toBe(7_000);
  });

  it('given as a time by the connector count by the clock of the source', async () => {
    const source = await serve((_, response) => answer(response, 400, {}, { date: serverDate }));
    const { http } = await open({ spec: { classify: () => ({ kind: 'rate_limited', retryAt: serverLater }) } });
    expect((await limitOf(http.get(source.url))).retryAt!.getTime() - begin).toBe(90_000);
  });

  it('of one class leave the others alone', async () => {
    const limits = [
      { match: 'GET */search/**', rate: 30, perMs: 60_000 },
      { match: 'GET */notes/**', rate: 300, perMs: 60_000 },
    ];
    const source = await serve((request, response) =>
      answer(response, request.url.startsWith('/search') ? 429 : 200, {}, { 'retry-after': '30' }),
    );
    const { http, metrics } = await open({ spec: { limits } });
    await limitOf(http.get(`${source.url}/search/a`));
    await limitOf(http.get(`${source.url}/search/b`));
    expect((await http.get(`${source.url}/notes/1`)).status).toBe(200);
    expect((await http.get(`${source.url}/else`)).status).toBe(200);
    expect(source.requests).toHaveLength(3);
    const labels = { provider: 'acme', class: 'GET */search/**', status: '429' };
    expect(metrics.read('memoryd_source_requests_total', labels)).toBe(1);
  });

  it('that are declared are kept without ever being told, by connections that share the app', async () => {
    const limits = [{ match: '*', rate: 6, perMs: 60_000, per: 'application' as const }];
    const source = await serve((_, response) => answer(response, 200));
    // A provider name of its own for each test, because the app is shared in the database.
    const spec = { limits, name: 'shared-app' };
    const first = await open({ spec });
    const second = await open({ spec, clock: first.clock });
    const calls = [first, second].flatMap(({ http }) => Array.from({ length: 8 }, () => http.get(source.url)));
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(6);
    expect(source.requests).toHaveLength(6);
  });

  it('of a connection are its own', async () => {
    const limits = [{ match: '*', rate: 2, perMs: 60_000 }];
    const source = await serve((_, response) => answer(response, 200));
    const first = await open({ spec: { limits } });
    const second = await open({ spec: { limits }, clock: first.clock });
    for (const { http } of [first, second]) {
      await http.get(source.url);
      await http.get(source.url);
      await limitOf(http.get(source.url));
    }
  });

  it('in the headers of answers are kept, with the reserve left alone', async () => {
    const limits = [{ match: '*', rate: 5_000, perMs: 3_600_000, reserve: 0.2, headers: github }];
    const source = await serve((_, response, count) =>
      answer(
        response,
        200,
        {},
        {
          date: serverDate,
          'x-ratelimit-remaining': String(1_005 - count),
          'x-ratelimit-reset': seconds(serverLater.getTime()),
        },
      ),
    );
    const { http } = await open({ spec: { limits } });
    const outcomes: string[] = [];
    let retryAt: Date | undefined;
    for (let count = 0; count < 10; count++) {
      await http.get(source.url).then(
        () => outcomes.push('sent'),
        (error: ConnectorError) => (retryAt = error.retryAt),
      );
    }
    expect(outcomes).toHaveLength(5);
    expect(retryAt!.getTime() - begin).toBe(90_000);
  });

  it('that make no sense are refused at the first request', async () => {
    for (const wrong of [{ rate: 0 }, { perMs: 0 }, { rate: 1.5 }, { weight: 11 }, { reserve: 1 }]) {
      const limits = [{ match: '*', rate: 10, perMs: 1_000, ...wrong }];
      const { http } = await open({ spec: { limits } });
      await expect(http.get('https://api.example.com')).rejects.toThrow('makes no sense');
    }
  });

  it('let those wait in order who share a slow budget, as long as it moves on', async () => {
    const limits = [{ match: '*', rate: 2, perMs: 4_000 }];
    const source = await serve((_, response) => answer(response, 200));
    const { http } = await open({ spec: { limits } });
    await Promise.all(Array.from({ length: 20 }, (_, index) => http.get(`${source.url}/${index}`)));
    expect(source.requests.map(({ url }) => url)).toHaveLength(20);
  });
});
