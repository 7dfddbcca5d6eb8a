import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { unlessAborted } from '../base/concurrency.ts';
import { failRenewal, findCredentials, saveToken, takeRenewal, type CredentialRow } from '../store/credentials.ts';
import type { Database } from '../store/database.ts';
import { authExpired, badConfig, ConnectorError } from '../connector/contract.ts';
import type { Vault } from './vault.ts';
import { renewTime, TokenRefusal, type TokenSet } from './oauth-client.ts';

/** A token with its place in the order of tokens of its connection. */
export interface StoredToken {
  token: TokenSet;
  version: number;
  renewable: boolean;
  renewAt: Date | null;
}

/** How a connection gets its next token. Throws `TokenRefusal`, or a `ConnectorError` of its own. */
export interface TokenSource {
  next(current: TokenSet | null): Promise<TokenSet>;
  /** Ends a token that nobody will use. */
  discard(token: TokenSet): Promise<void>;
}

export interface Renewals {
  /**
   * A token that is newer than version `stale`. One request to the source serves all who ask, in
   * this process and in others; the token is stored before anyone gets it. Throws `AuthExpired` when
   * the grant is gone, `BadConfig` when the client or the app was refused, else `transient` with the time of the
   * next try. An abort ends the waiting, never a renewal that has begun.
   */
  renew(connectionId: string, stale: number, source: TokenSource, signal: AbortSignal): Promise<StoredToken>;
  /** Waits for renewals under way: a token that is not stored may be lost for ever. */
  close(): Promise<void>;
}

/** Longer than a request to a token endpoint may take. */
const lockMs = 60_000;
const waitMs = 200;
/** No storm: after a failure nobody asks again for this long. */
const coolDownMs = 30_000;
const saveAttempts = 20;
const savePauseMs = 1_000;

export interface RenewalOptions {
  database: Database;
  vault: Vault;
  clock: Clock;
}

export function createRenewals(options: RenewalOptions): Renewals {
  const flights = new Map<string, { stale: number; result: Promise<StoredToken> }>();
  const closing = new AbortController();

  function start(connectionId: string, stale: number, source: TokenSource): Promise<StoredToken> {
    const result = renewAlone(options, { connectionId, stale, source, closing: closing.signal });
    const flight = { stale, result };
    flights.set(connectionId, flight);
    const end = () => void (flights.get(connectionId) === flight && flights.delete(connectionId));
    result.then(end, end);
    return result;
  }

  return {
    async renew(connectionId, stale, source, signal) {
      for (;;) {
        const flight = flights.get(connectionId);
        if (!flight) return unlessAborted(start(connectionId, stale, source), signal);
        if (flight.stale === stale) return unlessAborted(flight.result, signal);
        // A renewal of another version: what it gives may be the one that is stale here.
        await unlessAborted(Promise.allSettled([flight.result]), signal);
      }
    },
    async close() {
      closing.abort();
      await Promise.allSettled([...flights.values()].map(({ result }) => result));
    },
  };
}

interface Flight {
  connectionId: string;
  stale: number;
  source: TokenSource;
  closing: AbortSignal;
}

/** Takes the lock, or waits for whoever has it: its token, its failure, or its death. */
async function renewAlone(options: RenewalOptions, flight: Flight): Promise<StoredToken> {
  const { database, clock } = options;
  for (;;) {
    flight.closing.throwIfAborted();
    const row = await findCredentials(database, flight.connectionId);
    if (!row) throw authExpired('The connection has no authorization.');
    if (row.version !== flight.stale && row.token !== null) return openToken(options.vault, row);
    const now = clock.now();
    refuseWhatFailed(row, now);
    const owner = randomUUID();
    const until = new Date(now.getTime() + lockMs);
    const taken = await takeRenewal(database, row.connectionId, { version: row.version, owner, until, now });
    if (taken) return renewLocked(options, flight, { row, owner, interrupted: taken.interrupted });
    await clock.sleep(waitMs, flight.closing);
  }
}

function refuseWhatFailed(row: CredentialRow, now: Date): void {
  if (row.denied) throw authExpired(row.failure ?? 'The authorization has ended.');
  if (row.coolDownUntil === null || row.coolDownUntil <= now) return;
  throw later(row.failure ?? 'The last renewal failed.', row.coolDownUntil);
}

function later(message: string, retryAt: Date): ConnectorError {
  return new ConnectorError('transient', message, { retryAt });
}

interface Held {
  row: CredentialRow;
  owner: string;
  interrupted: boolean;
}

