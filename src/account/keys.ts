import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import {
  deleteApiKey,
  expireApiKey,
  findApiKey,
  insertApiKey,
  listApiKeys,
  lockApiKey,
  toggleApiKey,
  writeApiKey,
  type ApiKeyRow,
  touchApiKey,
  findApiKeyByHash,
} from '../store/api-keys.ts';
import type { Database } from '../store/database.ts';
import { countUsage, requestQuotas, usageOfKeys, type KeyQuota, type Usage } from '../store/quotas.ts';
import { localKeyId, type Caller, type Grant, type Permission, type RateLimit } from './access.ts';
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

export interface Keys {
  /** The caller of a bearer credential. Null for an unknown, disabled or expired key. */
  authenticate(secret: string): Promise<Caller | null>;
  /** The present caller of a stored key, `null` for the local token. Null when it is disabled or expired. */
  holderOf(row: ApiKeyRow | null): Caller | null;
  /** By container: how many requests a minute it takes, whoever sends them. Only those with a limit. */
  requestQuotas(): Promise<ReadonlyMap<string, number>>;
  /** Newest first. */
  list(): Promise<KeySummary[]>;
  /** The secret is in the answer and nowhere else afterwards. */
  create(input: NewKey): Promise<{ secret: string; key: KeySummary }>;
  /**
   * A new key that may do what this one may; this one works on for a while. Null when there is no such key.
   * Throws `conflict` for the key of the configuration, which only the configuration replaces.
   */
  rotate(id: string, overlapMs: number): Promise<{ secret: string; key: KeySummary; replacedUntil: Date } | null>;
  /** Null when there is no such key. */
  change(id: string, change: KeyChange): Promise<KeySummary | null>;
  /** False when there is no such key. `conflict` for the key that asks. */
  remove(id: string, askedBy: Caller): Promise<boolean>;
  /** Turns a key off or on again and answers whether it is on. Null when there is no such key. */
  toggle(id: string): Promise<boolean | null>;
  /** Waits for writes that are under way. */
  close(): Promise<void>;
}

export interface KeySummary extends Omit<
  ApiKeyRow,
  'hash' | 'grants' | 'rateLimitMax' | 'rateLimitWindowMs' | 'usageId'
> {
  containerTags: string[];
  /** Null: that of the configuration. */
  rateLimit: RateLimit | null;
  /** Its usage, including that of keys it replaced; null without a quota, because nothing is counted then. */
  usage: Usage | null;
}

export interface NewKey {
  name: string;
  permission: Permission;
  /** Empty: a full key. */
  containerTags: readonly string[];
  expiresAt?: Date | undefined;
  rateLimit?: RateLimit | undefined;
  quota?: Partial<KeyQuota> | undefined;
}

/** Changes to a key; absent fields stay as they are. */
export interface KeyChange {
  name?: string | undefined;
  /** Null: that of the configuration, or what scoped keys have. */
  rateLimit?: RateLimit | null | undefined;
  quota?: Partial<KeyQuota> | undefined;
}

interface KeysDependencies {
  database: Database;
  clock: Clock;
  log: Logger;
  organization: { id: string };
  /** Made anew at each start and written where only this machine's user can read it. Counts as a full key. */
  localToken?: string;
}

/** Section 4 of the API: scoped keys have a limit unless they were given another. */
export const scopedKeyRateLimit: RateLimit = { max: 500, windowMs: 60_000 };

