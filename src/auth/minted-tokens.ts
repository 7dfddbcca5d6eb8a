import type { Clock } from '../base/clock.ts';
import { badConfig, type GithubAppSpec, type JsonObject, type ServiceAccountSpec } from '../connector/contract.ts';
import { fillAddress } from './fill-address.ts';
import { signJwt } from './jwt.ts';
import { requestToken } from './token-request.ts';
import { TokenRefusal, type TokenSet } from './token-set.ts';

/** What a token is made from: the fields of the authorization, and the settings that its address names. */
export interface MintingInput {
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
export async function mintServiceToken(auth: ServiceAccountSpec, input: MintingInput): Promise<TokenSet> {
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
    { privateKey, ...(keyId === undefined ? {} : { keyId }) },
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
export async function mintInstallationToken(auth: GithubAppSpec, input: MintingInput): Promise<TokenSet> {
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
  keyId?: string;
}

function serviceKey(fields: JsonObject): ServiceKey {
  const file = typeof fields['key'] === 'string' ? keyFile(fields['key']) : {};
  const issuer = file['client_email'] ?? fields['issuer'];
  const privateKey = file['private_key'] ?? fields['privateKey'];
  const keyId = file['private_key_id'];
  if (typeof issuer !== 'string' || typeof privateKey !== 'string') {
    throw badConfig('The key of the service account has no issuer or no private key.', 'Give the whole JSON key file.');
  }
  return { issuer, privateKey, ...(typeof keyId === 'string' ? { keyId } : {}) };
}

function keyFile(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    // What the parser says may quote the key.
    throw badConfig('The key of the service account is not JSON.', 'Give the whole JSON key file.');
  }
}
