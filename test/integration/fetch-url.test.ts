import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../src/base/address-guard.ts';
import { createUrlFetcher, type UrlFetcher, type UrlFetcherOptions } from '../../src/engine/fetch-url.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A web server on this machine; names that end with `.test` lead to it, and `inner.test` counts as private. */
async function startWeb() {
  const pages = new Map<string, Handler>();
  const seen: string[] = [];
  const server: Server = createServer((request, response) => {
    seen.push(`${request.headers.host} ${request.url}`);
    const page = pages.get(request.url!.split('?')[0]!);
    if (page) return page(request, response);
    response.writeHead(404).end('not here');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    seen,
    on: (path: string, handler: Handler) => void pages.set(path, handler),
    send: (path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
      void pages.set(path, (_, response) => response.writeHead(200, headers).end(body)),
    redirect: (path: string, location: string, status = 302) =>
      void pages.set(path, (_, response) => response.writeHead(status, { location }).end()),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

describe('fetching an address', () => {
  let web: Awaited<ReturnType<typeof startWeb>>;
  let fetcher: UrlFetcher;
  const fetchers: UrlFetcher[] = [];
  const open = (more: Partial<UrlFetcherOptions> = {}) => {
    const guard = createAddressGuard({
      allowPrivateUrls: false,
      allowedPrivateHosts: ['site.test', 'other.test'],
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    });
    const opened = createUrlFetcher({ guard, ...more });
    fetchers.push(opened);
    return opened;
  };
  beforeAll(async () => {
    web = await startWeb();
    fetcher = open();
  });
  afterAll(async () => {
    for (const one of fetchers) await one.close();
    await web.close();
  });
  const at = (path: string, host = 'site.test') => `http://${host}:${web.port}${path}`;
  const get = (path: string, by = fetcher) => by.fetch(at(path), new AbortController().signal);

  it('answers the bytes with what the server says they are', async () => {
    web.send('/docs/guide.html', '<p>Hello</p>', { 'content-type': 'text/html; charset=utf-8' });
    expect(await get('/docs/guide.html')).toEqual({
      url: at('/docs/guide.html'),
      bytes: Buffer.from('<p>Hello</p>'),
      mimeType: 'text/html; charset=utf-8',
      name: 'guide.html',
    });
  });

  it('unpacks what is packed', async () => {
    web.send('/packed', gzipSync('unpacked'), { 'content-encoding': 'gzip', 'content-type': 'text/plain' });
    expect(Buffer.from((await get('/packed')).bytes).toString()).toBe('unpacked');
  });

  it('follows redirects to other public hosts and names the last address', async () => {
    web.redirect('/a', '/b', 301);
    web.redirect('/b', at('/c', 'other.test'), 307);
    web.send('/c', 'the end');
    expect((await get('/a')).url).toBe(at('/c', 'other.test'));
  });

  it.each([
    ['another name', (port: number) => `http://inner.test:${port}/secret`],
    ['this machine', (port: number) => `http://127.0.0.1:${port}/secret`],
    ['this machine in hexadecimal', (port: number) => `http://0x7f000001:${port}/secret`],
    ['this machine as one number', (port: number) => `http://2130706433:${port}/secret`],
    ['this machine over IPv6', (port: number) => `http://[::1]:${port}/secret`],
    ['this machine as IPv4 in IPv6', (port: number) => `http://[::ffff:127.0.0.1]:${port}/secret`],
    ['the metadata service', () => 'http://169.254.169.254/latest/meta-data'],
    ['another scheme', () => 'file:///etc/passwd'],
    ['credentials', (port: number) => `http://user:pass@site.test:${port}/secret`],
  ])('does not follow a redirect to %s', async (_, target) => {
    web.send('/secret', 'internal');
    web.redirect('/away', target(web.port));
    web.seen.length = 0;
    await expect(get('/away')).rejects.toMatchObject({ code: 'fetch_blocked' });
    expect(web.seen).toEqual([`site.test:${web.port} /away`]);
  });

  it('does not go to a private address in the first place', async () => {
    web.seen.length = 0;
    for (const url of [at('/secret', 'inner.test'), at('/secret', '127.0.0.1'), at('/secret', 'localhost')]) {
      await expect(fetcher.fetch(url, new AbortController().signal)).rejects.toMatchObject({ code: 'fetch_blocked' });
    }
    expect(web.seen).toEqual([]);
  });

  it('gives up on an address that redirects too often', async () => {
    web.redirect('/loop', '/loop');
    web.seen.length = 0;
    await expect(get('/loop')).rejects.toMatchObject({ code: 'fetch_failed', shouldRetry: false });
    expect(web.seen).toHaveLength(6);
  });

  it('reads no more than it may, announced or not, packed or not', async () => {
    const small = open({ maxBytes: 1_000 });
    const large = Buffer.alloc(5_000, 'x');
    web.send('/large', large);
    web.on('/endless', (_, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write(large), 1);
      response.on('close', () => clearInterval(timer));
    });
    web.send('/bomb', gzipSync(Buffer.alloc(1_000_000)), { 'content-encoding': 'gzip' });
    for (const path of ['/large', '/endless', '/bomb']) {
      await expect(get(path, small), path).rejects.toMatchObject({ code: 'too_large' });
    }
  });

  it('says whether another attempt makes sense', async () => {
    const answer = (status: number, headers = {}) =>
      web.on(`/${status}`, (_, response) => response.writeHead(status, headers).end('x'));
    for (const status of [401, 403, 404, 410, 451]) {
      answer(status);
      await expect(get(`/${status}`)).rejects.toMatchObject({ code: 'fetch_failed', shouldRetry: false });
    }
    answer(503, { 'retry-after': '7' });
    await expect(get('/503')).rejects.toMatchObject({ code: 'fetch_failed', retryAfterMs: 7_000 });
    answer(500);
    await expect(get('/500')).rejects.toMatchObject({ code: 'fetch_failed', shouldRetry: undefined });
    web.send('/empty', '');
    await expect(get('/empty')).rejects.toMatchObject({ code: 'fetch_failed', shouldRetry: false });
  });

  it('ends when a server does not answer or breaks off, and when it is told to', async () => {
    web.on('/silent', () => {});
    await expect(get('/silent', open({ timeoutMs: 50 }))).rejects.toMatchObject({ code: 'fetch_failed' });
    web.on('/broken', (request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('x', () => request.destroy());
    });
    await expect(get('/broken')).rejects.toMatchObject({ code: 'fetch_failed' });
    const stop = new AbortController();
    web.on('/waiting', () => stop.abort(new Error('stopped')));
    await expect(fetcher.fetch(at('/waiting'), stop.signal)).rejects.toThrow('stopped');
  });
});

describe('documents that are an address', () => {
  let test: TestApi;
  let web: Awaited<ReturnType<typeof startWeb>>;
  beforeAll(async () => {
    [test, web] = await Promise.all([startTestApi(), startWeb()]);
  });
  afterAll(async () => {
    await test.close();
    await web.close();
  });
  const add = async (path: string, more = {}) => {
    const content = `http://127.0.0.1:${web.port}${path}`;
    const { body } = await test.call('POST', '/v3/documents', { content, containerTag: 'pages', ...more });
    await test.process();
    return (await test.call('GET', `/v3/documents/${body.id}`)).body;
  };
  const page = (text: string) =>
    `<html><head><title>Harbour news</title><meta property="og:image" content="/crane.png"></head>
     <body><h1>Harbour news</h1><p>${text}</p></body></html>`;

  it('are fetched, with title and picture, and found', async () => {
    web.send('/news', page('The crane lifts containers at dawn.'), { 'content-type': 'text/html' });
    const document = await add('/news');
    expect(document).toMatchObject({
      status: 'done',
      type: 'webpage',
      source: 'url',
      title: 'Harbour news',
      url: `http://127.0.0.1:${web.port}/news`,
      raw: `http://127.0.0.1:${web.port}/news`,
      ogImage: `http://127.0.0.1:${web.port}/crane.png`,
      content: expect.stringContaining('The crane lifts containers at dawn.'),
    });
    const { body } = await test.call('POST', '/v4/search', {
      q: 'crane containers dawn',
      searchMode: 'documents',
      containerTag: 'pages',
    });
    expect(body.results[0].chunk).toContain('The crane lifts');
  });

  it('are read in the character set and as the type that the server says', async () => {
    web.send('/latin', Buffer.from('Stra\xdfe', 'latin1'), { 'content-type': 'text/plain; charset=iso-8859-1' });
    expect(await add('/latin')).toMatchObject({ status: 'done', type: 'text', content: 'Straße' });
    web.send('/picture', Buffer.from('\x89PNG\r\n\x1a\n0000', 'latin1'), { 'content-type': 'image/png' });
    expect(await add('/picture')).toMatchObject({
      status: 'failed',
      type: 'image',
      error: { code: 'unsupported_type', nextRetryAt: null },
    });
  });

  it('whose server is slow keep no other document waiting', async () => {
    const waiting: ServerResponse[] = [];
    web.on('/slow', (_, response) => void waiting.push(response));
    web.send('/quick', 'A quick page.', { 'content-type': 'text/plain' });
    const post = async (content: string) =>
      (await test.call('POST', '/v3/documents', { content, containerTag: 'slow' })).body.id as string;
    const slow = [];
    for (let number = 0; number < 3; number++) slow.push(await post(`http://127.0.0.1:${web.port}/slow?${number}`));
    const others = [await post('One text.'), await post(`http://127.0.0.1:${web.port}/quick`)];
    const processing = test.process();
    const statuses = (ids: string[]) =>
      Promise.all(ids.map(async (id) => (await test.call('GET', `/v3/documents/${id}`)).body.status));
    await expect.poll(() => statuses(others)).toEqual(['done', 'done']);
    const late = await post('Said while pages are awaited.');
    await expect.poll(() => waiting.length).toBe(3);
    test.clock.advance(1_000);
    await expect.poll(() => statuses([late])).toEqual(['done']);
    expect(await statuses(slow)).toEqual(['extracting', 'extracting', 'extracting']);
    for (const response of waiting) response.writeHead(200, { 'content-type': 'text/plain' }).end('At last.');
    await processing;
    expect(await statuses(slow)).toEqual(['done', 'done', 'done']);
  });

  it('that do not exist fail for good, those of a server in trouble are tried again', async () => {
    expect(await add('/missing')).toMatchObject({
      status: 'failed',
      error: { code: 'fetch_failed', message: expect.stringContaining('404'), nextRetryAt: null },
    });
    web.on('/busy', (_, response) => response.writeHead(503).end());
    expect(await add('/busy')).toMatchObject({
      status: 'queued',
      error: { code: 'fetch_failed', nextRetryAt: expect.any(String) },
    });
  });

  it('keep their chunks when a second fetch brings the same text, and change with another one', async () => {
    web.send('/again', page('One text of the page.'), { 'content-type': 'text/html' });
    const first = await add('/again', { customId: 'again' });
    const chunks = async () => (await test.call('GET', `/v3/documents/${first.id}/chunks`)).body.chunks;
    const before = await chunks();
    const answer = await test.call('POST', '/v3/documents', {
      content: first.raw,
      containerTag: 'pages',
      customId: 'again',
    });
    expect(answer.body).toEqual({ id: first.id, status: 'queued' });
    await test.process();
    expect(await chunks()).toEqual(before);
    web.send('/again', page('Quite another text.'), { 'content-type': 'text/html' });
    expect((await add('/again', { customId: 'again' })).content).toContain('Quite another text.');
  });
});
