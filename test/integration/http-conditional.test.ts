import { afterEach, describe, expect, it } from 'vitest';
import { deleteConnection } from '../../src/store/connections.ts';
import { saveAnswer, takeAnswer, trimAnswers } from '../../src/store/http-answers.ts';
import { rawSql, sql } from '../../src/store/sql.ts';
import { addConnection, answer, createImpatientClock } from '../support/http-source.ts';
import { useHttp } from '../support/http-stand.ts';

const conditional = { conditional: true };

describe('conditional requests', () => {
  // Registered first, so that it runs last: a process that ends may still store what it holds.
  afterEach(() => database().execute(rawSql('delete from http_answers')));
  const { serve, open, database } = useHttp();

  const kept = () => database().query<Record<string, unknown>>(rawSql('select * from http_answers order by key'));

  /** Answers what it is set to, and 304 to those who have it. */
  async function serveVersions(validator: 'etag' | 'last-modified', state: { version: string }) {
    return serve((request, response) => {
      const known = request.headers[validator === 'etag' ? 'if-none-match' : 'if-modified-since'];
      const headers = { [validator]: state.version, link: '<next>; rel="next"' };
      if (known === state.version) return response.writeHead(304, { [validator]: state.version }).end();
      return answer(response, 200, { version: state.version }, headers);
    });
  }

  it.each([
    ['etag', '"v1"', 'W/"v2"'],
    ['last-modified', 'Sun, 01 Mar 2026 09:00:00 GMT', 'Sun, 01 Mar 2026 10:00:00 GMT'],
  ] as const)('by %s are answered with what is known, until it changes', async (validator, first, second) => {
    const state = { version: first as string };
    const source = await serveVersions(validator, state);
    const { http, connectionId } = await open();
    const get = (from = http) => from.get(`${source.url}/ref?token=canary`, conditional);
    expect(await get()).toMatchObject({ status: 200, json: { version: first } });
    expect(await get()).toMatchObject({
      status: 304,
      json: { version: first },
      headers: { link: '<next>; rel="next"' },
    });
    // Another process, after a restart.
    const again = await open({ connectionId });
    expect(await get(again.http)).toMatchObject({ status: 304, json: { version: first } });
    state.version = second;
    expect(await get()).toMatchObject({ status: 200, json: { version: second } });
    expect(await get()).toMatchObject({ status: 304, json: { version: second } });
    expect(JSON.stringify(await kept())).not.toContain('canary');
  });

  it('are apart by connection, address, method and headers', async () => {
    const source = await serveVersions('etag', { version: '"v1"' });
    const { http } = await open();
    const other = await open();
    await http.get(source.url, conditional);
    const statuses = [
      await other.http.get(source.url, conditional),
      await http.get(`${source.url}/other`, conditional),
      await http.get(source.url, { ...conditional, query: { page: 2 } }),
      await http.get(source.url, { ...conditional, headers: { accept: 'text/x' } }),
      await http.request('HEAD', source.url, conditional),
      await http.get(source.url),
      await http.post(source.url, conditional),
    ].map(({ status }) => status);
    expect(statuses).toEqual(statuses.map(() => 200));
    expect((await http.get(source.url, conditional)).status).toBe(304);
  });

  it.each([
    ['a large answer', { etag: '"v1"' }, 'x'.repeat(256 * 1024)],
    ['an answer that must not be stored', { etag: '"v1"', 'cache-control': 'private, no-store' }, 'x'],
    ['an answer without validators', {}, 'x'],
  ])('are sent in full for %s, also when an older answer is kept', async (_, headers, body) => {
    const source = await serve((_request, response, count) =>
      count === 1 ? answer(response, 200, 'first', { etag: '"v0"' }) : answer(response, 200, body, headers),
    );
    const { http } = await open();
    for (let round = 0; round < 3; round++) await http.get(source.url, conditional);
    expect(source.requests.map((one) => one.headers['if-none-match'])).toEqual([undefined, '"v0"', undefined]);
    expect(await kept()).toEqual([]);
  });

  it('are sent again in full when the kept answer went away meanwhile', async () => {
    const source = await serve(async (request, response) => {
      if (request.headers['if-none-match'] === undefined) return answer(response, 200, 'full', { etag: '"v1"' });
      await database().execute(rawSql('delete from http_answers'));
      return response.writeHead(304).end();
    });
    const { http } = await open();
    await http.get(source.url, conditional);
    expect(await http.get(source.url, conditional)).toMatchObject({ status: 200, json: 'full' });
  });

  it('keep nothing before there is a connection, nor after it is gone', async () => {
    const source = await serveVersions('etag', { version: '"v1"' });
    const probe = await open({ connectionId: null });
    expect((await probe.http.get(source.url, conditional)).status).toBe(200);
    const { http, connectionId } = await open();
    await http.get(source.url, conditional);
    await database().transaction((tx) => deleteConnection(tx, connectionId!));
    expect(await kept()).toEqual([]);
    expect((await http.get(source.url, conditional)).status).toBe(200);
    expect(await kept()).toEqual([]);
  });

  it('keep the answers that were used last', async () => {
    const clock = createImpatientClock();
    const connectionId = await addConnection(database(), clock);
    const save = async (key: string, bytes: number) => {
      clock.advance(1_000);
      const body = new Uint8Array(bytes);
      const row = { etag: null, lastModified: null, headers: {}, body, now: clock.now() };
      await saveAnswer(database(), { connectionId, key }, row);
    };
    for (const key of ['a', 'b', 'c', 'd']) await save(key, 100);
    clock.advance(1_000);
    await takeAnswer(database(), { connectionId, key: 'a' }, clock.now());
    expect(await trimAnswers(database(), connectionId, { maxBytes: 250, maxCount: 100 })).toBe(2);
    expect((await kept()).map(({ key }) => key)).toEqual(['a', 'd']);
    expect(await trimAnswers(database(), connectionId, { maxBytes: 1_000, maxCount: 1 })).toBe(1);
    expect((await kept()).map(({ key }) => key)).toEqual(['a']);
  });

  it('trim what is kept now and then', async () => {
    const source = await serve((request, response) => answer(response, 200, request.url, { etag: '"v1"' }));
    const { http, connectionId } = await open({ random: () => 0 });
    await database().execute(sql`
      insert into http_answers (connection_id, key, headers, body, used_at)
      select ${connectionId}, 'old ' || n, '{}', '', '2020-01-01' from generate_series(1, 2000) n`);
    await http.get(source.url, conditional);
    expect(await kept()).toHaveLength(2_000);
  });
});
