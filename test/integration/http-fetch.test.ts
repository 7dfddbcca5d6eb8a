import { describe, expect, it } from 'vitest';
import { authExpired, ConnectorError } from '../../src/connector/contract.ts';
import { answer, createToken } from '../support/http-source.ts';
import { useHttp } from '../support/http-stand.ts';

const { serve, open } = useHttp('pglite', { connectionId: null });

describe('the fetch function for SDKs', () => {
  it('is authorized, counted and answered like fetch', async () => {
    const source = await serve((request, response) =>
      answer(response, 200, { method: request.method, body: request.body }, { 'x-page': '2' }),
    );
    const { http, metrics } = await open({ authorization: createToken() });
    const response = await http.fetch(`${source.url}/notes?page=2`, {
      method: 'POST',
      headers: { authorization: 'token of the SDK', 'content-type': 'text/x' },
      body: 'hello',
    });
    expect(response).toBeInstanceOf(Response);
    expect(response).toMatchObject({ ok: true, status: 200, statusText: 'OK', url: `${source.url}/notes?page=2` });
    expect(response.headers.get('x-page')).toBe('2');
    expect(await response.json()).toEqual({ method: 'POST', body: 'hello' });
    expect(source.requests[0]!.headers).toMatchObject({ authorization: 'Bearer token-1', 'content-type': 'text/x' });
    expect(metrics.read('memoryd_source_requests_total', { provider: 'acme', class: '*', status: '200' })).toBe(1);
  });

  it('takes every kind of request', async () => {
    const source = await serve((request, response) => answer(response, 200, { ...request, headers: undefined }));
    const { http } = await open();
    const form = new FormData();
    form.set('a', 'b');
    const stream = new Blob(['streamed']).stream();
    const sent = async (...request: Parameters<typeof fetch>) => {
      const response = await http.fetch(...request);
      return ((await response.json()) as { body: string }).body;
    };
    expect(await sent(source.url, { method: 'POST', body: new URLSearchParams({ a: 'ü' }) })).toBe('a=%C3%BC');
    expect(await sent(source.url, { method: 'PUT', body: form })).toContain('form-data; name="a"');
    expect(await sent(new URL(source.url), { method: 'POST', body: new Uint8Array([104, 105]) })).toBe('hi');
    expect(await sent(source.url, { method: 'POST', body: stream, duplex: 'half' })).toBe('streamed');
    expect(await sent(new Request(source.url, { method: 'PATCH', body: 'patched' }))).toBe('patched');
    expect(await sent(source.url, { headers: [['x-a', '1']] })).toBe('');
  });

  it.each([204, 304, 400, 403, 404, 409, 422])('gives the answer %i to the SDK, which judges it', async (status) => {
    const source = await serve((_, response) => response.writeHead(status).end());
    const { http } = await open();
    const response = await http.fetch(source.url);
    expect(response.status).toBe(status);
    expect(await response.text()).toBe('');
    expect(source.requests).toHaveLength(1);
  });

  it('repeats by itself, and gives the last answer when that does not help', async () => {
    const source = await serve((_, response, count) => answer(response, count < 3 ? 502 : 200));
    const { http } = await open();
    expect((await http.fetch(source.url)).status).toBe(200);
    const broken = await serve((_, response) => answer(response, 500, { why: 'broken' }));
    const response = await http.fetch(broken.url);
    expect([response.status, await response.json()]).toEqual([500, { why: 'broken' }]);
    expect(broken.requests).toHaveLength(4);
  });

  it('throws a long limit, which is found again in what an SDK makes of it', async () => {
    const source = await serve((_, response) => answer(response, 429, {}, { 'retry-after': '30' }));
    const { http } = await open();
    const error: unknown = await http.fetch(source.url).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'rate_limited' });
    const wrapped = new Error('RequestError', { cause: new Error('HttpError', { cause: error }) });
    expect(ConnectorError.find(wrapped)).toBe(error);
    expect(ConnectorError.find(new Error('none'))).toBeUndefined();
    expect(ConnectorError.find('none')).toBeUndefined();
    expect(ConnectorError.find(authExpired('a'))?.kind).toBe('auth_expired');
  });

  it('renews the authorization, and throws when that does not help', async () => {
    const source = await serve((request, response) =>
      answer(response, request.headers.authorization === 'Bearer token-2' ? 200 : 401),
    );
    const renewable = await open({ authorization: createToken(async () => 'token-2') });
    expect((await renewable.http.fetch(source.url)).status).toBe(200);
    const fixed = await open({ authorization: createToken() });
    await expect(fixed.http.fetch(source.url)).rejects.toMatchObject({ kind: 'auth_expired' });
  });

  it('leaves redirects to the caller who wants them', async () => {
    const source = await serve((request, response) =>
      request.url === '/to' ? answer(response, 200) : response.writeHead(302, { location: '/to' }).end(),
    );
    const { http } = await open();
    expect((await http.fetch(source.url)).url).toBe(`${source.url}/to`);
    const manual = await http.fetch(source.url, { redirect: 'manual' });
    expect([manual.status, manual.headers.get('location')]).toEqual([302, '/to']);
    await expect(http.fetch(source.url, { redirect: 'error' })).rejects.toThrow(TypeError);
    const created = await serve((_, response) => response.writeHead(201, { location: '/new' }).end());
    expect((await http.fetch(created.url, { method: 'POST', redirect: 'error' })).status).toBe(201);
  });

  it('ends with the signal of the caller', async () => {
    const stop = new AbortController();
    const source = await serve(() => stop.abort(new Error('enough')));
    const { http } = await open();
    await expect(http.fetch(source.url, { signal: stop.signal })).rejects.toThrow('enough');
    expect(source.requests).toHaveLength(1);
  });
});
