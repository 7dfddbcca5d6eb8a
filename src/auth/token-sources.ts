import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { isOAuth } from './auth-choice.ts';
import type { AuthSpec, JsonObject, OAuth2Spec } from '../connector/contract.ts';
import { createOAuthClient, type OAuthClient } from './oauth-client.ts';
import type { OAuthClients } from './oauth-clients.ts';
import { fillAddress } from './fill-address.ts';
import { mintInstallationToken, mintServiceToken } from './minted-tokens.ts';
import type { TokenSource } from './renewal.ts';
import { TokenRefusal, type TokenSet } from './token-set.ts';

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
