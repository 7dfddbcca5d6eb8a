import type { Clock } from '../base/clock.ts';
import { propertiesOf } from './fields.ts';
import {
  authExpired,
  badConfig,
  ConnectorError,
  type ApiKeySpec,
  type AuthSpec,
  type BasicSpec,
  type JsonObject,
} from '../connector/contract.ts';
import type { StoredToken } from './renewal.ts';

/**
 * A connection's authorization at its source: the seam between the stored credentials
 * and whatever sends them (HTTP, SASL, a vendor's library).
 */
export interface Authorization {
  /** Headers that authorize one request; empty when the connector authorizes its requests itself. */
  headers(): Promise<Record<string, string>>;
  /**
   * The source refused a request sent with these headers (401). Answers true when another credential is
   * there now (renewed here, by another call or by another process), so that the request is worth one
   * more try. Throws `AuthExpired` when the source says that the grant is gone.
   */
  renew(refused: Record<string, string>): Promise<boolean>;
  /**
   * A valid access token, renewed shortly before it expires, or the API key. With one that the source
   * refused: another one, else `AuthExpired`. Throws `BadConfig` when there is none by design.
   */
  token(refused?: string): Promise<string>;
  /** A stored secret field of the connection's authorization or configuration. */
  secret(name: string): Promise<string>;
}

/** The present credentials of a connection. */
export interface HeldCredentials {
  fields: JsonObject;
  /** The token's version, also when there is none yet. */
  version: number;
  token: StoredToken | null;
}

/** Where credentials are kept: the database, or only memory while a connection is being made. */
export interface CredentialKeeper {
  read(): Promise<HeldCredentials>;
  /** See `Renewals.renew`. */
  renew(stale: number): Promise<StoredToken>;
}

interface AuthorizationOptions {
  provider: string;
  /** Null: nothing to authorize; there may be secret settings all the same. */
  auth: AuthSpec | null;
  held: HeldCredentials;
  keeper: CredentialKeeper;
  clock: Clock;
  /** Gets every secret before it is used, so that it can be kept out of what is shown. */
  onSecret(secret: string): void;
}

export function createAuthorization(options: AuthorizationOptions): Authorization {
  return new HeldAuthorization(options);
}

/** The authorization of one context. Keeps its token in memory, and reads the store when that is refused or old. */
class HeldAuthorization implements Authorization {
  readonly #options: AuthorizationOptions;
  #held: HeldCredentials;
  /** No renewal ahead of time before, because the last one failed. */
  #renewNotBefore = 0;

  constructor(options: AuthorizationOptions) {
    this.#options = options;
    this.#held = options.held;
    if (this.#held.token) this.#tell(this.#held.token);
  }

  async headers(): Promise<Record<string, string>> {
    const { auth } = this.#options;
    const { fields } = this.#held;
    if (auth?.type === 'apiKey') return apiKeyHeader(auth, fields);
    if (auth?.type === 'basic') return this.#told(basicHeader(auth, fields));
    if (auth === null || auth.type === 'xoauth2') return {};
    return { authorization: `Bearer ${(await this.#usableToken()).token.accessToken}` };
  }

  async renew(refused: Record<string, string>): Promise<boolean> {
    const { auth } = this.#options;
    switch (auth?.type) {
      case undefined:
        return false;
      case 'apiKey':
        return this.#replaced(({ fields }) => isSent(apiKeyHeader(auth, fields), refused));
      case 'basic':
        return this.#replaced(({ fields }) => isSent(basicHeader(auth, fields), refused));
      default:
        return this.#replaced(
          ({ token }) => !token || isSent({ authorization: `Bearer ${token.token.accessToken}` }, refused),
        );
    }
  }

