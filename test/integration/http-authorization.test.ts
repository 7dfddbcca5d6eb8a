import { describe, expect, it } from 'vitest';
import { authExpired, ConnectorError } from '../../src/connector/contract.ts';
import { answer, createToken } from '../support/http-source.ts';
import { useHttp } from '../support/http-stand.ts';

const { serve, open } = useHttp('pglite', { connectionId: null });

const kindOf = (call: Promise<unknown>) =>
  call.then(
    () => 'no error',
    (error: unknown) => (ConnectorError.is(error) ? error.kind : `not a connector's: ${String(error)}`),
  );

/** A source that accepts one token and gives the next one out. */
async function serveTokens(accepted: { token: string }) {
  const source = await serve((request, response) =>
    answer(response, request.headers.authorization === `Bearer ${accepted.token}` ? 200 : 401),
  );
  return source;
}

describe('authorization', () => {
  it('goes with each request, in place of what the connector sends', async () => {
    const source = await serve((_, response) => answer(response, 200));
    const { http } = await open({ authorization: createToken() });
    await http.get(source.url, { headers: { authorization: 'mine' } });
    await http.get(source.url, { anonymous: true });
    expect(source.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', undefined]);
  });

  it('is renewed once for ten parallel refusals, and all requests are served', async () => {
    const accepted = { token: 'token-1' };
    const source = await serveTokens(accepted);
    let arrived = 0;
    const token = createToken(async () => {
      arrived = source.requests.length;
      return (accepted.token = 'token-2');
    });
    const { http } = await open({ authorization: token });
    accepted.token = 'none';
    const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => http.get(`${source.url}/${index}`)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(token.renewals).toBe(1);
    expect(arrived).toBeGreaterThan(0);
    expect(source.requests.length).toBeLessThanOrEqual(20);
  });

  it('that is refused after its renewal is expired, without a third request', async () => {
    const source = await serveTokens({ token: 'another' });
    const token = createToken(async () => 'token-2');
    const { http } = await open({ authorization: token });
    expect(await kindOf(http.get(source.url))).toBe('auth_expired');
    expect(source.requests).toHaveLength(2);
    expect(token.renewals).toBe(1);
  });

  it('that cannot be renewed is expired, at once', async () => {
    const source = await serveTokens({ token: 'another' });
    const { http } = await open({ authorization: createToken() });
    expect(await kindOf(http.get(source.url))).toBe('auth_expired');
    expect(source.requests).toHaveLength(1);
    const gone = createToken(() => Promise.reject(authExpired('the grant is gone')));
    const other = await open({ authorization: gone });
    await expect(other.http.get(source.url)).rejects.toThrow('the grant is gone');
  });

  it('is renewed when the connector says that an answer means so', async () => {
    const source = await serve((request, response) =>
      answer(response, 200, { error: request.headers.authorization === 'Bearer token-2' ? null : 'token_expired' }),
    );
    const { http } = await open({
      authorization: createToken(async () => 'token-2'),
      spec: { classify: ({ json }) => (json().error === 'token_expired' ? { kind: 'auth_expired' } : undefined) },
    });
    expect((await http.get(source.url)).json).toEqual({ error: null });
  });

  it('of the connector itself that is refused is expired; a refusal without any is not', async () => {
    const source = await serveTokens({ token: 'another' });
    const itself = await open({ authorization: { ...createToken(), headers: async () => ({}) } });
    expect(await kindOf(itself.http.get(source.url, { headers: { authorization: 'mine' } }))).toBe('auth_expired');
    expect(await kindOf(itself.http.get(source.url, { anonymous: true }))).toBe('forbidden');
    const without = await open();
    expect(await kindOf(without.http.get(source.url))).toBe('forbidden');
  });

  it('is an answer like others where the connector accepts it', async () => {
    const source = await serveTokens({ token: 'another' });
    const token = createToken();
    const { http } = await open({ authorization: token });
    expect((await http.get(source.url, { accept: [200, 401] })).status).toBe(401);
    expect(token.renewals).toBe(0);
  });
});

describe('authorization and other origins', () => {
  const headersOf = (request: { headers: Record<string, unknown> } | undefined) => [
    request?.headers['authorization'],
    request?.headers['x-api-key'],
    request?.headers['cookie'],
  ];

  it('never follows a redirect to another origin, nor back from there', async () => {
    let back = '';
    const other = await serve((request, response) =>
      request.url === '/end' ? answer(response, 200) : response.writeHead(302, { location: back }).end(),
    );
    const source = await serve((request, response) =>
      request.url === '/back'
        ? answer(response, 200)
        : response.writeHead(302, { location: other.url + request.url }).end(),
    );
    back = `${source.url}/back`;
    const { http } = await open({ authorization: createToken() });
    const options = { headers: { 'X-Api-Key': 'k', cookie: 'c', accept: 'text/x' } };
    await http.get(`${source.url}/end`, options);
    expect(headersOf(source.requests[0])).toEqual(['Bearer token-1', 'k', 'c']);
    expect(headersOf(other.requests[0])).toEqual([undefined, undefined, undefined]);
    expect(other.requests[0]!.headers).toMatchObject({ accept: 'text/x', 'user-agent': 'memoryd acme' });
    await http.get(`${source.url}/start`, options);
    expect(headersOf(source.requests.at(-1))).toEqual([undefined, undefined, undefined]);
  });

  it('follows a redirect within the origin', async () => {
    const source = await serve((request, response) =>
      request.url === '/to' ? answer(response, 200) : response.writeHead(302, { location: '/to' }).end(),
    );
    const { http } = await open({ authorization: createToken() });
    await http.get(`${source.url}/from`);
    expect(source.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-1']);
  });

  it('says of credentials that are refused where new ones go', async () => {
    const source = await serve((_, response) => answer(response, 401));
    const { http } = await open({ authorization: createToken() });
    await expect(http.get(source.url)).rejects.toMatchObject({
      kind: 'auth_expired',
      message: expect.stringMatching(/ answered 401: it does not accept the credentials\.$/),
      remedy: expect.stringContaining('memoryd connect '),
    });
  });

  it('does not renew for a refusal by the host of a redirect', async () => {
    const other = await serve((_, response) => answer(response, 401));
    const source = await serve((_, response) => response.writeHead(302, { location: other.url }).end());
    const token = createToken(async () => 'token-2');
    const { http } = await open({ authorization: token });
    expect(await kindOf(http.get(source.url))).toBe('forbidden');
    expect(token.renewals).toBe(0);
  });

  it.each([
    ['a list', (url: string) => [`${url}/`]],
    ['a function of the configuration', () => (config: { base: string }) => [config.base]],
  ])('goes only to origins that the connector allows by %s', async (_, origins) => {
    const source = await serve((_request, response) => answer(response, 200));
    const other = await serve((_request, response) => answer(response, 200));
    const { http } = await open({
      authorization: createToken(),
      spec: { origins: origins(source.url) },
      config: { base: source.url },
    });
    await http.get(source.url);
    await http.get(other.url);
    await http.get(source.url.replace('127.0.0.1', 'localhost'));
    expect(source.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', undefined]);
    expect(other.requests[0]!.headers.authorization).toBeUndefined();
  });

  it('takes a star in an origin for labels of the host alone', async () => {
    const source = await serve((_, response) => answer(response, 200));
    const allowed = async (origins: string[]) => {
      const { http } = await open({ authorization: createToken(), spec: { origins } });
      await http.get(source.url);
      return source.requests.at(-1)!.headers.authorization !== undefined;
    };
    expect(await allowed([`http://*.0.0.1:${source.port}`])).toBe(true);
    expect(await allowed([`http://*0.0.1`])).toBe(false);
    expect(await allowed([`http://127.0.0.*:${source.port}`])).toBe(true);
    expect(await allowed([`https://*.0.0.1:${source.port}`])).toBe(false);
    expect(await allowed(['http://*'])).toBe(false);
  });
});

describe('addresses of the own network', () => {
  const guard = { allowPrivateUrls: false };

  it('are refused when they come from the configuration, for the whole connection', async () => {
    const source = await serve((_, response) => answer(response, 200));
    const { http } = await open({ guard, config: { base: source.url }, spec: { origins: (c) => [c.base] } });
    const error: unknown = await http.get(`${source.url}/feed`).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'bad_config', remedy: expect.stringContaining('allowedPrivateHosts') });
    expect(source.requests).toEqual([]);
  });

  it('are refused when the source names them, for one item', async () => {
    const source = await serve((_, response) => answer(response, 200));
    const { http } = await open({ guard });
    expect(await kindOf(http.get(source.url))).toBe('forbidden');
    expect(await kindOf(http.get(`http://localhost:${source.port}`))).toBe('forbidden');
    expect(await kindOf(http.fetch(source.url))).toBe('forbidden');
    expect(source.requests).toEqual([]);
  });

  it('are refused after a redirect', async () => {
    const secret = await serve((_, response) => answer(response, 200));
    const source = await serve((request, response) =>
      response.writeHead(302, { location: `http://${request.url.slice(1)}:${secret.port}` }).end(),
    );
    const { http } = await open({ guard, spec: { origins: [source.url] } });
    for (const host of [
      '127.0.0.1',
      'localhost',
      '0x7f.1',
      '2130706433',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '169.254.169.254',
    ]) {
      expect([host, await kindOf(http.get(`${source.url}/${host}`))]).toEqual([host, 'forbidden']);
    }
    expect(secret.requests).toEqual([]);
  });

  it('are reached where the operator or the connector itself names them', async () => {
    const source = await serve((_, response) => answer(response, 200));
    const listed = await open({ guard: { ...guard, allowedPrivateHosts: ['localhost', '127.0.0.0/8'] } });
    await listed.http.get(source.url);
    const own = await open({ guard, spec: { origins: [source.url] } });
    await own.http.get(source.url);
    expect(source.requests).toHaveLength(2);
  });

  it('are refused although a connection to them is open for somebody else', async () => {
    const source = await serve((_, response) => answer(response, 200));
    const { http } = await open({ guard, spec: { origins: [`http://localhost:${source.port}`] } });
    await http.get(`http://localhost:${source.port}`);
    expect(await kindOf(http.get(source.url))).toBe('forbidden');
  });

  it('are connected to as they were checked: a name that changes its answer gains nothing', async () => {
    const source = await serve((_, response) => answer(response, 200));
    let asked = 0;
    const resolve = async () => {
      asked += 1;
      return [{ address: asked === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }];
    };
    const { http } = await open({ guard: { ...guard, allowedPrivateHosts: ['127.0.0.1'], resolve } });
    expect((await http.get(`http://rebinding.example:${source.port}`)).status).toBe(200);
    expect(asked).toBe(1);
  });
});
