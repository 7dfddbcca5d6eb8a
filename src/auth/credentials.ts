import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { findConnection, setConnectionStatus, accountIdOf, isAccountShared } from '../store/connections.ts';
import {
  idleGrants,
  findCredentials,
  putCredentials,
  setFields,
  takeCredentials,
  type CredentialRow,
} from '../store/credentials.ts';
import type { Database, Queryable, Transaction } from '../store/database.ts';
import {
  ConnectorError,
  type Connector,
  type AuthSpec,
  type ConnectorSpec,
  type JsonObject,
  type OAuth2Spec,
} from '../connector/contract.ts';
import { isOAuth, storedAuth, authorizationNames, secretSettings, secretValues } from './fields.ts';
import {
  type Authorization,
  createAuthorization,
  type CredentialKeeper,
  type HeldCredentials,
} from './authorization.ts';
import { type OAuthClient, renewTime, type TokenSet } from './oauth-client.ts';
import type { OAuthClients } from './oauth-clients.ts';
import { createRedaction, type Redaction } from './redaction.ts';
import type { Vault } from './vault.ts';
import { createRenewals, isRenewable, openToken, renewalError, type Renewals } from './renewal.ts';
import { createTokenSources, type CredentialOwner, type TokenSources } from './token-sources.ts';

/** A connector's opened credentials, which it gets beside its settings. */
export interface OpenedCredentials {
  authorization: Authorization;
  /** Settings that are secret. */
  secrets: JsonObject;
  /** Knows every secret of the connection. */
  redaction: Redaction;
  /** The OAuth client that the grant was given to: sources count some limits by it. */
  clientId: string | null;
}

export interface NewCredentials {
  /** Null: only secret settings. */
  auth: AuthSpec | null;
  fields: JsonObject;
  token: TokenSet | null;
}

/** The credentials of connections: stored sealed, renewed in time, ended with their connection. */
export interface Credentials {
  /** Null for a connection that has none. Waiting for a renewal ends with the signal. */
  open(owner: CredentialOwner, spec: ConnectorSpec, signal: AbortSignal): Promise<OpenedCredentials | null>;
  /** The same over credentials that are not stored yet; nothing is stored. */
  preview(owner: CredentialOwner, spec: ConnectorSpec, fresh: NewCredentials): OpenedCredentials;
  /** Stores a new authorization in place of the one that was there. Secret settings that are not given stay. */
  put(tx: Transaction, connectionId: string, spec: ConnectorSpec, fresh: NewCredentials): Promise<void>;
  /** Changes some secret fields; null takes one away. */
  change(tx: Transaction, connectionId: string, fields: JsonObject): Promise<void>;
  /** Erases the credentials. The grant is ended at the source afterwards, as far as that can be done. */
  forget(owner: CredentialOwner, spec: ConnectorSpec | null): Promise<void>;
  /** Renews a token although it may still be good. Throws as `Renewals.renew` does. */
  renew(owner: CredentialOwner, spec: ConnectorSpec, signal: AbortSignal): Promise<void>;
  /** The OAuth client for new grants. Throws `invalid_request` when none is registered. */
  client(owner: Omit<CredentialOwner, 'id'>, auth: OAuth2Spec): Promise<OAuthClient>;
  /** Whether connections can be made: consent needs an OAuth client. */
  isConfigured(spec: ConnectorSpec): Promise<boolean>;
  /** What sets the OAuth client that the log-in at the source lacks; null where none is lacking. */
  missingClient(spec: ConnectorSpec): Promise<string | null>;
  /** Ends a grant that no connection was made of; never throws. */
  revoke(owner: CredentialOwner, auth: AuthSpec, token: TokenSet): Promise<void>;
  /** Waits for renewals and revocations under way. */
  close(): Promise<void>;
}

export interface CredentialsOptions {
  database: Database;
  vault: Vault;
  clients: OAuthClients;
  clock: Clock;
  log: Logger;
}

