import { mkdtempSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';

const html = '<!doctype html><title>memoryd</title><script type="module" src="/console/assets/main-abc.js"></script>';
const asBrowser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const json = { name: 'memoryd', version: '9.9.9', docs: '/docs' };

let folder: string;
let test: TestApi;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-console-'));
  mkdirSync(join(folder, 'dist/console/assets'), { recursive: true });
  writeFileSync(join(folder, 'dist/index.html'), html);
  writeFileSync(join(folder, 'dist/console/assets/main-abc.js'), 'export {};');
  writeFileSync(join(folder, 'dist/console/assets/main-abc.css'), ':root {}');
  writeFileSync(join(folder, 'dist/console/assets/notes.txt'), 'not a part of the page');
  writeFileSync(join(folder, 'dist/console/secret.js'), 'secret');
  writeFileSync(join(folder, 'secret.js'), 'secret');
  test = await startTestApi({ config: { consoleFolder: join(folder, 'dist') } });
});
afterAll(async () => {
  await test.close();
  rmSync(folder, { recursive: true, force: true });
});

const get = (url: string, headers: Record<string, string> = {}) => test.api.inject({ url, headers });

describe('the page of the console', () => {
  it('is at / for browsers, who ask for it anew each time', async () => {
    const response = await get('/', asBrowser);
    expect([response.statusCode, response.body]).toEqual([200, html]);
    expect(response.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      vary: 'accept, accept-encoding',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    });
  });

  it.each<Record<string, string>>([{}, { accept: '*/*' }, { accept: 'application/json' }])(
    'is not what programs get: %j',
    async (headers) => {
      const response = await get('/', headers);
      expect([response.json(), response.headers['vary']]).toEqual([json, 'accept, accept-encoding']);
    },
  );

  it('is answered to HEAD as to GET, without its text', async () => {
    const response = await test.api.inject({ method: 'HEAD', url: '/', headers: asBrowser });
    expect([response.statusCode, response.body]).toEqual([200, '']);
    expect(response.headers['content-type']).toBe('text/html; charset=utf-8');
  });

  it('comes compressed to those who can read that', async () => {
    const response = await get('/', { ...asBrowser, 'accept-encoding': 'br, gzip' });
    expect(response.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(response.rawPayload).toString()).toBe(html);
  });

  it('is another one when it was built anew', async () => {
    const own = mkdtempSync(join(tmpdir(), 'memoryd-console-'));
    const built = await startTestApi({ config: { consoleFolder: own } });
    const page = async () => (await built.api.inject({ url: '/', headers: asBrowser })).body;
    expect(JSON.parse(await page())).toEqual(json);
    mkdirSync(join(own, 'console/assets'), { recursive: true });
    for (const [at, text] of [
      [1, 'first'],
      [2, 'second'],
    ] as const) {
      writeFileSync(join(own, 'index.html'), text);
      utimesSync(join(own, 'index.html'), at, at);
      expect(await page()).toBe(text);
    }
    // A build that writes the page before what it loads is read again.
    writeFileSync(join(own, 'console/assets/late.js'), 'export {};');
    utimesSync(join(own, 'console/assets'), 3, 3);
    expect((await built.api.inject({ url: '/console/assets/late.js' })).statusCode).toBe(200);
    await built.close();
    rmSync(own, { recursive: true });
  });
});

describe('files of the page', () => {
  it.each([
    ['main-abc.js', 'text/javascript; charset=utf-8', 'export {};'],
    ['main-abc.css', 'text/css; charset=utf-8', ':root {}'],
  ])('%s needs no key and is kept by browsers', async (name, type, text) => {
    const response = await get(`/console/assets/${name}`);
    expect([response.statusCode, response.body, response.headers['content-type']]).toEqual([200, text, type]);
    expect(response.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(response.headers['x-content-type-options']).toBe('nosniff');
  });

  it.each([
    '/console/assets/../secret.js',
    '/console/assets/..%2fsecret.js',
    '/console/assets/%2e%2e%2fsecret.js',
    '/console/assets/%2e%2e/secret.js',
    '/console/assets/..%5csecret.js',
    '/console/assets/..%2f..%2f..%2fsecret.js',
    '/console/assets/%00',
    '/console/assets/none.js',
    '/console/assets/notes.txt',
    '/console/assets/__proto__',
    '/console/assets/',
    '/console/secret.js',
    '/console/dist/index.html',
  ])('nothing else is found: %s', async (path) => {
    const response = await get(path, asBrowser);
    expect([401, 404]).toContain(response.statusCode);
    expect(response.body).not.toContain('secret');
    expect(response.headers['content-type']).toContain('application/json');
  });
});
