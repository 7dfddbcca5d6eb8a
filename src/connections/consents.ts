import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import {
  accountIdOf,
  isAccountShared,
  setConnectionAccount,
  findConnection,
  type ConnectionRow,
  requestSync,
  setConnectionStatus,
} from '../store/connections.ts';
import type { Database, Transaction } from '../store/database.ts';
import {
  cancelPendingAuthorizations,
  deletePendingAuthorizations,
  findPendingAuthorization,
  finishPendingAuthorization,
  insertPendingAuthorization,
  latestPendingAuthorization,
  usePendingAuthorization,
  type AuthorizationOutcome,
  type PendingAuthorizationRow,
} from '../store/pending-authorizations.ts';
import { isOAuth } from '../auth/fields.ts';
import { storePlan, type ConnectionPlan, type SourceAccount } from './connection-plan.ts';
import type { Connector, ConnectorSpec, OAuth2Spec } from '../connector/contract.ts';
import type { Credentials } from '../auth/credentials.ts';
import type { Outbound } from '../source/http/outbound.ts';
import { TokenRefusal, type TokenSet } from '../auth/oauth-client.ts';
import type { Vault } from '../auth/vault.ts';
import type { Authorization } from '../auth/authorization.ts';
import { createContext } from '../source/context.ts';
import type { CredentialOwner } from '../auth/token-sources.ts';

/** Parameters of the callback, each only if it is a single text. */
export interface CallbackAnswer {
  code?: string | undefined;
  state?: string | undefined;
  error?: string | undefined;
}

type ConsentFailure = 'access_denied' | 'invalid_state' | 'exchange_failed';

export type ConsentResult =
  | { outcome: 'connected'; connectionId: string; redirectUrl: string | null }
  /** `redirectUrl` is null for a state that nobody knows. `reason` is a sentence that is safe to show. */
  | { outcome: ConsentFailure; reason: string; redirectUrl: string | null };

/** How an authorization stands. */
type ConsentState = 'pending' | 'expired' | AuthorizationOutcome;

interface StartedConsent {
  /** That the connection will have. */
  id: string;
  authLink: string;
  expiresInMs: number;
}

/** Section 19.6 and 19.7 of the API: connections that wait until their user has said yes at the source. */
export interface Consents {
  begin(start: {
    connector: Connector<any, any>;
    auth: OAuth2Spec;
    /** A new connection, or one that is authorized again. */
    of: { plan: ConnectionPlan } | { connection: ConnectionRow };
    redirectUrl: string | null;
  }): Promise<StartedConsent>;
  complete(provider: string, answer: CallbackAnswer): Promise<ConsentResult>;
  /** Of the newest authorization for a connection; null when there was none. */
  state(connectionId: string): Promise<ConsentState | null>;
  /** Where the source sends browsers back to: what an OAuth client there must list. */
  callbackAddress(provider: string): string;
  /** A connection of a container that waits for its first consent; null when there is none. */
  pending(connectionId: string, containerTag: string): Promise<PendingConnection | null>;
  /** Ends the wait; the link leads nowhere any more. */
  cancel(connectionId: string): Promise<void>;
}

/** A connection that is not there yet. */
export interface PendingConnection {
  id: string;
  provider: string;
  plan: ConnectionPlan;
  authLink: string;
  createdAt: Date;
  expiresAt: Date;
}

interface ConsentsOptions {
  database: Database;
  vault: Vault;
  credentials: Credentials;
  /** Absent: connectors cannot send requests. */
  outbound?: Outbound | undefined;
  connector(name: string): Promise<Connector<any, any>>;
  reactivate: Reactivation;
  clock: Clock;
  log: Logger;
  /** Where browsers reach this daemon. */
  publicUrl(): string;
  /** Called when a connection was made, with its id. */
  connected(connectionId: string): Promise<void>;
}

const lifeMs = 60 * 60_000;

/** Used and expired ones are kept for a day, so that whoever comes late is sent back to where they came from. */
const keptMs = 24 * 60 * 60_000;

/** Sealed until the browser comes back. */
interface SealedRequest {
  verifier: string | null;
  redirectUri: string;
  authLink: string;
  /** Null: the connection exists. */
  plan: ConnectionPlan | null;
}