export function createCredentials(options: CredentialsOptions): Credentials {
  const { database, vault, clock } = options;
  const renewals = createRenewals(options);
  const sources = createTokenSources(options);
  const revocations = new Set<Promise<void>>();
  const parts: Parts = { ...options, renewals, sources };

  return {
    client: (owner, auth) => sources.client(owner, auth),
    isConfigured: async ({ name, auth }) =>
      auth.length === 0 || !auth.every(isOAuth) || (await options.clients.find(name)) !== null,
    missingClient: async ({ name, auth }) =>
      auth.some(isOAuth) && (await options.clients.find(name)) === null ? options.clients.howToSet(name) : null,
    revoke: (owner, auth, token) => sources.revoke(owner, auth, token),
    open: (owner, spec, signal) => openStored(parts, owner, spec, signal),
    preview: (owner, spec, fresh) => openPreview(parts, owner, spec, fresh),
    async put(tx, connectionId, spec, fresh) {
      const given = authorizationNames(spec);
      const before = Object.entries(await readFields(tx, vault, connectionId)).filter(([name]) => !given.has(name));
      const fields = { ...Object.fromEntries(before), ...fresh.fields };
      await putCredentials(tx, sealed(vault, connectionId, { ...fresh, fields }, clock.now()));
    },
    async change(tx, connectionId, changes) {
      const before = await readFields(tx, vault, connectionId);
      const kept = Object.entries({ ...before, ...changes }).filter(([, value]) => value !== null);
      const fields = vault.seal('fields', connectionId, Object.fromEntries(kept));
      const now = clock.now();
      if (await setFields(tx, connectionId, { fields, now })) return;
      await putCredentials(tx, { connectionId, kind: 'none', fields, token: null, now });
    },
    async forget(owner, spec) {
      const row = await takeCredentials(database, owner.id);
      const auth = row && spec && storedAuth(spec, row.kind, {});
      if (!row?.token || row.denied || !auth || (await hasTwin(database, owner))) return;
      const revocation = revokeStored(parts, owner, auth, row);
      revocations.add(revocation);
      void revocation.finally(() => revocations.delete(revocation));
    },
    async renew(owner, spec, signal) {
      const { kind, fields, version } = await read(parts, owner);
      const auth = storedAuth(spec, kind, fields);
      if (auth)
        await renewals.renew(
          owner.id,
          version,
          sources.of(owner, auth, () => fields),
          signal,
        );
    },
    async close() {
      await renewals.close();
      await Promise.all(revocations);
    },
  };
}

function sealed(
  vault: Vault,
  connectionId: string,
  { auth, fields, token }: NewCredentials,
  now: Date,
): Parameters<typeof putCredentials>[1] {
  const kind = auth?.type ?? 'none';
  return {
    connectionId,
    kind,
    fields: Object.keys(fields).length === 0 ? null : vault.seal('fields', connectionId, fields),
    token: token && {
      token: vault.seal('token', connectionId, token),
      expiresAt: token.expiresAt,
      renewable: isRenewable(kind, token),
      renewAt: isRenewable(kind, token) ? renewTime(token, now) : null,
    },
    now,
  };
}

/** Nothing of this may keep a connection from going. */
async function revokeStored(
  { vault, sources, log }: Parts,
  owner: CredentialOwner,
  auth: AuthSpec,
  row: CredentialRow,
): Promise<void> {
  try {
    await sources.revoke(owner, auth, openToken(vault, row).token);
  } catch (error) {
    log.warn({ err: error, connectionId: owner.id }, 'a grant could not be revoked, its token cannot be read');
  }
}

/** Many sources end the whole grant of an account with one of its tokens. */
async function hasTwin(database: Database, { id, provider }: CredentialOwner): Promise<boolean> {
  const accountId = await accountIdOf(database, id);
  return accountId !== null && isAccountShared(database, { provider, accountId, exceptId: id });
}

interface Parts extends CredentialsOptions {
  renewals: Renewals;
  sources: TokenSources;
}

interface ReadCredentials extends HeldCredentials {
  kind: CredentialRow['kind'];
}

async function read({ database, vault }: Parts, owner: CredentialOwner): Promise<ReadCredentials> {
  const row = await findCredentials(database, owner.id);
  if (!row) return { kind: 'none', fields: {}, version: 0, token: null };
  return {
    kind: row.kind,
    fields: row.fields === null ? {} : vault.open('fields', owner.id, row.fields),
    version: row.version,
    token: row.token === null ? null : openToken(vault, row),
  };
}

async function readFields(database: Queryable, vault: Vault, connectionId: string): Promise<JsonObject> {
  const row = await findCredentials(database, connectionId);
  return row?.fields ? vault.open('fields', connectionId, row.fields) : {};
}

