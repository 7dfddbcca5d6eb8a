import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { rawSql } from '../../src/store/sql.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { answer, createImpatientClock, openHttp, startSource } from '../support/http-source.ts';
import { authorizedBy } from '../support/token-authorization.ts';

const canary = 'canary0f1e2d3c4b5a';

describe('a secret', () => {
  let opened: TestDatabase;
  beforeAll(async () => {
    opened = await openTestDatabase('pglite');
  });
  afterAll(() => opened.close());

  it('in an address, a header, a body or an answer is in no error, log line, figure or row', async () => {
    const statuses = [200, 400, 401, 403, 404, 409, 429, 500, 503];
    const source = await startSource((request, response) => {
      const status = Number(/status=(\d+)/.exec(request.url)?.[1]);
      if (status === 0) return response.destroy();
      if (status === 1) return response.writeHead(200, { 'content-encoding': 'gzip' }).end(canary);
      if (status === 2) return response.writeHead(302, { location: `http://10.0.0.1/${canary}?x=${canary}` }).end();
      if (status === 3) return response.writeHead(302, { location: `http://${canary}@127.0.0.1/` }).end();
      const headers = { etag: `"${status}"`, 'x-secret': canary, 'retry-after': status === 429 ? canary : '' };
      return answer(response, status, { secret: canary }, headers);
    });
    const authorization = authorizedBy(canary);
    const http = await openHttp({
      database: opened.database,
      clock: createImpatientClock(),
      authorization,
      config: { base: source.url, key: canary },
      guard: { allowPrivateUrls: false, allowedPrivateHosts: ['127.0.0.1'] },
    });
    const shown: string[] = [];
    const log = createLogger('debug', { write: (line) => void shown.push(line) });
    const call = async (url: string, more = {}) => {
      try {
        const response = await http.http.request('PUT', url, { json: { secret: canary }, ...more });
        shown.push(String(response.json === null));
      } catch (error) {
        log.error({ err: error }, 'failed');
        const { message, remedy, cause } = error as Error & { remedy?: string };
        shown.push(message, String(remedy), inspect(cause, { depth: 8 }));
      }
    };
    for (const status of [0, 1, 2, 3, ...statuses]) {
      await call(`${source.url}/hooks/${canary}/v1?status=${status}&signature=${canary}`);
      await call(`${source.url}/files/${canary}?status=${status}&token=${canary}`, { maxBytes: 3 });
      await http.http
        .get(`${source.url}/${canary}?status=${status}&x=${canary}`, { conditional: true })
        .catch((error: unknown) => log.error({ err: error }, 'failed'));
    }
    await call(`http://user:${canary}@127.0.0.1/`);
    await call(`http://127.0.0.1:1/${canary}?${canary}`);
    await call(`not an address ${canary}`);
    await call(source.url, { headers: { 'x-broken': `${canary}\u0000` } });
    await http.close();
    await source.close();

    const rows = await Promise.all([
      opened.database.query(rawSql('select scope, class, state from budgets')),
      opened.database.query(rawSql('select connection_id, key, etag, last_modified, headers from http_answers')),
    ]);
    expect(shown.length).toBeGreaterThan(60);
    expect(source.requests.some(({ url, body }) => url.includes(canary) && body.includes(canary))).toBe(true);
    for (const text of [...shown, ...http.lines, http.metrics.render(), JSON.stringify(rows)]) {
      expect(text).not.toContain(canary);
    }
  });
});
