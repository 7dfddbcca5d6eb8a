import type { Encryption } from '../base/encryption.ts';
import type { ConnectorSpec, JsonObject, JsonSchema } from '../connector/contract.ts';

/** The secrets of a row as one sealed text, which opens only for that row and part. */
export interface Vault {
  seal(part: VaultPart, id: string, value: object): string;
  /** Throws `encryption_key_mismatch`. */
  open(part: VaultPart, id: string, sealed: string): JsonObject;
}

export type VaultPart =
  'fields' | 'token' | 'pending authorization' | 'oauth client' | 'hook secret' | 'offered hook secret';

export function createVault(encryption: Encryption): Vault {
  return {
    seal: (part, id, value) => encryption.seal(JSON.stringify(value), vaultPurpose(part, id)),
    open: (part, id, sealed) => JSON.parse(encryption.open(sealed, vaultPurpose(part, id))) as JsonObject,
  };
}

/** The purpose that a row's text is sealed for. */
export function vaultPurpose(part: VaultPart, id: string): string {
  return `${part} of ${id}`;
}

/** The fields that a caller gave for a connection, by what becomes of them. */
export interface SplitFields {
  /** Settings of the connector, secret ones too. */
  config: JsonObject;
  /** Fields of a way to authorize. */
  authorization: JsonObject;
  /** Secrets that the connector does not know; kept, never shown. */
  unknownSecrets: JsonObject;
  /** Metadata of every document of the connection. */
  metadata: JsonObject;
}

/** Names that are secrets whatever the connector says (section 19.2 of the API). */
const alwaysSecret = ['accessKeyId', 'secretAccessKey', 'apiKey', 'token', 'password'];

export function splitFields(spec: ConnectorSpec, given: JsonObject): SplitFields {
  const configNames = new Set(Object.keys(propertiesOf(spec.config)));
  const authNames = authorizationNames(spec);
  const split: SplitFields = { config: {}, authorization: {}, unknownSecrets: {}, metadata: {} };
  for (const [name, value] of Object.entries(given)) {
    // One name may be a setting and a field of the authorization: then it is both.
    if (configNames.has(name)) split.config[name] = value;
    if (authNames.has(name)) split.authorization[name] = value;
    if (configNames.has(name) || authNames.has(name)) continue;
    split[alwaysSecret.includes(name) ? 'unknownSecrets' : 'metadata'][name] = value;
  }
  return split;
}

/** A checked configuration without its secrets, and these alone. */
export function splitConfig(spec: ConnectorSpec, config: JsonObject): { open: JsonObject; secret: JsonObject } {
  const properties = propertiesOf(spec.config);
  const isSecret = (name: string) => {
    const mark = properties[name]?.['x-secret'];
    return mark === undefined ? alwaysSecret.includes(name) : mark === true;
  };
  const entries = Object.entries(config);
  return {
    open: Object.fromEntries(entries.filter(([name]) => !isSecret(name))),
    secret: Object.fromEntries(entries.filter(([name]) => isSecret(name))),
  };
}

/** The names of all fields of all ways to authorize. */
export function authorizationNames(spec: ConnectorSpec): Set<string> {
  return new Set(spec.auth.flatMap((auth) => ('fields' in auth ? Object.keys(propertiesOf(auth.fields)) : [])));
}

/** The stored fields that are settings of the connector: they go back into its configuration. */
export function secretSettings(spec: ConnectorSpec, fields: JsonObject): JsonObject {
  const properties = propertiesOf(spec.config);
  return Object.fromEntries(Object.entries(fields).filter(([name]) => Object.hasOwn(properties, name)));
}

/** The values that must never be shown, of the settings and of the ways to authorize. */
export function secretValues(spec: ConnectorSpec, fields: JsonObject): string[] {
  const schemas = [spec.config, ...spec.auth.flatMap((auth) => ('fields' in auth ? [auth.fields] : []))];
  const shown = new Set(
    schemas.flatMap((schema) =>
      Object.entries(propertiesOf(schema)).flatMap(([name, property]) =>
        property['x-secret'] === true || alwaysSecret.includes(name) ? [] : [name],
      ),
    ),
  );
  return Object.entries(fields).flatMap(([name, value]) =>
    typeof value === 'string' && !shown.has(name) ? [value] : [],
  );
}

export function propertiesOf(schema: JsonSchema): Record<string, JsonSchema> {
  const { properties } = schema;
  return typeof properties === 'object' && properties !== null ? (properties as Record<string, JsonSchema>) : {};
}
