import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Database } from '../store/database.ts';
import { ensureOrganizationRow } from '../store/organization.ts';

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
  return ensureOrganizationRow(dependencies.database, organization, now);
}

function slugOf(name: string): string {
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  return slug === '' ? 'local' : slug;
}
