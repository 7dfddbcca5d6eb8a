import nock from 'nock';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import github from '../../../connectors/github/index.ts';
import { googleOAuth } from '../../../connectors/google/oauth.ts';
import notion from '../../../connectors/notion/index.ts';
import { fillAddress } from '../../../src/auth/token-sources.ts';
import { createOAuthClient, type OAuthClient } from '../../../src/auth/oauth-client.ts';
import type { AuthSpec, OAuth2Spec } from '../../../src/connector/contract.ts';
import { createTestClock } from '../../support/clock.ts';

/** Answers of the providers themselves, at their own addresses, as their documentation shows them. */
const clock = createTestClock();
const consent = { code: 'the-code', redirectUri: 'https://memory.example/callback', verifier: 'the-verifier' };

const clientOf = (auth: OAuth2Spec): OAuthClient =>
  createOAuthClient({ auth, client: { clientId: 'the-client', clientSecret: 'the-secret' }, clock });

beforeAll(() => nock.disableNetConnect());
afterEach(() => {
  expect(nock.pendingMocks()).toEqual([]);
  nock.cleanAll();
});
afterAll(() => {
  nock.enableNetConnect();
  nock.restore();
});

const oauthOf = (ways: readonly AuthSpec[]): OAuth2Spec =>
  ways.find((way): way is OAuth2Spec => way.type === 'oauth2')!;

it('GitHub refuses a code with status 200', async () => {
  const auth = oauthOf(github.spec.auth);
  const filled = { ...auth, tokenUrl: fillAddress(auth.tokenUrl, { webUrl: 'https://github.com' }) };
  nock('https://github.com')
    .post('/login/oauth/access_token', /client_secret=the-secret/)
    .matchHeader('accept', 'application/json')
    .reply(200, { error: 'bad_verification_code', error_description: 'The code passed is incorrect or expired.' });
  const refused = clientOf({ ...filled, authorizeUrl: 'https://github.com/login/oauth/authorize' }).exchange(consent);
  await expect(refused).rejects.toMatchObject({ name: 'TokenRefusal', message: /github\.com .*bad_verification_code/ });
});

it('Google answers a renewal without a refresh token, so that the old one stays', async () => {
  nock('https://oauth2.googleapis.com')
    .post('/token', {
      grant_type: 'refresh_token',
      refresh_token: 'old',
      client_id: 'the-client',
      client_secret: 'the-secret',
    })
    .reply(200, {
      access_token: 'new',
      expires_in: 3599,
      scope: 'https://www.googleapis.com/auth/drive.readonly',
      token_type: 'Bearer',
    });
  const expiresAt = new Date(clock.now().getTime() + 3_599_000);
  expect(await clientOf(googleOAuth({ scopes: [] })).refresh('old')).toMatchObject({
    accessToken: 'new',
    refreshToken: 'old',
    expiresAt,
  });
});

it('Google says that a grant is gone', async () => {
  nock('https://oauth2.googleapis.com')
    .post('/token')
    .reply(400, { error: 'invalid_grant', error_description: 'Token has been expired or revoked.' });
  await expect(clientOf(googleOAuth({ scopes: [] })).refresh('old')).rejects.toMatchObject({ reason: 'denied' });
});

it('Google ends a grant at an address of its own', async () => {
  const ended: unknown[] = [];
  nock('https://oauth2.googleapis.com')
    .post('/revoke', (body) => ended.push(body) > 0)
    .twice()
    .reply(200, {});
  const token = { accessToken: 'access', refreshToken: 'refresh', expiresAt: null, clientId: 'the-client' };
  await clientOf(googleOAuth({ scopes: [] })).revoke(token);
  expect(ended).toMatchObject([{ token: 'refresh' }, { token: 'access' }]);
});

it('Notion takes the secret in a header, and its tokens do not expire', async () => {
  nock('https://api.notion.com')
    .post('/v1/oauth/token')
    .basicAuth({ user: 'the-client', pass: 'the-secret' })
    .reply(200, {
      access_token: 'access',
      token_type: 'bearer',
      refresh_token: 'refresh',
      bot_id: 'b3414d65-1224-5ef4-876e-1f9c6d7f1a2b',
      workspace_name: 'Acme',
      workspace_icon: null,
      workspace_id: 'j565j4d7-x2882-61bs-564a-jj9d9ui-c36hxfr7x',
      duplicated_template_id: null,
      owner: { workspace: true },
    });
  const token = await clientOf(oauthOf(notion.spec.auth)).exchange({ ...consent, verifier: null });
  expect(token).toMatchObject({ accessToken: 'access', refreshToken: 'refresh', expiresAt: null });
});
