import { expect, it, onTestFinished } from 'vitest';
import drive from '../../connectors/google-drive/index.ts';
import gmail from '../../connectors/gmail/index.ts';
import type { GmailConfig } from '../../connectors/gmail/config.ts';
import { silentLogger } from '../../src/base/log.ts';
import { isOAuth } from '../../src/auth/fields.ts';
import type { OAuth2Spec } from '../../src/connector/contract.ts';
import { createTokenSources } from '../../src/auth/token-sources.ts';
import type { OAuthClients } from '../../src/auth/oauth-clients.ts';
import { serveSource, type Answer } from '../../src/connector-kit/serve-source.ts';
import { createTestClock } from '../support/clock.ts';

const keys = { clientId: 'client', clientSecret: 'word' };
const clients = { find: async () => keys } as Partial<OAuthClients> as OAuthClients;
const clock = createTestClock();
const sources = createTokenSources({ clients, clock, log: silentLogger });
const auth = gmail.spec.auth.find(isOAuth)!;
const ofDrive = drive.spec.auth.find(isOAuth)!;

async function linkWith(config: GmailConfig): Promise<URL> {
  const client = await sources.client({ provider: 'gmail', config: { ...config } }, auth);
  return new URL(client.consentLink({ state: 's', redirectUri: 'http://localhost/back', challenge: 'c' }));
}

/** A renewal that the token endpoint answers so. */
async function renewalAnswered(answer: Answer, spec = auth): Promise<unknown> {
  const server = await serveSource({ clock, answer: () => answer });
  onTestFinished(() => server.close());
  const there: OAuth2Spec = { ...spec, tokenUrl: `${server.url}/token` };
  const owner = { id: 'one', provider: 'gmail', config: {} };
  const token = { accessToken: 'a', refreshToken: 'r', expiresAt: null, clientId: keys.clientId };
  return sources
    .of(owner, there, () => ({}))
    .next(token)
    .catch((error: unknown) => error);
}

it('asks to read mail and nothing else, for a token that can be renewed', async () => {
  const { origin, pathname, searchParams } = await linkWith({});
  expect(origin + pathname).toBe('https://accounts.google.com/o/oauth2/v2/auth');
  expect(Object.fromEntries(searchParams)).toMatchObject({
    scope: 'https://www.googleapis.com/auth/gmail.readonly',
    access_type: 'offline',
    prompt: 'consent',
    code_challenge_method: 'S256',
  });
});

it('asks for the scope of IMAP only when the first load comes over IMAP', async () => {
  expect((await linkWith({ firstLoad: 'imap' })).searchParams.get('scope')).toBe('https://mail.google.com/');
});

it.each([
  ['Gmail', auth],
  ['Google Drive', ofDrive],
])('says why a grant to %s has ended: an app in testing loses it after seven days', async (_, spec) => {
  const error = await renewalAnswered({ status: 400, json: { error: 'invalid_grant' } }, spec);
  expect(String(error)).toMatch(/invalid_grant[^]*seven days[^]*publish the app/);
});

it('says nothing of that when the token endpoint only breaks down', async () => {
  const error = await renewalAnswered({ status: 503, json: { error: 'backend_error' } });
  expect(String(error)).not.toContain('seven days');
});
