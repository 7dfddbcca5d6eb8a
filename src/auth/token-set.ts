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

  constructor(reason: RefusalReason, message: string, options: { retryAfterMs?: number; status?: number } = {}) {
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
  return new TokenRefusal(reason, message, { status, ...(retryAfterMs ? { retryAfterMs } : {}) });
}

/** Only what looks like a code is shown: the text beside it may quote what was sent. */
function errorCode(body: unknown): string | null {
  const error = typeof body === 'object' && body !== null ? (body as { error?: unknown }).error : undefined;
  if (error === undefined || error === null) return null;
  return typeof error === 'string' && /^[\w.-]{1,60}$/.test(error) ? error : 'error';
}
