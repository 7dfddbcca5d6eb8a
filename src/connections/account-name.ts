import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Authorization } from '../auth/authorization.ts';
import { createContext } from '../source/context.ts';
import type { Connector, ConnectorSpec, OAuth2Spec } from '../connector/contract.ts';
import type { SourceAccount } from './connection-plan.ts';
import type { Credentials } from '../auth/credentials.ts';
import type { CredentialOwner } from '../auth/token-sources.ts';
import type { Outbound } from '../source/http/outbound.ts';
import type { TokenSet } from '../auth/token-set.ts';

export interface AccountNameOptions {
  connector(name: string): Promise<Connector<any, any>>;
  credentials: Credentials;
  outbound?: Outbound | undefined;
  clock: Clock;
  log: Logger;
  spec: ConnectorSpec;
  auth: OAuth2Spec;
  owner: CredentialOwner;
  token: TokenSet;
}

/** Somebody looks at a blank page meanwhile. */
const patienceMs = 15_000;

/**
 * Which account a new token is for. Null when the connector cannot tell, or the source does not: a
 * connection without a name works as well, and what is wrong with the token shows at its first sync.
 */
export async function nameAccount(options: AccountNameOptions): Promise<SourceAccount | null> {
  const { spec, auth, owner, token, log } = options;
  if (!auth.identity) return null;
  const { authorization, redaction } = options.credentials.preview(owner, spec, { auth, fields: {}, token });
  const signal = AbortSignal.timeout(patienceMs);
  const { context, dispose } = createContext({
    connector: await options.connector(owner.provider),
    connectionId: null,
    outbound: options.outbound,
    config: owner.config,
    authorization: alwaysInHeader(authorization),
    selection: [],
    clock: options.clock,
    log,
    signal,
  });
  try {
    const { id, email } = await auth.identity(context.http);
    return { id: String(id), email: email ?? null };
  } catch (error) {
    log.warn(
      { err: redaction.value(error), provider: owner.provider },
      'the account of a connection could not be named',
    );
    return null;
  } finally {
    await dispose();
  }
}

/** A token for a mail server, too, names its account over HTTP. */
function alwaysInHeader(authorization: Authorization): Authorization {
  return { ...authorization, headers: async () => ({ authorization: `Bearer ${await authorization.token()}` }) };
}
