import type { Queryable } from './database.ts';
import { rawSql, sql, type Sql } from './sql.ts';

/** Where sealed texts stand, and what each is sealed as. */
export const sealedPlaces = [
  { name: 'fields', table: 'credentials', id: 'connection_id', column: 'fields' },
  { name: 'token', table: 'credentials', id: 'connection_id', column: 'token' },
  { name: 'pending authorization', table: 'pending_authorizations', id: 'state_hash', column: 'request' },
  { name: 'hook secret', table: 'hook_registrations', id: 'connection_id', column: 'secret' },
  { name: 'oauth client', table: 'settings', id: 'key', ...settingField('oauth_client:', 'clientSecret') },
  { name: 'offered hook secret', table: 'settings', id: 'key', ...settingField('hook_secrets:', 'sealed') },
] as const;

export type SealedPlace = (typeof sealedPlaces)[number];

/** A field of the settings whose keys begin like this. */
function settingField<Field extends string>(keys: string, field: Field) {
  return { keys, field, column: `value ->> '${field}'` };
}

export interface SealedValue {
  /** Of its row. */
  id: string;
  sealed: string;
}

/** Some of the texts that were not sealed with a key, those after `after` in the order of their ids. */
export function sealedValuesNotUnder(
  database: Queryable,
  place: SealedPlace,
  options: { keyId: string; after: string; limit: number },
): Promise<SealedValue[]> {
  const [id, column] = [rawSql(place.id), rawSql(place.column)];
  return database.query<SealedValue>(sql`
    select ${id} as id, ${column} as sealed from ${rawSql(place.table)}
    where ${within(place)} and ${column} is not null and not starts_with(${column}, ${`v1.${options.keyId}.`})
      and ${id} > ${options.after}
    order by ${id} limit ${options.limit}`);
}

/** Puts a text in the place of another one, unless that was replaced meanwhile. */
export async function replaceSealedValue(
  database: Queryable,
  place: SealedPlace,
  change: { id: string; from: string; to: string },
): Promise<void> {
  const assignment =
    place.table === 'settings'
      ? sql`value = jsonb_set(value, array[${place.field}]::text[], to_jsonb(${change.to}::text))`
      : sql`${rawSql(place.column)} = ${change.to}`;
  await database.execute(sql`update ${rawSql(place.table)} set ${assignment} where ${isThere(place, change)}`);
}

/** Takes a text away that nobody can read. */
export async function eraseSealedValue(
  database: Queryable,
  place: SealedPlace,
  text: { id: string; from: string },
): Promise<void> {
  const table = rawSql(place.table);
  if (place.table === 'settings' || place.table === 'hook_registrations') {
    // They are made anew: by whoever sets the client or the hook, and by the next look at the hooks.
    await database.execute(sql`delete from ${table} where ${isThere(place, text)}`);
  } else {
    await database.execute(sql`update ${table} set ${rawSql(place.column)} = null where ${isThere(place, text)}`);
  }
}

function isThere(place: SealedPlace, { id, from }: { id: string; from: string }): Sql {
  return sql`${within(place)} and ${rawSql(place.id)} = ${id} and ${rawSql(place.column)} = ${from}`;
}

export async function hasSealedValues(database: Queryable): Promise<boolean> {
  for (const place of sealedPlaces) {
    if ((await sealedValuesNotUnder(database, place, { keyId: '', after: '', limit: 1 })).length > 0) return true;
  }
  return false;
}

function within(place: SealedPlace): Sql {
  return place.table === 'settings' ? sql`starts_with(key, ${place.keys})` : sql`true`;
}
