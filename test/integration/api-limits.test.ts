import { describe, expect, it } from 'vitest';
import { startTestApi } from '../support/api.ts';

describe('the rate limit', () => {
  it('of a scoped key counts in windows and says what is left', async () => {
    const test = await startTestApi();
    const key = await test.newKey({ containerTags: ['a'], rateLimit: { max: 2, windowMs: 10_000 } });
    const probe = async (url = '/v3/session') => {
      const { status, headers } = await test.call('GET', url, undefined, key);
      const read = (name: string) => headers[name] && Number(headers[name]);
      return [status, read('x-ratelimit-limit'), read('x-ratelimit-remaining'), read('x-ratelimit-reset')];
    };
    const endsAt = Math.ceil((test.clock.now().getTime() + 10_000) / 1000);
    expect(await probe()).toEqual([200, 2, 1, endsAt]);
    test.clock.advance(4_000);
    expect(await probe('/v1/removed')).toEqual([404, 2, 0, endsAt]);
    const refused = await test.call('GET', '/v3/nothing', undefined, key);
    expect(refused).toMatchObject({ status: 429, body: { error: 'Rate limit exceeded' } });
    expect([refused.headers['retry-after'], refused.headers['retry-after-ms']]).toEqual(['6', '6000']);
    test.clock.advance(6_000);
    expect((await probe())[0]).toBe(200);
    await test.close();
  });

  it('of a scoped key is 500 a minute by default, and full keys and the local token have none', async () => {
    const test = await startTestApi();
    const scoped = await test.newKey({ containerTags: ['a'] });
    expect((await test.call('GET', '/v3/session', undefined, scoped)).headers['x-ratelimit-limit']).toBe('500');
    expect((await test.call('GET', '/v3/session')).headers).not.toHaveProperty('x-ratelimit-limit');
    await test.close();
  });

  it('of full keys comes from the configuration', async () => {
    const test = await startTestApi({ config: { rateLimit: { max: 1, windowMs: 60_000 } } });
    const first = await test.newKey();
    const second = await test.newKey();
    const status = async (key: string) => (await test.call('GET', '/v3/session', undefined, key)).status;
    expect([await status(first), await status(first), await status(second)]).toEqual([200, 429, 200]);
    await test.close();
  });
});

describe('web pages', () => {
  it('may not call unless their origin is allowed', async () => {
    const test = await startTestApi({ config: { corsOrigins: ['https://app.example.com'] } });
    const preflight = (origin: string) =>
      test.api.inject({
        method: 'OPTIONS',
        url: '/v4/search',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers':
            'authorization, content-type, x-stainless-lang, x-fern-runtime-version, x-content-hash, x-other',
        },
      });
    const allowed = await preflight('https://app.example.com');
    expect(allowed.statusCode).toBe(204);
    expect(allowed.headers['access-control-allow-origin']).toBe('https://app.example.com');
    expect(allowed.headers['access-control-allow-headers']).toMatch(
      /authorization.*content-type.*x-stainless-lang, x-fern-runtime-version, x-content-hash$/,
    );
    const refused = await preflight('https://evil.example.com');
    expect(refused.statusCode).toBe(401);
    expect(refused.headers).not.toHaveProperty('access-control-allow-origin');
    const plain = await test.api.inject({ url: '/health', headers: { origin: 'https://app.example.com' } });
    expect(plain.headers).toMatchObject({ 'access-control-allow-origin': 'https://app.example.com', vary: 'Origin' });
    const unauthorized = await test.api.inject({
      url: '/v3/session',
      headers: { origin: 'https://app.example.com' },
    });
    expect([unauthorized.statusCode, unauthorized.headers['access-control-allow-origin']]).toEqual([
      401,
      'https://app.example.com',
    ]);
    await test.close();
  });

  it('may not call at all by default', async () => {
    const test = await startTestApi();
    const response = await test.api.inject({ url: '/health', headers: { origin: 'https://app.example.com' } });
    expect(Object.keys(response.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    await test.close();
  });
});