export function createConsents(options: ConsentsOptions): Consents {
  const { database, vault, clock } = options;
  const callbackAddress = (provider: string) => `${options.publicUrl()}/v3/connections/auth/callback/${provider}`;

  return {
    callbackAddress,
    async begin({ connector, auth, of, redirectUrl }) {
      const now = clock.now();
      const provider = connector.spec.name;
      const { config } = 'plan' in of ? of.plan : of.connection;
      const client = await options.credentials.client({ provider, config }, auth);
      const id = 'plan' in of ? newId(now) : of.connection.id;
      const state = randomText();
      const stateHash = hashOf(state);
      const verifier = auth.pkce === false ? null : randomText();
      const redirectUri = callbackAddress(provider);
      const challenge = verifier === null ? null : challengeOf(verifier);
      const authLink = client.consentLink({ state, redirectUri, challenge });
      const request: SealedRequest = { verifier, redirectUri, authLink, plan: 'plan' in of ? of.plan : null };
      await deletePendingAuthorizations(database, new Date(now.getTime() - keptMs));
      await insertPendingAuthorization(database, {
        stateHash,
        provider,
        connectionId: id,
        request: vault.seal('pending authorization', stateHash, request),
        redirectUrl,
        expiresAt: new Date(now.getTime() + lifeMs),
        now,
      });
      return { id, authLink, expiresInMs: lifeMs };
    },
    complete: (provider, answer) => complete(options, provider, answer),
    async state(connectionId) {
      const row = await latestPendingAuthorization(database, connectionId);
      if (!row) return null;
      return row.outcome ?? (row.expiresAt <= clock.now() ? 'expired' : 'pending');
    },
    async pending(connectionId, containerTag) {
      const row = await latestPendingAuthorization(database, connectionId);
      if (!row || row.request === null || row.usedAt !== null || row.expiresAt <= clock.now()) return null;
      const request = vault.open('pending authorization', row.stateHash, row.request) as unknown as SealedRequest;
      const { plan, authLink } = request;
      // One of an earlier version has no link in it.
      if (plan?.containerTag !== containerTag || !authLink) return null;
      const { provider, createdAt, expiresAt } = row;
      return { id: connectionId, provider, plan, authLink, createdAt, expiresAt };
    },
    cancel: (connectionId) => cancelPendingAuthorizations(database, connectionId),
  };
}

/** 256 bits as 43 characters: also what RFC 7636 section 4.1 asks of a verifier. */
function randomText(): string {
  return randomBytes(32).toString('base64url');
}

function hashOf(state: string): string {
  return createHash('sha256').update(state).digest('hex');
}

/** RFC 7636 section 4.2. */
function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}

async function complete(options: ConsentsOptions, provider: string, answer: CallbackAnswer): Promise<ConsentResult> {
  const { database, clock } = options;
  if (answer.state === undefined) return unknownState();
  const key = { stateHash: hashOf(answer.state), provider };
  const row = await usePendingAuthorization(database, { ...key, now: clock.now() });
  if (!row) return lateState(await findPendingAuthorization(database, key));
  const { redirectUrl, connectionId } = row;
  const failed = async (outcome: 'access_denied' | 'exchange_failed', reason: string): Promise<ConsentResult> => {
    await finishPendingAuthorization(database, key.stateHash, outcome);
    return { outcome, reason, redirectUrl };
  };
  if (answer.error === 'access_denied') return failed('access_denied', 'The access was not allowed.');
  if (answer.error !== undefined || answer.code === undefined) {
    return failed('exchange_failed', 'The source could not give the access. Try again.');
  }
  const problem = await connect(options, row, answer.code).catch(async (error: unknown) => {
    await finishPendingAuthorization(database, key.stateHash, 'exchange_failed');
    throw error;
  });
  if (problem !== null) return failed('exchange_failed', problem);
  return { outcome: 'connected', connectionId, redirectUrl };
}

function unknownState(): ConsentResult {
  const reason = 'This link is not known. Begin again where you wanted to connect.';
  return { outcome: 'invalid_state', reason, redirectUrl: null };
}

function lateState(row: PendingAuthorizationRow | null): ConsentResult {
  if (!row) return unknownState();
  const what = row.usedAt === null ? 'has expired' : 'was used already';
  const reason = `This link ${what}. Begin again where you wanted to connect.`;
  return { outcome: 'invalid_state', reason, redirectUrl: row.redirectUrl };
}

