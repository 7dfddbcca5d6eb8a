import { AuthorizationCode } from 'simple-oauth2';
import type { Clock } from '../base/clock.ts';
import { readRetryAfter } from '../base/retry-after.ts';
import type { OAuth2Spec } from '../connector/contract.ts';
import type { ClientKeys } from './oauth-clients.ts';

/** The client that memoryd is at one authorization server. */
export interface OAuthClient {
  id: string;
  /** Where the user gives consent. */
  consentLink(request: { state: string; redirectUri: string; challenge: string | null }): string;
  /** Throws `TokenRefusal`. */
  exchange(answer: { code: string; redirectUri: string; verifier: string | null }): Promise<TokenSet>;
  /** Throws `TokenRefusal`. The refresh token stays the old one when the answer has none. */
  refresh(refreshToken: string): Promise<TokenSet>;
  /** RFC 7009. Throws `TokenRefusal`. Does nothing when the server offers none. */
  revoke(token: TokenSet): Promise<void>;
}

export interface OAuthClientOptions {
  /** With its addresses filled in. */
  auth: OAuth2Spec;
  client: ClientKeys;
  clock: Clock;
}

/** For sending and for reading, each. */
const requestTimeoutMs = 15_000;
const maxAnswerBytes = 1024 * 1024;

export function createOAuthClient({ auth, client, clock }: OAuthClientOptions): OAuthClient {
  const server = new AuthorizationCode({
    client: identificationOf(client),
    auth: addressesOf(auth),
    http: { json: true, timeout: requestTimeoutMs, maxBytes: maxAnswerBytes },
    options: {
      authorizationMethod: client.clientSecret === undefined ? 'body' : (auth.clientAuthentication ?? 'body'),
    },
  });
  const host = new URL(auth.tokenUrl).host;
  const toToken = (answer: Record<string, unknown>) => readToken(answer, client.clientId, host, clock.now());

  return {
    id: client.clientId,
    consentLink: ({ state, redirectUri, challenge }) =>
      server.authorizeURL({
        ...auth.extraParams,
        ...(challenge === null ? {} : { code_challenge: challenge, code_challenge_method: 'S256' }),
        ...(auth.scopes.length === 0 ? {} : { scope: auth.scopes }),
        redirect_uri: redirectUri,
        state,
      }),
    async exchange({ code, redirectUri, verifier }) {
      const proof = verifier === null ? {} : { code_verifier: verifier };
      const request = { code, redirect_uri: redirectUri, ...proof };
      return toToken((await asked(host, () => server.getToken(request))).token);
    },
    async refresh(refreshToken) {
      const old = server.createToken({ refresh_token: refreshToken });
      const renewed = toToken((await asked(host, () => old.refresh())).token);
      return { ...renewed, refreshToken: renewed.refreshToken ?? refreshToken };
    },
    async revoke({ accessToken, refreshToken }) {
      if (auth.revokeUrl === undefined) return;
      const held = server.createToken({ access_token: accessToken, refresh_token: refreshToken });
      const revokeHost = new URL(auth.revokeUrl).host;
      // The refresh token first: servers end the whole grant with it (RFC 7009 section 2.1).
      if (refreshToken !== null) await asked(revokeHost, () => held.revoke('refresh_token'));
      await asked(revokeHost, () => held.revoke('access_token'));
    },
  };
}

/**
 * A public client sends its id alone (RFC 6749 section 3.2.1), and servers refuse an empty secret. The
 * library always sends two fields, so that the second one is the first again.
 */
function identificationOf({ clientId, clientSecret }: ClientKeys) {
  if (clientSecret !== undefined) return { id: clientId, secret: clientSecret };
  return { id: clientId, secret: clientId, secretParamName: 'client_id' };
}

function addressesOf({ authorizeUrl, tokenUrl, revokeUrl }: OAuth2Spec) {
  const [authorize, token] = [new URL(authorizeUrl), new URL(tokenUrl)];
  return {
    authorizeHost: authorize.origin,
    authorizePath: `${authorize.pathname}${authorize.search}`,
    tokenHost: token.origin,
    tokenPath: `${token.pathname}${token.search}`,
    // An absolute one replaces the host.
    revokePath: revokeUrl,
  };
}

/** The library's error for an HTTP answer (of @hapi/boom). */
interface AnswerError {
  data?: { isResponseError?: boolean; payload?: unknown; headers?: Record<string, string | undefined> };
  output?: { statusCode?: number };
}