async function renewLocked(options: RenewalOptions, flight: Flight, held: Held): Promise<StoredToken> {
  const { row } = held;
  const current = row.token === null ? null : openToken(options.vault, row).token;
  let fresh: TokenSet;
  try {
    fresh = await flight.source.next(current);
  } catch (error) {
    return afterFailure(options, held, error);
  }
  if (await save(options, row, fresh)) {
    return { token: fresh, version: row.version + 1, ...renewalOf(row, fresh, options.clock.now()) };
  }
  const stored = await findCredentials(options.database, row.connectionId);
  if (stored) return openToken(options.vault, stored);
  await flight.source.discard(fresh);
  throw authExpired('The connection was removed.');
}

/** The source has spent the old token, so a database that is away for a moment must not lose the new one. */
async function save({ database, vault, clock }: RenewalOptions, row: CredentialRow, fresh: TokenSet): Promise<boolean> {
  const token = vault.seal('token', row.connectionId, fresh);
  for (let attempt = 1; ; attempt++) {
    const now = clock.now();
    const change = { token, expiresAt: fresh.expiresAt, ...renewalOf(row, fresh, now), version: row.version, now };
    try {
      return await database.transaction((tx) => saveToken(tx, row.connectionId, change));
    } catch (error) {
      if (attempt === saveAttempts) throw error;
      await clock.sleep(savePauseMs);
    }
  }
}

/** The shown failure of a renewal, after it is written down; or the token that somebody else stored meanwhile. */
async function afterFailure(options: RenewalOptions, held: Held, error: unknown): Promise<StoredToken> {
  const { row, owner, interrupted } = held;
  const now = options.clock.now();
  const refusal = error instanceof TokenRefusal ? error : null;
  const shown = shownFailure(error, refusal, interrupted);
  const coolDownUntil = new Date(
    now.getTime() + Math.max(coolDownMs, Math.min(refusal?.retryAfterMs ?? 0, 10 * coolDownMs)),
  );
  const written = await failRenewal(options.database, row.connectionId, {
    version: row.version,
    owner,
    message: shown.message,
    coolDownUntil,
    denied: shown.kind === 'auth_expired',
    unclear: refusal === null || refusal.reason === 'unclear' || (interrupted && refusal.reason === 'unavailable'),
    now,
  });
  const stored = written ? null : await findCredentials(options.database, row.connectionId);
  if (stored && stored.version !== row.version) return openToken(options.vault, stored);
  if (refusal === null && !ConnectorError.is(error)) throw error;
  throw shown.kind === 'transient' ? later(shown.message, coolDownUntil) : shown;
}

/** A failed renewal in the words of the contract. */
function shownFailure(error: unknown, refusal: TokenRefusal | null, interrupted: boolean): ConnectorError {
  if (ConnectorError.is(error)) return error;
  const remedy = 'Connect again to go on.';
  switch (refusal?.reason) {
    case 'denied':
      return interrupted
        ? authExpired(
            `An earlier renewal was interrupted before its token was stored, and the one before it is spent. ${remedy}`,
          )
        : authExpired(`${refusal.message} ${remedy}`);
    case 'client':
      return badConfig(refusal.message, 'Check client id and secret of the OAuth client.');
    case 'machine':
      return badConfig(
        refusal.message,
        'Check the key of the service account. Where it acts for a user (`subject`), an administrator of the domain has to delegate the scopes to its client id; that may take some minutes to count.',
      );
    case 'app':
      return badConfig(
        refusal.message,
        'Check app id, private key and installation id, the number at the end of the address of the installation’s settings; when the app was uninstalled, install it again.',
      );
    default:
      return new ConnectorError('transient', refusal?.message ?? 'The access could not be renewed.');
  }
}

/** The error that a connector sees when a token that is not stored could not be had. */
export function renewalError(error: unknown): unknown {
  return error instanceof TokenRefusal ? shownFailure(error, error, false) : error;
}

function renewalOf(row: CredentialRow, token: TokenSet, now: Date): { renewable: boolean; renewAt: Date | null } {
  const renewable = isRenewable(row.kind, token);
  return { renewable, renewAt: renewable ? renewTime(token, now) : null };
}

/** Tokens of users need a refresh token; machines sign for a new one whenever they want. */
export function isRenewable(kind: CredentialRow['kind'], token: TokenSet): boolean {
  return token.refreshToken !== null || kind === 'serviceAccount' || kind === 'githubApp';
}

/** Times are texts in JSON. */
type SealedToken = Omit<TokenSet, 'expiresAt'> & { expiresAt: string | null };

/** The token of a row that has one; else `AuthExpired`. */
export function openToken(vault: Vault, row: CredentialRow): StoredToken {
  if (row.token === null) throw authExpired(row.failure ?? 'The connection has no authorization.');
  const { expiresAt, ...rest } = vault.open('token', row.connectionId, row.token) as unknown as SealedToken;
  const token = { ...rest, expiresAt: expiresAt === null ? null : new Date(expiresAt) };
  return { token, version: row.version, renewable: row.renewable, renewAt: row.renewAt };
}
