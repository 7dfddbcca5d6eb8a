import { createPrivateKey, sign, type KeyObject } from 'node:crypto';
import { readRetryAfter } from '../base/retry-after.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { isOAuth } from './fields.ts';
import {
  badConfig,
  type AuthSpec,
  type GithubAppSpec,
  type JsonObject,
  type OAuth2Spec,
  type ServiceAccountSpec,
} from '../connector/contract.ts';
import { createOAuthClient, type OAuthClient, TokenRefusal, refusalOf, type TokenSet } from './oauth-client.ts';
import type { OAuthClients } from './oauth-clients.ts';
import type { TokenSource } from './renewal.ts';

/** A connection as far as its credentials go. */
export interface CredentialOwner {
  id: string;
  provider: string;
  /** Without secrets. */
  config: Record<string, unknown>;
}

/** Where the tokens of connections come from. */
export interface TokenSources {
  /** The OAuth client for new grants. Throws `invalid_request` when none is registered. */
  client(owner: Omit<CredentialOwner, 'id'>, auth: OAuth2Spec): Promise<OAuthClient>;
  of(owner: CredentialOwner, auth: AuthSpec, fields: () => JsonObject): TokenSource;
  /** Ends a grant at its source, as far as that can be done; never throws. */
  revoke(owner: CredentialOwner, auth: AuthSpec, token: TokenSet): Promise<void>;
}

export interface TokenSourcesOptions {
  clients: OAuthClients;
  clock: Clock;
  log: Logger;
}

export function createTokenSources({ clients, clock, log }: TokenSourcesOptions): TokenSources {
  /** The client that a token was issued to; null when it is no longer registered. */
  async function issuer(owner: CredentialOwner, auth: OAuth2Spec, token: TokenSet): Promise<OAuthClient | null> {
    const client = await clients.find(owner.provider, token.clientId ?? undefined);
    return client && createOAuthClient({ auth: withAddresses(auth, owner), client, clock });
  }

  async function refresh(owner: CredentialOwner, auth: AuthSpec, current: TokenSet | null): Promise<TokenSet> {
    if (!isOAuth(auth) || !current?.refreshToken)
      throw new TokenRefusal('denied', 'There is nothing to renew it with.');
    const client = await issuer(owner, auth, current);
    if (!client) throw new TokenRefusal('denied', 'The OAuth client that it was given to is no longer configured.');
    return client.refresh(current.refreshToken).catch((error: unknown) => {
      const isEnded = error instanceof TokenRefusal && error.reason === 'denied' && auth.endedHint !== undefined;
      throw isEnded ? new TokenRefusal('denied', `${error.message} ${auth.endedHint}`) : error;
    });
  }

  async function revoke(owner: CredentialOwner, auth: AuthSpec, token: TokenSet): Promise<void> {
    if (!isOAuth(auth)) return;
    try {
      await (await issuer(owner, auth, token))?.revoke(token);
    } catch (error) {
      const { provider, id } = owner;
      const reason = error instanceof TokenRefusal ? error.message : 'unexpected failure';
      log.warn({ provider, connectionId: id, reason }, 'the grant could not be revoked at the source');
    }
  }

  return {
    async client(owner, auth) {
      const client = await clients.find(owner.provider);
      if (!client) throw clients.missing(owner.provider);
      return createOAuthClient({ auth: withAddresses(auth, owner), client, clock });
    },
    of(owner, auth, fields) {
      const input = () => ({ fields: fields(), config: owner.config as JsonObject, clock });
      return {
        async next(current) {
          if (auth.type === 'serviceAccount') return mintServiceToken(auth, input());
          if (auth.type === 'githubApp') return mintInstallationToken(auth, input());
          return refresh(owner, auth, current);
        },
        discard: (token) => revoke(owner, auth, token),
      };
    },
    revoke,
  };
}

