import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import {
  deleteApiKey,
  findApiKey,
  findApiKeyByHash,
  insertApiKey,
  insertFirstApiKey,
  replaceApiKeySecret,
  type ApiKeyRow,
} from '../store/api-keys.ts';
import type { Database } from '../store/database.ts';
import { hashSecret, newKeySecret, shownPrefix, configuredKeyId } from './keys.ts';
import { ensureSetting, organizationKey } from '../store/settings.ts';

/** The one organization of a deployment. Its id is part of every API key. */
export interface Organization {
  id: string;
  slug: string;
  name: string;
}

/** Reads the organization; the first call of a new database creates it. `name` only counts then. */
export function ensureOrganization(
  dependencies: { database: Database; clock: Clock },
  name = 'local',
): Promise<Organization> {
  const now = dependencies.clock.now();
  const organization = { id: newId(now), slug: slugOf(name), name };
  return ensureSetting(dependencies.database, organizationKey, organization, now);
}

function slugOf(name: string): string {
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  return slug === '' ? 'local' : slug;
}

export interface FirstKeyDependencies {
  database: Database;
  clock: Clock;
  organization: { id: string };
}

/**
 * Makes sure that somebody can get in. With a configured key, that one is a full key from now on
 * and the one configured before it is not. Without, a key is generated if there is none at all.
 * Returns the generated key, to be shown once, or null.
 */
export async function ensureFirstKey(dependencies: FirstKeyDependencies, configured?: string): Promise<string | null> {
  if (configured !== undefined) {
    await storeConfiguredKey(dependencies, configured);
    return null;
  }
  const { database, clock, organization } = dependencies;
  const secret = newKeySecret(organization.id);
  const row = fullKey(newId(clock.now()), 'first key', secret, clock.now());
  return (await insertFirstApiKey(database, row)) ? secret : null;
}

async function storeConfiguredKey({ database, clock }: FirstKeyDependencies, secret: string): Promise<void> {
  const existing = await findApiKeyByHash(database, hashSecret(secret));
  if (existing) {
    if (existing.id !== configuredKeyId) await deleteApiKey(database, configuredKeyId);
    return;
  }
  if (await findApiKey(database, configuredKeyId)) {
    await replaceApiKeySecret(database, configuredKeyId, { hash: hashSecret(secret), prefix: shownPrefix(secret) });
    return;
  }
  await insertApiKey(database, fullKey(configuredKeyId, 'configured key', secret, clock.now()));
}

function fullKey(id: string, name: string, secret: string, createdAt: Date): ApiKeyRow {
  return {
    id,
    name,
    kind: 'full',
    permission: 'write',
    hash: hashSecret(secret),
    prefix: shownPrefix(secret),
    grants: [],
    enabled: true,
    rateLimitMax: null,
    rateLimitWindowMs: null,
    createdAt,
    lastUsedAt: null,
    expiresAt: null,
    usageId: id,
    quota: { documents: null, bytes: null },
  };
}