/** Makes or authorizes the connection; answers what went wrong, as a sentence, or null. */
async function connect(options: ConsentsOptions, row: PendingAuthorizationRow, code: string): Promise<string | null> {
  const { vault, credentials } = options;
  const { provider, connectionId } = row;
  const { spec } = await options.connector(provider);
  const auth = spec.auth.find(isOAuth);
  if (!auth || row.request === null) return 'The connector has changed. Begin again.';
  const request = vault.open('pending authorization', row.stateHash, row.request) as unknown as SealedRequest;
  const existing = request.plan === null ? await findConnection(options.database, connectionId) : null;
  const config = request.plan?.config ?? existing?.config;
  if (!config) return 'The connection was deleted meanwhile.';
  const owner = { id: connectionId, provider, config };
  const token = await exchange(options, { ...request, code }, owner, auth);
  if (typeof token === 'string') return token;
  const account = await nameAccount({ ...options, spec, auth, owner, token });
  const problem = await store(options, { row, spec, auth, token, account, plan: request.plan });
  if (problem !== null && !(await isNeeded(options, owner, account))) await credentials.revoke(owner, auth, token);
  return problem;
}

/** Many sources end the whole grant of an account with one of its tokens. */
async function isNeeded(
  { database }: ConsentsOptions,
  { id, provider }: { id: string; provider: string },
  account: SourceAccount | null,
): Promise<boolean> {
  return account !== null && isAccountShared(database, { provider, accountId: account.id, exceptId: id });
}

async function exchange(
  { credentials, log }: ConsentsOptions,
  { code, verifier, redirectUri }: SealedRequest & { code: string },
  owner: { id: string; provider: string; config: Record<string, unknown> },
  auth: OAuth2Spec,
): Promise<TokenSet | string> {
  try {
    return await (await credentials.client(owner, auth)).exchange({ code, verifier, redirectUri });
  } catch (error) {
    if (!(error instanceof TokenRefusal)) throw error;
    const { provider } = owner;
    log.warn({ provider, reason: error.message }, 'the code of an authorization could not be exchanged');
    return 'The source did not accept the answer. Begin again where you wanted to connect.';
  }
}

interface Granted {
  row: PendingAuthorizationRow;
  spec: ConnectorSpec;
  auth: OAuth2Spec;
  token: TokenSet;
  account: SourceAccount | null;
  plan: ConnectionPlan | null;
}

/** Stores the connection, its credentials and the outcome, all or nothing. */
async function store(options: ConsentsOptions, granted: Granted): Promise<string | null> {
  const { database, credentials, clock } = options;
  const { row, spec, auth, token, account, plan } = granted;
  const { connectionId: id, provider } = row;
  const problem = await database.transaction(async (tx) => {
    const now = clock.now();
    if (plan) {
      await storePlan(tx, { id, provider, account, now }, plan);
    } else {
      const existing = await findConnection(tx, id);
      if (!existing || existing.status === 'deleting') return 'The connection was deleted meanwhile.';
      const accountId = await accountIdOf(tx, id);
      if (account && accountId !== null && accountId !== account.id) {
        return 'This is another account than the one that is connected. Connect it as a connection of its own.';
      }
      if (account) await setConnectionAccount(tx, id, account);
      await options.reactivate(tx, existing);
    }
    await credentials.put(tx, id, spec, { auth, fields: plan?.fields ?? {}, token });
    await finishPendingAuthorization(tx, row.stateHash, 'connected');
    return null;
  });
  if (problem === null) await options.connected(id);
  return problem;
}

interface AccountNameOptions {
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
async function nameAccount(options: AccountNameOptions): Promise<SourceAccount | null> {
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
  return {
    headers: async () => ({ authorization: `Bearer ${await authorization.token()}` }),
    renew: (refused) => authorization.renew(refused),
    token: (refused) => authorization.token(refused),
    secret: (name) => authorization.secret(name),
  };
}

/** Lets a connection go on that waited for a new authorization. */
type Reactivation = (tx: Transaction, connection: ConnectionRow) => Promise<void>;

/** A paused connection stays paused: that was somebody's wish. */
export function createReactivation(clock: Clock): Reactivation {
  return async (tx, { id, status }) => {
    const now = clock.now();
    if (status === 'needs_reauth' || status === 'needs_configuration') {
      await setConnectionStatus(tx, id, { status: 'active', reason: null, now });
    }
    await requestSync(tx, id, { mode: 'incremental', trigger: 'event' }, { now });
  };
}