async function openStored(
  parts: Parts,
  owner: CredentialOwner,
  spec: ConnectorSpec,
  signal: AbortSignal,
): Promise<OpenedCredentials | null> {
  const held = await read(parts, owner);
  const auth = storedAuth(spec, held.kind, held.fields);
  if (auth === null && Object.keys(held.fields).length === 0) return null;
  let { fields } = held;
  const keeper: CredentialKeeper = {
    async read() {
      const present = await read(parts, owner);
      ({ fields } = present);
      return present;
    },
    renew: (stale) =>
      parts.renewals.renew(
        owner.id,
        stale,
        parts.sources.of(owner, auth!, () => fields),
        signal,
      ),
  };
  return opened(parts, spec, { auth, held, keeper });
}

function openPreview(
  parts: Parts,
  owner: CredentialOwner,
  spec: ConnectorSpec,
  { auth, fields, token }: NewCredentials,
): OpenedCredentials {
  const kept = (given: TokenSet, version: number) => ({ token: given, version, renewable: true, renewAt: null });
  let held: HeldCredentials = { fields, version: 1, token: token && kept(token, 1) };
  let next: Promise<TokenSet> | null = null;
  const keeper: CredentialKeeper = {
    read: async () => held,
    async renew(stale) {
      next ??= parts.sources.of(owner, auth!, () => fields).next(token);
      const renewed = kept(await next.catch((error: unknown) => Promise.reject(renewalError(error))), stale + 1);
      held = { fields, version: renewed.version, token: renewed };
      return renewed;
    },
  };
  return opened(parts, spec, { auth, held, keeper });
}

function opened(
  { clock }: Parts,
  spec: ConnectorSpec,
  { auth, held, keeper }: { auth: AuthSpec | null; held: HeldCredentials; keeper: CredentialKeeper },
): OpenedCredentials {
  const redaction = createRedaction();
  const hide = (fields: JsonObject) => secretValues(spec, fields).forEach((secret) => redaction.add(secret));
  hide(held.fields);
  const watched: CredentialKeeper = {
    ...keeper,
    async read() {
      const present = await keeper.read();
      hide(present.fields);
      return present;
    },
  };
  const authorization = createAuthorization({
    provider: spec.name,
    auth,
    held,
    keeper: watched,
    clock,
    onSecret: (secret) => redaction.add(secret),
  });
  const clientId = held.token?.token.clientId ?? null;
  return { authorization, secrets: secretSettings(spec, held.fields), redaction, clientId };
}

export interface RefreshIdleOptions {
  database: Database;
  credentials: Credentials;
  connector(name: string): Promise<Connector<any, any>>;
  clock: Clock;
  log: Logger;
}

/** Sources end grants that nobody uses, some after a week. */
const idleAfterMs = 24 * 60 * 60_000;
const atOnce = 100;

/**
 * Renews the grants of connections that have renewed nothing for a day, such as paused and rarely
 * synced ones; some at a time, so it is called again and again. A connection whose grant is gone
 * waits for a new authorization from then on.
 */
export async function refreshIdle(
  options: RefreshIdleOptions,
  signal: AbortSignal,
): Promise<{ renewed: number; failed: number }> {
  const now = options.clock.now();
  const renewedBefore = new Date(now.getTime() - idleAfterMs);
  const counts = { renewed: 0, failed: 0 };
  for (const id of await idleGrants(options.database, { renewedBefore, now, limit: atOnce })) {
    if (signal.aborted) break;
    counts[(await refreshOne(options, id, signal)) ? 'renewed' : 'failed'] += 1;
  }
  return counts;
}

async function refreshOne(options: RefreshIdleOptions, id: string, signal: AbortSignal): Promise<boolean> {
  const { database, credentials, log } = options;
  const connection = await findConnection(database, id);
  if (!connection) return false;
  try {
    const { spec } = await options.connector(connection.provider);
    await credentials.renew(connection, spec, signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    if (ConnectorError.is(error) && error.kind === 'auth_expired') {
      const change = { status: 'needs_reauth', reason: error.message, now: options.clock.now() };
      await setConnectionStatus(database, id, change);
    } else {
      log.warn({ err: error, connectionId: id }, 'a grant could not be renewed ahead of time');
    }
    return false;
  }
}