/** The way to authorize with the addresses and scopes of one connection. */
function withAddresses(auth: OAuth2Spec, owner: Omit<CredentialOwner, 'id'>): OAuth2Spec {
  const { authorizeUrl, tokenUrl, revokeUrl } = auth;
  const fill = (address: string) => fillAddress(address, owner.config as JsonObject);
  return {
    ...auth,
    authorizeUrl: fill(authorizeUrl),
    tokenUrl: fill(tokenUrl),
    scopes: auth.scopesFor?.(owner.config) ?? auth.scopes,
    ...(revokeUrl === undefined ? {} : { revokeUrl: fill(revokeUrl) }),
  };
}

/** The input of a token request: the fields of the authorization, and the settings that its address names. */
interface MintingInput {
  fields: JsonObject;
  config: JsonObject;
  clock: Clock;
}

/** RFC 7523 section 2.1: an hour is what servers allow. */
const assertionSeconds = 3_600;
/** Clocks differ. GitHub refuses a token from the future, and a life of more than ten minutes. */
const skewSeconds = 60;
const appSeconds = 540;

/** An access token of a service account. Throws `TokenRefusal` and `BadConfig`. */
async function mintServiceToken(auth: ServiceAccountSpec, input: MintingInput): Promise<TokenSet> {
  const now = input.clock.now();
  const url = fillAddress(auth.tokenUrl, { ...input.config, ...input.fields });
  const { issuer, privateKey, keyId } = serviceKey(input.fields);
  const issuedAt = Math.floor(now.getTime() / 1000);
  const { subject } = input.fields;
  const assertion = signJwt(
    {
      iss: issuer,
      sub: typeof subject === 'string' && subject !== '' ? subject : issuer,
      aud: auth.audience ?? url,
      iat: issuedAt,
      exp: issuedAt + assertionSeconds,
      ...(auth.scopes?.length ? { scope: auth.scopes.join(' ') } : {}),
    },
    { privateKey, keyId },
  );
  const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion };
  const answer = await requestToken(url, { body: new URLSearchParams(grant) }).catch((error: unknown) => {
    throw ofMachine(error);
  });
  const seconds = Number(answer['expires_in'] ?? Number.NaN);
  const expiresAt = Number.isFinite(seconds) ? new Date(now.getTime() + seconds * 1000) : null;
  return tokenOf(answer['access_token'], expiresAt, url);
}

/** There is no OAuth client that could be wrong. */
function ofMachine(error: unknown): unknown {
  if (!(error instanceof TokenRefusal) || error.reason !== 'client') return error;
  return new TokenRefusal('machine', error.message, error.status === undefined ? {} : { status: error.status });
}

/** A token of one installation of an app. Throws `TokenRefusal` and `BadConfig`. */
async function mintInstallationToken(auth: GithubAppSpec, input: MintingInput): Promise<TokenSet> {
  const url = fillAddress(auth.tokenUrl, { ...input.config, ...input.fields });
  const nowSeconds = Math.floor(input.clock.now().getTime() / 1000);
  const claims = {
    iss: textOf(input.fields, 'appId'),
    iat: nowSeconds - skewSeconds,
    exp: nowSeconds + appSeconds,
  };
  const jwt = signJwt(claims, { privateKey: textOf(input.fields, 'privateKey') });
  const headers = { authorization: `Bearer ${jwt}`, accept: 'application/vnd.github+json' };
  const answer = await requestToken(url, { headers, body: null }).catch((error: unknown) => {
    throw ofApp(error, new URL(url).host);
  });
  const expiresAt = new Date(String(answer['expires_at']));
  return tokenOf(answer['token'], Number.isNaN(expiresAt.getTime()) ? null : expiresAt, url);
}

/** 401 is about the signature, 404 about the installation: https://docs.github.com/rest/apps/apps#create-an-installation-access-token-for-an-app */
function ofApp(error: unknown, host: string): unknown {
  const status = error instanceof TokenRefusal ? error.status : undefined;
  if (status === 401) return new TokenRefusal('app', `${host} refused the key of the app.`, { status });
  if (status === 404) return new TokenRefusal('app', `${host} knows no such installation of the app.`, { status });
  return error;
}

function tokenOf(accessToken: unknown, expiresAt: Date | null, url: string): TokenSet {
  if (typeof accessToken !== 'string' || accessToken === '') {
    throw new TokenRefusal('unavailable', `${new URL(url).host} answered without a token.`);
  }
  return { accessToken, refreshToken: null, expiresAt, clientId: null };
}

