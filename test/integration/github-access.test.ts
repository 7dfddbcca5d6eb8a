import { afterEach, describe, expect, it } from 'vitest';
import { createGithubApp } from '../../fixtures/servers/github/github-app.ts';
import { answerTokenRequest, tokenPath } from '../../fixtures/servers/github/github-oauth.ts';
import { createTokenDesk } from '../../fixtures/servers/token-desk.ts';
import type { Answer, SourceRequest } from '../../src/connector-kit/serve-source.ts';
import { createTestClock } from '../support/clock.ts';
import { goodToken, startGithubApi } from './github-api-fixture.ts';

let world: Awaited<ReturnType<typeof startGithubApi>> | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

async function start(options: Parameters<typeof startGithubApi>[0] = {}) {
  const made = await startGithubApi(options);
  made.git.commit({ 'a.md': 'one', 'b.md': 'two' });
  world = made;
  return made;
}

/** A gate that answers what a test says from then on. */
function createGate() {
  const state: { answer: ((request: SourceRequest) => Answer | undefined) | null } = { answer: null };
  return { state, gate: (request: SourceRequest) => state.answer?.(request) };
}

const well = { run: 'completed', errorCode: null, status: 'active' };

describe('authorization', () => {
  it('takes a personal token, asks for another one when it is refused, and goes on with it', async () => {
    const accepted = new Set([goodToken]);
    const { create, sync, documents, check, call } = await start({ serve: { token: (token) => accepted.has(token) } });
    const { id } = await create();
    expect(await sync(id)).toMatchObject(well);
    accepted.clear();
    expect(await sync(id)).toMatchObject({ run: 'failed', errorCode: 'auth_expired', status: 'needs_reauth' });
    expect(await documents(id)).toBe(2);
    expect(JSON.stringify(await check(id))).toContain('"status":"failed"');
    accepted.add('another');
    expect(await call('PATCH', `/v3/connections/${id}`, { metadata: { token: 'another' } })).toMatchObject({
      status: 200,
    });
    expect(await sync(id)).toMatchObject(well);
  });

  it('takes a GitHub App, whose token is renewed when it ends in the middle of a sync', async () => {
    const { state, gate } = createGate();
    const apps: ReturnType<typeof createGithubApp>[] = [];
    const made = await start({ serve: { token: (token) => apps.some(({ isGood }) => isGood(token)), gate } });
    const app = createGithubApp(made.clock);
    apps.push(app);
    let expired = false;
    state.answer = (request) => {
      if (!expired && request.path.includes('/git/trees/')) {
        expired = true;
        app.expire();
      }
      return app.answer(request);
    };
    const { id } = await made.create(app.fields);
    const before = app.issued();
    expect(await made.sync(id)).toMatchObject(well);
    expect([expired, app.issued() - before]).toEqual([true, 2]);
    expect(await made.documents(id)).toBe(2);
  });

  it('says that the key of an app or its installation is wrong', async () => {
    const { state, gate } = createGate();
    const made = await start({ serve: { token: () => false, gate } });
    const app = createGithubApp(made.clock);
    const { privateKey } = createGithubApp(made.clock).fields;
    state.answer = app.answer;
    const refused = await made.create({ ...app.fields, privateKey });
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).toMatch(/refused/);
    expect(JSON.stringify(refused.body)).not.toContain('PRIVATE KEY');
    const unknown = await made.create({ ...app.fields, installationId: '1' });
    expect(unknown.status).toBe(400);
    expect(JSON.stringify(unknown.body)).toMatch(
      /knows no such installation of the app.*Check app id.*installation id/,
    );
  });

  it('pauses a connection whose app was uninstalled, and goes on with its new installation', async () => {
    const { state, gate } = createGate();
    const apps: ReturnType<typeof createGithubApp>[] = [];
    const made = await start({ serve: { token: (token) => apps.some(({ isGood }) => isGood(token)), gate } });
    const app = createGithubApp(made.clock);
    apps.push(app);
    state.answer = app.answer;
    const { id } = await made.create(app.fields);
    expect(await made.sync(id)).toMatchObject(well);
    app.reinstall('9000');
    const paused = await made.sync(id);
    expect(paused).toMatchObject({ run: 'failed', status: 'needs_configuration' });
    expect(paused.statusReason).toMatch(/knows no such installation of the app\..* install it again/);
    expect(await made.documents(id)).toBe(2);
    const metadata = { ...app.fields, installationId: '9000' };
    expect(await made.call('PATCH', `/v3/connections/${id}`, { metadata })).toMatchObject({ status: 200 });
    made.git.commit({ 'c.md': 'three' });
    expect(await made.sync(id)).toMatchObject(well);
    expect(await made.documents(id)).toBe(3);
  });

  it('takes OAuth, renews it with rotating tokens, and asks for consent again when it was withdrawn', async () => {
    const clock = createTestClock();
    const desk = createTokenDesk({ clock, canary: 'test' });
    const { client } = desk;
    const { state, gate } = createGate();
    const clients = { oauthClients: { github: { clientId: client.id, clientSecret: client.secret } } };
    const made = await start({ clients, serve: { token: desk.isValid, gate } });
    let granted = 0;
    state.answer = (request) => {
      if (request.path !== tokenPath) return undefined;
      const form = new URLSearchParams(Buffer.from(request.body).toString());
      const asked = form.size > 1 ? form : new URLSearchParams(request.json() as Record<string, string>);
      if (asked.get('grant_type') !== 'authorization_code') return answerTokenRequest(desk, request);
      granted += 1;
      const { accessToken, refreshToken, expiresIn } = desk.grant();
      return { json: { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn, scope: 'repo' } };
    };
    const consent = async (link: string) => {
      const asked = new URL(link).searchParams;
      expect([asked.get('client_id'), asked.get('scope')]).toEqual([client.id, 'repo']);
      const path = `/v3/connections/auth/callback/github?code=c&state=${asked.get('state')}`;
      expect((await made.call('GET', path, undefined, null)).status).toBeLessThan(400);
    };
    const { body, id } = await made.create({ webUrl: made.server.url });
    await consent(body.authLink);
    expect(granted).toBe(1);
    expect(await made.sync(id)).toMatchObject(well);
    desk.expireAccessTokens();
    expect(await made.sync(id)).toMatchObject(well);
    expect(desk.refreshes()).toBe(1);
    desk.withdraw();
    expect(await made.sync(id)).toMatchObject({ errorCode: 'auth_expired', status: 'needs_reauth' });
    expect(await made.documents(id)).toBe(2);
  });

  it('says which right a token lacks', async () => {
    const { state, gate } = createGate();
    const made = await start({ serve: { gate } });
    const { id } = await made.create();
    expect(await made.sync(id)).toMatchObject(well);
    const message = 'Resource not accessible by personal access token';
    state.answer = ({ path }) =>
      path.endsWith('/commits')
        ? { status: 403, headers: { 'x-accepted-github-permissions': 'contents=read' }, json: { message } }
        : undefined;
    const refused = await made.sync(id);
    expect(refused).toMatchObject({ run: 'failed', status: 'active' });
    expect(refused.error).toContain('The token lacks a right. GitHub asks for: contents=read.');
    expect(await made.documents(id)).toBe(2);
    state.answer = ({ path }) =>
      path.endsWith('/commits') ? { status: 403, headers: { 'x-github-sso': 'required' }, json: {} } : undefined;
    made.clock.advance(7 * 3_600_000);
    expect((await made.sync(id)).error).toContain('single sign-on');
  });

  it('says that a classic token without the scope of private repositories does not see one', async () => {
    const made = await start({ serve: { scopes: 'read:user' } });
    const { id } = await made.create();
    made.repository.isHidden = true;
    expect(JSON.stringify(await made.check(id))).toMatch(/Scopes: read:user.*scope `repo`/);
  });
});