async function asked<Answer>(host: string, request: () => Promise<Answer>): Promise<Answer> {
  try {
    return await request();
  } catch (error) {
    const { data, output } = error as AnswerError;
    if (!data?.isResponseError) throw new TokenRefusal('unclear', `${host} did not answer.`);
    const status = output?.statusCode ?? 500;
    const { 'retry-after': retryAfter, date } = data.headers ?? {};
    const answer = { status, body: parsed(data.payload), retryAfterMs: readRetryAfter({ retryAfter, date }) };
    throw refusalOf(answer, host) ?? new TokenRefusal('unclear', `${host} answered ${status}.`);
  }
}

function parsed(payload: unknown): unknown {
  if (!Buffer.isBuffer(payload)) return payload;
  try {
    return JSON.parse(payload.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** RFC 6749 section 5.1. Some servers say with status 200 that they refuse. */
function readToken(answer: Record<string, unknown>, clientId: string, host: string, now: Date): TokenSet {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn } = answer;
  const refusal = refusalOf({ status: 200, body: answer }, host);
  if (refusal) throw refusal;
  if (typeof accessToken !== 'string' || accessToken === '') {
    throw new TokenRefusal('unavailable', `${host} answered without a token.`);
  }
  const seconds = Number(expiresIn ?? Number.NaN);
  return {
    accessToken,
    refreshToken: typeof refreshToken === 'string' && refreshToken !== '' ? refreshToken : null,
    expiresAt: Number.isFinite(seconds) && seconds > 0 ? new Date(now.getTime() + seconds * 1000) : null,
    clientId,
  };
}

/** A source's answer to a request for tokens. */
export interface TokenSet {
  accessToken: string;
  refreshToken: string | null;
  /** Null: it does not expire, as far as the source told. */
  expiresAt: Date | null;
  /** The OAuth client that it was issued to: only that one may renew it. */
  clientId: string | null;
}

/** Share of its life after which a token is renewed, while it still works. */
const renewedAfter = 0.8;

export function renewTime(token: TokenSet, now: Date): Date | null {
  if (token.expiresAt === null) return null;
  const lifeMs = Math.max(0, token.expiresAt.getTime() - now.getTime());
  return new Date(now.getTime() + lifeMs * renewedAfter);
}

/** Why a source gave no token. Messages name the host and the error's code only. */
export class TokenRefusal extends Error {
  readonly reason: RefusalReason;
  readonly retryAfterMs: number | undefined;
  /** The status of the answer, if there was one. */
  readonly status: number | undefined;

  constructor(
    reason: RefusalReason,
    message: string,
    options: { retryAfterMs?: number | undefined; status?: number } = {},
  ) {
    super(message);
    this.name = 'TokenRefusal';
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs;
    this.status = options.status;
  }
}

/**
 * `denied`: the grant is gone. `client`: the OAuth client itself was refused. `machine`: the service account may not have
 * it. `app`: the app is not taken, or has no such installation. `unavailable`: the source said that it cannot now. `unclear`: no answer came, so that it may have
 * been carried out.
 */
export type RefusalReason = 'denied' | 'client' | 'machine' | 'app' | 'unavailable' | 'unclear';

/** Codes of RFC 6749 section 5.2, and those of sources that use their own. */
const deniedCodes = ['invalid_grant', 'bad_refresh_token', 'invalid_refresh_token', 'token_revoked', 'token_expired'];
const clientCodes = ['invalid_client', 'unauthorized_client', 'incorrect_client_credentials', 'unsupported_grant_type'];

/** The refusal that an answer of a token endpoint is; null when it is none. */
export function refusalOf(
  answer: { status: number; body: unknown; retryAfterMs?: number | null },
  host: string,
): TokenRefusal | null {
  const { status, body, retryAfterMs } = answer;
  const code = errorCode(body);
  if (status >= 200 && status < 300 && code === null) return null;
  const message = `${host} refused to issue a token: ${code ?? `status ${status}`}.`;
  if (code !== null && deniedCodes.includes(code)) return new TokenRefusal('denied', message, { status });
  if ((code !== null && clientCodes.includes(code)) || (code === null && status === 401)) {
    return new TokenRefusal('client', message, { status });
  }
  // A server that broke down in the middle may have issued a token.
  const reason = status >= 500 && status !== 503 ? 'unclear' : 'unavailable';
  return new TokenRefusal(reason, message, { status, retryAfterMs: retryAfterMs || undefined });
}

/** Only what looks like a code is shown: the text beside it may quote what was sent. */
function errorCode(body: unknown): string | null {
  const error = typeof body === 'object' && body !== null ? (body as { error?: unknown }).error : undefined;
  if (error === undefined || error === null) return null;
  return typeof error === 'string' && /^[\w.-]{1,60}$/.test(error) ? error : 'error';
}