export function createKeys(dependencies: KeysDependencies): Keys {
  const { database, clock, organization, localToken } = dependencies;
  const cache = createKeyCache(dependencies);
  const lastUse = createLastUse(dependencies);
  const localHash = localToken === undefined ? null : hashSecret(localToken);

  async function authenticate(secret: string): Promise<Caller | null> {
    const hash = hashSecret(secret);
    if (localHash !== null && sameHash(hash, localHash)) return localCaller;
    const row = await cache.find(hash);
    return row && sameHash(row.hash, hash) ? holderOf(row) : null;
  }

  function holderOf(row: ApiKeyRow | null): Caller | null {
    if (row === null) return localCaller;
    if (!isUsable(row, clock.now())) return null;
    lastUse.note(row);
    return callerOf(row);
  }

  return {
    authenticate,
    requestQuotas: () => requestQuotas(database),
    holderOf,
    async create(input) {
      const secret = newKeySecret(organization.id);
      const row = newKeyRow(input, secret, clock.now());
      await insertApiKey(database, row);
      return { secret, key: summaryOf(row, new Map()) };
    },
    async rotate(id, overlapMs) {
      const rotated = await rotateKey(dependencies, id, overlapMs);
      cache.clear();
      if (!rotated) return null;
      const { secret, row, replacedUntil } = rotated;
      return { secret, key: summaryOf(row, await usageOfKeys(database)), replacedUntil };
    },
    async change(id, changes) {
      const changed = await changeKey(database, id, changes);
      cache.clear();
      return changed && summaryOf(changed, await usageOfKeys(database));
    },
    async remove(id, askedBy) {
      if (id === askedBy.keyId) {
        throw new MemorydError('conflict', 'A key cannot delete itself; use another full key', { shouldRetry: false });
      }
      const removed = await deleteApiKey(database, id);
      cache.clear();
      return removed;
    },
    toggle: (id) => toggleApiKey(database, id).finally(() => cache.clear()),
    async list() {
      const [rows, usage] = await Promise.all([listApiKeys(database), usageOfKeys(database)]);
      return rows.map((row) => summaryOf(row, usage));
    },
    close: () => lastUse.close(),
  };
}

/** Stores another key that may do what this one may, and when this one ends. */
async function rotateKey({ database, clock, organization }: KeysDependencies, id: string, overlapMs: number) {
  if (id === configuredKeyId) {
    throw new MemorydError('conflict', 'This key comes from the configuration', {
      details: 'Change the setting apiKey and start again',
      shouldRetry: false,
    });
  }
  const secret = newKeySecret(organization.id);
  const now = clock.now();
  return database.transaction(async (tx) => {
    const before = await lockApiKey(tx, id);
    if (!before) return null;
    const replacedUntil = new Date(Math.min(now.getTime() + overlapMs, before.expiresAt?.getTime() ?? Infinity));
    await expireApiKey(tx, id, replacedUntil);
    const identity = { id: newId(now), hash: hashSecret(secret), prefix: shownPrefix(secret) };
    const row = { ...before, ...identity, createdAt: now, lastUsedAt: null };
    await insertApiKey(tx, row);
    return { secret, row, replacedUntil };
  });
}

async function changeKey(database: Database, id: string, changes: KeyChange): Promise<ApiKeyRow | null> {
  const known = await findApiKey(database, id);
  if (!known) return null;
  return database.transaction(async (tx) => {
    if (changes.quota) await countUsage(tx, { kind: 'key', id: known.usageId });
    const before = await lockApiKey(tx, id);
    if (!before) return null;
    const after = changedRow(before, changes);
    await writeApiKey(tx, after);
    return after;
  });
}

const localCaller: Caller = {
  keyId: localKeyId,
  name: 'local token',
  kind: 'full',
  permission: 'write',
  grants: [],
  rateLimit: { max: 0, windowMs: 60_000 },
  expiresAt: null,
  usageId: null,
};

function isUsable(row: ApiKeyRow, now: Date): boolean {
  return row.enabled && (row.expiresAt === null || row.expiresAt > now);
}

function callerOf(row: ApiKeyRow): Caller {
  return {
    keyId: row.id,
    name: row.name,
    kind: row.kind,
    permission: row.permission,
    grants: row.grants,
    rateLimit: rateLimitOf(row),
    expiresAt: row.expiresAt,
    usageId: row.usageId,
  };
}

function rateLimitOf(row: ApiKeyRow): RateLimit | null {
  if (row.kind === 'full' && row.rateLimitMax === null) return null;
  return {
    max: row.rateLimitMax ?? scopedKeyRateLimit.max,
    windowMs: row.rateLimitWindowMs ?? scopedKeyRateLimit.windowMs,
  };
}

function newKeyRow(input: NewKey, secret: string, now: Date): ApiKeyRow {
  const id = newId(now);
  const grants: Grant[] = input.containerTags.map((containerTag) => ({ containerTag, permission: input.permission }));
  return {
    id,
    name: input.name,
    kind: grants.length === 0 ? 'full' : 'scoped',
    permission: input.permission,
    hash: hashSecret(secret),
    prefix: shownPrefix(secret),
    grants,
    enabled: true,
    rateLimitMax: input.rateLimit?.max ?? null,
    rateLimitWindowMs: input.rateLimit?.windowMs ?? null,
    createdAt: now,
    lastUsedAt: null,
    expiresAt: input.expiresAt ?? null,
    usageId: id,
    quota: { ...noQuota, ...input.quota },
  };
}

