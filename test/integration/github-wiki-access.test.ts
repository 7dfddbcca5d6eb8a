import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import github from '../../connectors/github/index.ts';
import { configSchema, webUrlOf } from '../../connectors/github/config.ts';
import { createGithubApp } from '../../fixtures/servers/github/github-app.ts';
import type { Answer, SourceRequest } from '../../src/connector-kit/serve-source.ts';
import { findConnection } from '../../src/store/connections.ts';
import { goodToken, startGithubApi } from './github-api-fixture.ts';

let world: Awaited<ReturnType<typeof startGithubApi>> | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

const content = ['discussions', 'wiki'];

async function start(options: Parameters<typeof startGithubApi>[0] = {}) {
  const made = await startGithubApi(options);
  world = made;
  const wiki = made.source.addWiki(made.repository);
  wiki.write({ 'Home.md': 'home', 'Other.md': 'other' });
  made.repository.discussions.add('Title', 'body');
  return { ...made, wiki, settings: { content, webUrl: made.server.url } };
}

describe('access to discussions and wikis', () => {
  it('takes a GitHub App, whose token is renewed when Git refuses it', async () => {
    const state: { answer: ((request: SourceRequest) => Answer | undefined) | null } = { answer: null };
    const apps: ReturnType<typeof createGithubApp>[] = [];
    const made = await start({
      serve: { token: (token) => apps.some(({ isGood }) => isGood(token)), gate: (request) => state.answer?.(request) },
    });
    const app = createGithubApp(made.clock);
    apps.push(app);
    let expired = false;
    state.answer = (request) => {
      if (!expired && request.path.endsWith('/git-upload-pack')) {
        expired = true;
        app.expire();
      }
      return app.answer(request);
    };
    const { id } = await made.create({ ...app.fields, ...made.settings });
    const before = app.issued();
    expect(await made.sync(id)).toMatchObject({ run: 'completed', errorCode: null, status: 'active' });
    expect([expired, app.issued() - before]).toEqual([true, 2]);
    expect(await made.documents(id)).toBe(3);
    expect(made.logged()).not.toMatch(/ghs_|eC1hY2Nlc3MtdG9rZW4/);
  });

  it('pauses a connection whose token is refused everywhere, and only what lacks a right otherwise', async () => {
    const accepted = new Set([goodToken]);
    const made = await start({ serve: { token: (token) => accepted.has(token) } });
    const { id } = await made.create({ token: goodToken, ...made.settings });
    expect(await made.sync(id)).toMatchObject({ run: 'completed' });
    made.server.traffic.intercept(({ path }) => (path.includes('.wiki.git') ? { status: 401 } : undefined));
    made.repository.discussions.add('Another', 'body');
    made.clock.advance(60_000);
    expect(await made.sync(id)).toMatchObject({ status: 'active' });
    expect(await made.documents(id)).toBe(4);
    const { checks } = (await made.check(id)) as { checks: { name: string; status: string; remedy?: string }[] };
    expect(checks.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'credential ok',
      'repository-1 ok',
      'discussions-1 ok',
      'wiki-1 failed',
    ]);
    expect(checks.at(-1)!.remedy).toMatch(/read access to Contents/);
    accepted.clear();
    expect(await made.sync(id)).toMatchObject({ errorCode: 'auth_expired', status: 'needs_reauth' });
    expect(await made.documents(id)).toBe(4);
    const basic = Buffer.from(`x-access-token:${goodToken}`).toString('base64').slice(0, 30);
    for (const secret of [goodToken, basic]) expect(made.logged()).not.toContain(secret);
  });

  it('is refused with what is possible when a kind of content is not known', async () => {
    const made = await start();
    const { status, body } = await made.create({ token: goodToken, content: ['wikis'] });
    expect(status).toBe(400);
    for (const kind of ['files', 'issues', 'releases', 'discussions', 'wiki']) {
      expect(JSON.stringify(body)).toContain(kind);
    }
  });

  it('is asked for by what GitHub reports', async () => {
    const secret = 'the secret of the hook';
    const made = await start({ sharedSecrets: { github: secret } });
    const { id } = await made.create({ token: goodToken, ...made.settings });
    await made.sync(id);
    const { id: number } = made.repository;
    const asked: unknown[] = [];
    for (const [event, facts] of [
      ['discussion', { action: 'deleted', discussion: { number: 1 } }],
      ['discussion_comment', { action: 'edited', discussion: { number: 1 }, comment: { id: 5 } }],
      ['gollum', { pages: [{ page_name: 'Home' }] }],
    ] as const) {
      const payload = JSON.stringify({ ...facts, repository: { id: number, default_branch: 'main' } });
      const headers = {
        ...{ 'content-type': 'application/json', 'x-github-event': event, 'x-github-delivery': event },
        'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(payload).digest('hex')}`,
      };
      await made.api.inject({ method: 'POST', url: '/v3/hooks/github', payload, headers });
      asked.push((await findConnection(made.database, id))!.requestedSync);
    }
    const hinted = { [`${number}:discussions`]: [`${number}:discussion:1`] };
    expect(asked).toMatchObject([{ hints: hinted }, { hints: hinted }, { trigger: 'event' }]);
  });
});

describe('where wikis are', () => {
  it.each([
    [{}, 'https://github.com'],
    [{ baseUrl: 'https://api.github.com', webUrl: 'https://github.com' }, 'https://github.com'],
    [{ baseUrl: 'https://git.example.com/api/v3', webUrl: 'https://github.com' }, 'https://git.example.com'],
    [{ baseUrl: 'https://api.acme.ghe.com' }, 'https://acme.ghe.com'],
    [{ baseUrl: 'https://git.example.com/api/v3', webUrl: 'https://web.example.com' }, 'https://web.example.com'],
  ])('%j', (config, url) => {
    expect(webUrlOf(config)).toBe(url);
  });

  it('is an origin for the token only when wikis are mirrored', () => {
    const origins = github.spec.origins as (config: object) => string[];
    expect(origins({})).toEqual(['https://api.github.com']);
    expect(origins({ content: ['wiki'] })).toEqual(['https://api.github.com', 'https://github.com']);
    expect((configSchema as any).properties.content.default).toEqual(['files', 'issues', 'releases']);
  });
});
