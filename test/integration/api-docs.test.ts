import { createHash } from 'node:crypto';
import { Script } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';

let test: TestApi;
let page: { status: number; headers: Record<string, unknown>; body: string };
beforeAll(async () => {
  test = await startTestApi();
  page = await test.call('GET', '/docs/', undefined, null);
});
afterAll(() => test.close());

const origin = 'http://127.0.0.1:6767';

/** Addresses that the markup makes a browser load. */
const references = () =>
  [...page.body.matchAll(/\s(?:src|href)\s*=\s*["']([^"']+)["']/g)].map(([, address]) => address!);
const inlineScripts = () =>
  [...page.body.matchAll(/<script(?![^>]*src)[^>]*>([^]*?)<\/script>/g)].map(([, text]) => text!);
/** What the page hands to the reader of the description. */
const configuration = () => JSON.parse(/createApiReference\('#app', (\{[^]*?\n {6}\})\)/.exec(page.body)![1]!);

const descriptions = (): string[] => configuration().sources.map(({ url }: { url: string }) => url);

describe('the page of the API', () => {
  it('needs no key and is a page; its short address leads to it', async () => {
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.body).toContain('<title>memoryd API</title>');
    const short = await test.call('GET', '/docs', undefined, null);
    expect([short.status, new URL(String(short.headers['location']), `${origin}/docs`).pathname]).toEqual([
      302,
      '/docs/',
    ]);
  });

  it('refers only to what the daemon itself serves without a key', async () => {
    const loaded = [...references(), ...descriptions()].map((address) => new URL(address, `${origin}/docs/`));
    expect(loaded.length).toBeGreaterThan(1);
    expect(loaded.filter((address) => address.origin !== origin)).toEqual([]);
    for (const { pathname } of loaded) {
      expect([pathname, (await test.call('GET', pathname, undefined, null)).status]).toEqual([pathname, 200]);
    }
    const script = await test.call('GET', '/docs/js/scalar.js', undefined, null);
    expect(script.headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect(script.body.length).toBeGreaterThan(1_000_000);
    expect(() => new Script(script.body)).not.toThrow();
  });

  it('finds all of it behind a proxy that adds a path', async () => {
    const prefix = `${origin}/memory`;
    const short = await test.call('GET', '/docs', undefined, null);
    expect(new URL(String(short.headers['location']), `${prefix}/docs`).pathname).toBe('/memory/docs/');
    for (const address of [...references(), ...descriptions()]) {
      expect(new URL(address, `${prefix}/docs/`).href).toContain(`${prefix}/`);
    }
  });

  it('asks for no fonts, no telemetry, no proxy and no assistant', () => {
    expect(configuration()).toMatchObject({
      sources: [{ url: '../openapi.json' }, { url: '../v5/openapi.json' }],
      withDefaultFonts: false,
      telemetry: false,
      proxyUrl: '',
      agent: { disabled: true },
      mcp: { disabled: true },
    });
    expect(page.body).not.toMatch(/https?:\/\//);
  });

  it('has a policy that lets its own parts in and nothing else', () => {
    const policy = String(page.headers['content-security-policy']);
    const rules = new Map(policy.split('; ').map((rule) => [rule.split(' ')[0], rule.split(' ').slice(1)]));
    expect(rules.get('default-src')).toEqual(["'none'"]);
    expect(rules.get('connect-src')).toEqual(["'self'"]);
    const hashes = inlineScripts().map((text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`);
    expect(hashes.length).toBeGreaterThan(0);
    expect(rules.get('script-src')).toEqual(["'self'", ...hashes]);
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
  });
});
