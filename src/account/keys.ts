import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import {
  deleteApiKey,
  expireApiKey,
  insertApiKey,
  listApiKeys,
  lockApiKey,
  toggleApiKey,
  type ApiKeyRow,
} from '../store/api-keys.ts';
import type { Database } from '../store/database.ts';
import { localKeyId, type Caller, type Grant, type Permission, type RateLimit } from './caller.ts';
import { createKeyCache } from './key-cache.ts';
import { configuredKeyId } from './first-key.ts';
import { hashSecret, newKeySecret, sameHash, shownPrefix } from './key-secret.ts';
import { createLastUse } from './last-use.ts';

export interface Keys {
  /** Who a bearer credential belongs to. Null for an unknown, disabled or expired key. */
  authenticate(secret: string): Promise<Caller | null>;
  /** Newest first. */
  list(): Promise<KeySummary[]>;
  /** The secret is in the answer and nowhere else afterwards. */
  create(input: NewKey): Promise<{ secret: string; key: KeySummary }>;
  /**
   * A new key that may do what this one may; this one works on for a while. Null when there is no such key.
   * Throws `conflict` for the key of the configuration, which only the configuration replaces.
   */
  rotate(id: string, overlapMs: number): Promise<{ secret: string; key: KeySummary; replacedUntil: Date } | null>;
  /** False when there is no such key. `conflict` for the key that asks. */
  remove(id: string, askedBy: Caller): Promise<boolean>;
  /** Turns a key off or on again and answers whether it is on. Null when there is no such key. */
  toggle(id: string): Promise<boolean | null>;
  /** Waits for writes that are under way. */
  close(): Promise<void>;
}

export interface KeySummary {
  id: string;
  name: string;
  kind: 'full' | 'scoped';
  permission: Permission;
  containerTags: string[];
  /** The first characters of the key. */
  prefix: string;
  enabled: boolean;
  createdAt: Date;
  lastUsedAt: Date | null;
  expiresAt: Date | null;
  /** Null: that of the configuration. */
  rateLimit: RateLimit | null;
}

export interface NewKey {
  name: string;
  permission: Permission;
  /** Empty: a full key. */
  containerTags: readonly string[];
  expiresAt?: Date;
  rateLimit?: RateLimit;
}

export interface KeysDependencies {
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
    if (!row || !sameHash(row.hash, hash) || !isUsable(row, clock.now())) return null;
    lastUse.note(row);
    return callerOf(row);
  }

  async function create(input: NewKey): Promise<{ secret: string; key: KeySummary }> {
    const secret = newKeySecret(organization.id);
    const row = newKeyRow(input, secret, clock.now());
    await insertApiKey(database, row);
    return { secret, key: summaryOf(row) };
  }

  async function rotate(id: string, overlapMs: number) {
    if (id === configuredKeyId) {
      throw new MemorydError('conflict', 'This key comes from the configuration', {
        details: 'Change the setting apiKey and start again',
        shouldRetry: false,
      });
    }
    const secret = newKeySecret(organization.id);
    const now = clock.now();
    const row = await database.transaction(async (tx) => {
      const before = await lockApiKey(tx, id);
      if (!before) return null;
      const end = new Date(Math.min(now.getTime() + overlapMs, before.expiresAt?.getTime() ?? Infinity));
      await expireApiKey(tx, id, end);
      const after = { ...before, id: newId(now), hash: hashSecret(secret), prefix: shownPrefix(secret) };
      await insertApiKey(tx, { ...after, createdAt: now, lastUsedAt: null });
      return { after: { ...after, createdAt: now, lastUsedAt: null }, end };
    });
    cache.clear();
    return row && { secret, key: summaryOf(row.after), replacedUntil: row.end };
  }

  async function remove(id: string, askedBy: Caller): Promise<boolean> {
    if (id === askedBy.keyId) {
      throw new MemorydError('conflict', 'A key cannot delete itself; use another full key', { shouldRetry: false });
    }
    const removed = await deleteApiKey(database, id);
    cache.clear();
    return removed;
  }

  async function toggle(id: string): Promise<boolean | null> {
    const enabled = await toggleApiKey(database, id);
    cache.clear();
    return enabled;
  }

  return {
    authenticate,
    create,
    rotate,
    remove,
    toggle,
    list: async () => (await listApiKeys(database)).map(summaryOf),
    close: () => lastUse.close(),
  };
}

const localCaller: Caller = {
  keyId: localKeyId,
  name: 'local token',
  kind: 'full',
  permission: 'write',
  grants: [],
  rateLimit: { max: 0, windowMs: 60_000 },
  expiresAt: null,
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
  const grants: Grant[] = input.containerTags.map((containerTag) => ({ containerTag, permission: input.permission }));
  return {
    id: newId(now),
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
  };
}

function summaryOf(row: ApiKeyRow): KeySummary {
  const { id, name, kind, permission, prefix, enabled, createdAt, lastUsedAt, expiresAt } = row;
  const containerTags = row.grants.map((grant) => grant.containerTag);
  const rateLimit = rateLimitOf(row);
  return { id, name, kind, permission, containerTags, prefix, enabled, createdAt, lastUsedAt, expiresAt, rateLimit };
}