  async token(refused?: string): Promise<string> {
    const { auth, provider } = this.#options;
    if (auth?.type === 'apiKey') return apiKey(auth, this.#held.fields);
    if (auth === null || auth.type === 'basic') throw noToken(provider);
    if (
      refused !== undefined &&
      !(await this.#replaced(({ token }) => !token || token.token.accessToken === refused))
    ) {
      throw authExpired('The source refused the access, and gave nothing to renew it.');
    }
    return (await this.#usableToken()).token.accessToken;
  }

  async secret(name: string): Promise<string> {
    const { fields } = this.#held;
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (typeof value !== 'string') throw noSecret(name);
    return value;
  }

  #tell({ token: { accessToken, refreshToken } }: StoredToken): void {
    this.#options.onSecret(accessToken);
    if (refreshToken !== null) this.#options.onSecret(refreshToken);
  }

  #told(sent: Record<string, string>): Record<string, string> {
    for (const value of Object.values(sent)) this.#options.onSecret(value);
    return sent;
  }

  #take(token: StoredToken): StoredToken {
    this.#tell(token);
    this.#held = { ...this.#held, token, version: token.version };
    return token;
  }

  async #renewToken(): Promise<StoredToken> {
    return this.#take(await this.#options.keeper.renew(this.#held.version));
  }

  /** A token that still works; renewed ahead of its end, if the source is there to do it. */
  async #usableToken(): Promise<StoredToken> {
    const { token } = this.#held;
    const now = this.#options.clock.now().getTime();
    const isExpired = !token || (token.token.expiresAt !== null && token.token.expiresAt.getTime() <= now);
    if (token && !isExpired) {
      const isDue = token.renewAt !== null && token.renewAt.getTime() <= now && this.#renewNotBefore <= now;
      return isDue ? this.#renewAhead(token) : token;
    }
    if (token && !token.renewable)
      throw authExpired('The access has expired, and the source gave nothing to renew it.');
    return this.#renewToken();
  }

  async #renewAhead(present: StoredToken): Promise<StoredToken> {
    try {
      return await this.#renewToken();
    } catch (error) {
      if (!ConnectorError.is(error) || error.kind !== 'transient') throw error;
      this.#renewNotBefore = error.retryAt?.getTime() ?? 0;
      return present;
    }
  }

  /** Whether something else is there than what was refused; asks the source only when nothing is. */
  async #replaced(isRefused: (held: HeldCredentials) => boolean): Promise<boolean> {
    if (!isRefused(this.#held)) return true;
    const { fields, token } = await this.#options.keeper.read();
    this.#held = { ...this.#held, fields };
    if (token && token.version !== this.#held.version) this.#take(token);
    if (!isRefused(this.#held)) return true;
    if (!this.#held.token?.renewable) return false;
    await this.#renewToken();
    return true;
  }
}

export function noToken(provider: string): ConnectorError {
  return badConfig(`The connector ${provider} has no authorization to take a token from.`);
}

export function noSecret(name: string): ConnectorError {
  return badConfig(`The connection holds no secret named ${name}.`);
}

function isSent(headers: Record<string, string>, refused: Record<string, string>): boolean {
  const sent = new Map(Object.entries(refused).map(([name, value]) => [name.toLowerCase(), value]));
  return Object.entries(headers).every(([name, value]) => sent.get(name.toLowerCase()) === value);
}

function apiKeyHeader(auth: ApiKeySpec, fields: JsonObject): Record<string, string> {
  if (auth.header === null) return {};
  const name = (auth.header ?? 'Authorization').toLowerCase();
  const prefix = auth.prefix ?? (name === 'authorization' ? 'Bearer ' : '');
  return { [name]: `${prefix}${apiKey(auth, fields)}` };
}

function apiKey(auth: ApiKeySpec, fields: JsonObject): string {
  const properties = Object.entries(propertiesOf(auth.fields));
  const [name] = properties.find(([, property]) => property['x-secret'] === true) ?? properties[0] ?? [];
  return textOf(fields, auth.field ?? name ?? 'key');
}

/** RFC 7617 section 2, in UTF-8. */
function basicHeader(auth: BasicSpec, fields: JsonObject): Record<string, string> {
  if (auth.header === null) return {};
  const user = textOf(fields, auth.userField ?? 'user');
  const password = textOf(fields, auth.passwordField ?? 'password');
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

function textOf(fields: JsonObject, name: string): string {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (typeof value !== 'string' || value === '') throw badConfig(`The connection has no ${name}.`);
  return value;
}