describe('repositories', () => {
  it('are kept with a reason while they are deleted or private, and go on when they are back', async () => {
    const made = await start();
    const { id } = await made.create();
    await made.sync(id);
    made.repository.isHidden = true;
    const missing = await made.sync(id);
    expect(missing.run).toBe('failed');
    expect(missing.error).toContain('There is no repository acme/notes, or the token may not see it.');
    expect(await made.documents(id)).toBe(2);
    made.repository.isHidden = false;
    made.git.commit({ 'c.md': 'three' });
    made.clock.advance(7 * 3_600_000);
    expect(await made.sync(id)).toMatchObject(well);
    expect(await made.documents(id)).toBe(3);
  });

  it('of which one is deleted or private do not keep the others waiting, and lose nothing', async () => {
    const made = await start();
    const other = made.source.addRepository('acme/other');
    other.git.commit({ 'c.md': 'three' });
    const { id } = await made.create({ token: goodToken, repositories: ['acme/notes', 'acme/other'] });
    expect(await made.sync(id)).toMatchObject(well);
    made.repository.isHidden = true;
    for (let day = 0; day < 9; day++) {
      other.git.commit({ [`day-${day}.md`]: 'more' });
      made.clock.advance(24 * 3_600_000);
      const partly = await made.sync(id);
      expect(partly).toMatchObject(well);
      expect(partly.statusReason).toMatch(/^acme\/notes: There is no repository acme\/notes, or the token/);
    }
    expect(await made.documents(id)).toBe(12);
    made.repository.isHidden = false;
    made.git.commit({ 'd.md': 'four' });
    expect(await made.sync(id)).toMatchObject({ ...well, statusReason: null });
    expect(await made.documents(id)).toBe(13);
  });

  it('that become private between the listing and the files lose nothing', async () => {
    const { state, gate } = createGate();
    const made = await start({ serve: { gate } });
    const { id } = await made.create();
    await made.sync(id);
    made.git.commit({ 'a.md': 'other', 'b.md': 'others' });
    state.answer = ({ path }) => {
      if (path === '/graphql') made.repository.isHidden = true;
      return undefined;
    };
    await made.sync(id);
    expect(await made.documents(id)).toBe(2);
    state.answer = null;
    made.repository.isHidden = false;
    made.clock.advance(7 * 3_600_000);
    expect(await made.sync(id)).toMatchObject(well);
    expect(await made.items(id)).toEqual({ 'a.md': 'done', 'b.md': 'done' });
  });

  it('are mirrored when they are archived, and on GitHub Enterprise Server', async () => {
    const made = await start({ serve: { prefix: '/api/v3' } });
    made.repository.isArchived = true;
    const { id, status } = await made.create();
    expect([status, made.server.apiUrl]).toEqual([200, `${made.server.url}/api/v3`]);
    expect(await made.sync(id)).toMatchObject(well);
    expect(await made.documents(id)).toBe(2);
    const paths = made.server.traffic.recent().map(({ path }) => path);
    expect(paths).toContain('/api/graphql');
  });

  it('without issues are mirrored without issues', async () => {
    const made = await start();
    made.repository.hasIssues = false;
    const { id } = await made.create({ token: goodToken, content: ['files', 'issues', 'releases'] });
    expect(await made.sync(id)).toMatchObject(well);
    expect(await made.sync(id)).toMatchObject(well);
    expect(await made.documents(id)).toBe(2);
  });

  it('skip a file of 100 MB without asking for it, and name the reason', async () => {
    const made = await start();
    made.git.commit({ 'large.md': Buffer.alloc(100 * 1024 * 1024, 'x'), 'small.md': 'small' });
    const { id } = await made.create();
    expect(await made.sync(id)).toMatchObject(well);
    const items = await made.items(id);
    expect(items['large.md']).toMatch(/^skipped: /);
    expect(items['small.md']).toBe('done');
    const large = made.git.tree(made.git.head('main')!, true).find(({ path }) => path === 'large.md')!;
    expect(made.server.traffic.recent().some(({ path }) => path.endsWith(large.sha))).toBe(false);
  });
});