const noQuota: KeyQuota = { documents: null, bytes: null };

function changedRow(before: ApiKeyRow, { name = before.name, rateLimit, quota }: KeyChange): ApiKeyRow {
  const limit =
    rateLimit === undefined
      ? {}
      : { rateLimitMax: rateLimit?.max ?? null, rateLimitWindowMs: rateLimit?.windowMs ?? null };
  return { ...before, name, ...limit, quota: { ...before.quota, ...quota } };
}

function summaryOf(row: ApiKeyRow, held: ReadonlyMap<string, Usage>): KeySummary {
  const { id, name, kind, permission, prefix, enabled, createdAt, lastUsedAt, expiresAt, quota } = row;
  const containerTags = row.grants.map((grant) => grant.containerTag);
  const isCounted = quota.documents !== null || quota.bytes !== null;
  const usage = isCounted ? (held.get(row.usageId) ?? { documents: 0, bytes: 0 }) : null;
  return {
    ...{ id, name, kind, permission, containerTags, prefix, enabled, createdAt, lastUsedAt, expiresAt, quota, usage },
    rateLimit: rateLimitOf(row),
  };
}

const touchEveryMs = 60_000;

/** Writes when a key was last used, at most once a minute per key, without holding up the request. */
function createLastUse({ database, clock, log }: { database: Database; clock: Clock; log: Logger }) {
  const writtenAtMs = new Map<string, number>();
  const writing = new Set<Promise<void>>();

  async function write(id: string, usedAt: Date): Promise<void> {
    try {
      await touchApiKey(database, id, usedAt);
    } catch (error) {
      log.warn({ keyId: id, error: error instanceof Error ? error.name : 'unknown' }, 'time of last use not stored');
    }
  }

  return {
    note(row: ApiKeyRow): void {
      const now = clock.now();
      const writtenMs = writtenAtMs.get(row.id) ?? row.lastUsedAt?.getTime() ?? 0;
      if (now.getTime() - writtenMs < touchEveryMs) return;
      writtenAtMs.set(row.id, now.getTime());
      const done = write(row.id, now).finally(() => writing.delete(done));
      writing.add(done);
    },
    async close(): Promise<void> {
      await Promise.all(writing);
    },
  };
}

const ttlMs = 5_000;

const maxEntries = 1_000;

/**
 * Remembers found keys for a few seconds, so that a search does not cost a key query. A key that
 * another process disables works here until then. Unknown keys are not remembered.
 */
function createKeyCache({ database, clock }: { database: Database; clock: Clock }) {
  const entries = new Map<string, { loadedAtMs: number; row: Promise<ApiKeyRow | null> }>();

  function load(hash: string, nowMs: number): Promise<ApiKeyRow | null> {
    const row = findApiKeyByHash(database, hash);
    const entry = { loadedAtMs: nowMs, row };
    entries.delete(hash);
    entries.set(hash, entry);
    const forget = () => {
      if (entries.get(hash) === entry) entries.delete(hash);
    };
    row.then((found) => (found === null ? forget() : undefined), forget);
    for (const oldest of entries.keys()) {
      if (entries.size <= maxEntries) break;
      entries.delete(oldest);
    }
    return row;
  }

  return {
    find(hash: string): Promise<ApiKeyRow | null> {
      const nowMs = clock.now().getTime();
      const entry = entries.get(hash);
      return entry && nowMs - entry.loadedAtMs < ttlMs ? entry.row : load(hash, nowMs);
    },
    clear: () => entries.clear(),
  };
}

/** A new API key: `sm_{organizationId}_` and 256 random bits as 43 base64url characters. */
export function newKeySecret(organizationId: string): string {
  return `sm_${organizationId}_${randomBytes(32).toString('base64url')}`;
}

/** The hash that is stored instead of a key. Keys carry 256 random bits, so a plain hash cannot be searched. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret, 'utf8').digest('hex');
}

/** Compares two hashes of equal length in constant time. */
export function sameHash(left: string, right: string): boolean {
  return timingSafeEqual(Buffer.from(left, 'hex'), Buffer.from(right, 'hex'));
}

/** The part of a key that is shown in lists: 8 characters, fewer of a short (configured) key. */
export function shownPrefix(secret: string): string {
  return secret.slice(0, Math.min(8, Math.floor(secret.length / 4)));
}

/** The row of the key that the configuration names. Fixed, so that a changed key replaces the old one. */
export const configuredKeyId = '1'.repeat(22);