/** An id is often a number. */
function textOf(fields: JsonObject, name: string): string {
  const value = fields[name];
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw badConfig(`The connection has no ${name}.`);
}

interface ServiceKey {
  issuer: string;
  privateKey: string;
  keyId?: string | undefined;
}

function serviceKey(fields: JsonObject): ServiceKey {
  const file = typeof fields['key'] === 'string' ? keyFile(fields['key']) : {};
  const issuer = file['client_email'] ?? fields['issuer'];
  const privateKey = file['private_key'] ?? fields['privateKey'];
  const keyId = file['private_key_id'];
  if (typeof issuer !== 'string' || typeof privateKey !== 'string') {
    throw badConfig('The key of the service account has no issuer or no private key.', 'Give the whole JSON key file.');
  }
  return { issuer, privateKey, keyId: typeof keyId === 'string' ? keyId : undefined };
}

function keyFile(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    // What the parser says may quote the key.
    throw badConfig('The key of the service account is not JSON.', 'Give the whole JSON key file.');
  }
}

/** A JSON Web Token signed with RS256 (RFC 7519, RFC 7518 section 3.3). Throws `BadConfig` for a key that is none. */
function signJwt(
  claims: Record<string, unknown>,
  { privateKey, keyId }: { privateKey: string; keyId?: string | undefined },
): string {
  const header = { alg: 'RS256', typ: 'JWT', kid: keyId };
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${sign('sha256', Buffer.from(text), readPrivateKey(privateKey)).toString('base64url')}`;
}

function readPrivateKey(text: string): KeyObject {
  try {
    // Keys that came through an environment variable or a JSON text have their line ends as two characters.
    const key = createPrivateKey(text.replaceAll(String.raw`\n`, '\n'));
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // What the parser says may quote the key.
  }
  throw badConfig(
    'The private key cannot be read.',
    'It must be an RSA key as PEM text, whole and without a passphrase.',
  );
}

const timeoutMs = 20_000;
const maxBytes = 1024 * 1024;

/** One POST to a token endpoint; answers its JSON. Throws `TokenRefusal`. */
async function requestToken(
  url: string,
  request: { headers?: Record<string, string>; body: URLSearchParams | null },
): Promise<Record<string, unknown>> {
  const { host } = new URL(url);
  const { response, body } = await send(url, host, request);
  const { headers } = response;
  const retryAfterMs = readRetryAfter({ retryAfter: headers.get('retry-after'), date: headers.get('date') });
  const refusal = refusalOf({ status: response.status, body, retryAfterMs }, host);
  if (refusal) throw refusal;
  if (typeof body !== 'object' || body === null) throw new TokenRefusal('unavailable', `${host} answered no JSON.`);
  return body as Record<string, unknown>;
}

async function send(
  url: string,
  host: string,
  { headers, body }: { headers?: Record<string, string>; body: URLSearchParams | null },
): Promise<{ response: Response; body: unknown }> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { accept: 'application/json', 'user-agent': 'memoryd', ...headers },
      body,
      // A token that is sent elsewhere is lost.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    return { response, body: parsed(await readCapped(response)) };
  } catch {
    throw new TokenRefusal('unclear', `${host} did not answer.`);
  }
}

async function readCapped(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > maxBytes) throw new Error('too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Puts values into an address: `{name}` encoded as a part of a path, `{+name}` as it is (RFC 6570). */
export function fillAddress(template: string, values: JsonObject): string {
  const filled = template.replaceAll(/\{(\+?)(\w+)\}/g, (_, plain: string, name: string) => {
    const value = values[name];
    if (typeof value !== 'string' && typeof value !== 'number') throw badConfig(`The setting ${name} is missing.`);
    return plain ? String(value).replace(/\/+$/, '') : encodeURIComponent(value);
  });
  if (!/^https?:\/\/[^/]/.test(filled) || !URL.canParse(filled)) {
    throw badConfig('The address of the authorization server is not an absolute http(s) address.');
  }
  return filled;
}
