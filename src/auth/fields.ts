import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { firstOf } from '../base/collections.ts';
import { MemorydError, type ValidationIssue } from '../base/errors.ts';
import type { AuthSpec, ConnectorSpec, JsonObject, JsonSchema, OAuth2Spec } from '../connector/contract.ts';

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

export type FieldsSpec = Exclude<AuthSpec, OAuth2Spec>;

/** How a connection is authorized: by the user's consent, by what the caller gave, or not at all. */
export type AuthChoice =
  { by: 'consent'; auth: OAuth2Spec } | { by: 'fields'; auth: FieldsSpec; fields: JsonObject } | { by: 'nothing' };

/**
 * The way whose fields are given; else consent, when the connector has that. Throws
 * `validation_failed` for fields that are wrong or only some of those that are needed, and
 * `invalid_request` when nothing is given and something is needed.
 */
export function chooseAuth(spec: ConnectorSpec, given: JsonObject): AuthChoice {
  const ways = spec.auth.filter(hasFields).map((auth) => ({ auth, fields: pick(auth.fields, given) }));
  const tried = ways.filter(({ fields }) => Object.keys(fields).length > 0).map((way) => ({ ...way, ...check(way) }));
  const complete = tried.find(({ issues }) => issues.length === 0);
  if (complete) return { by: 'fields', auth: complete.auth, fields: complete.filled };
  const [first] = tried;
  if (first) {
    throw new MemorydError('validation_failed', `The authorization of ${spec.name} is not valid.`, {
      issues: first.issues,
    });
  }
  const consent = spec.auth.find(isOAuth);
  if (consent) return { by: 'consent', auth: consent };
  if (ways.length === 0) return { by: 'nothing' };
  throw new MemorydError('invalid_request', `${spec.title} needs an authorization`, {
    details: `Give in metadata: ${namesOf(ways)}`,
  });
}

/** The error when nothing was given and consent, which was left, cannot be asked for either. */
export function withoutConsent(spec: ConnectorSpec, reason: unknown): unknown {
  const ways = spec.auth.filter(hasFields).map((auth) => ({ auth }));
  if (ways.length === 0 || !MemorydError.is(reason) || reason.code !== 'invalid_request') return reason;
  const [first] = neededNames(firstOf(ways).auth.fields);
  const details = [
    `Give in metadata: ${namesOf(ways)}`,
    `(memoryd connect ${spec.name} --set-env ${first}=VARIABLE, or --set-file ${first}=-).`,
    `For OAuth instead: ${reason.details ?? reason.message}`,
  ];
  return new MemorydError('invalid_request', `${spec.title} needs an authorization, and none was given`, {
    details: details.join(' '),
  });
}

function namesOf(ways: readonly { auth: FieldsSpec }[]): string {
  return ways.map(({ auth }) => neededNames(auth.fields).join(', ')).join('; or ');
}

/** The way that stored credentials were made for; the one whose needed fields are there when several are alike. */
export function storedAuth(spec: ConnectorSpec, kind: string, fields: JsonObject): AuthSpec | null {
  const alike = spec.auth.filter((auth) => auth.type === kind);
  const fits = (auth: AuthSpec) =>
    !hasFields(auth) || neededNames(auth.fields).every((name) => Object.hasOwn(fields, name));
  return alike.find(fits) ?? alike[0] ?? null;
}

export function isOAuth(auth: AuthSpec): auth is OAuth2Spec {
  return auth.type === 'oauth2' || auth.type === 'xoauth2';
}

function hasFields(auth: AuthSpec): auth is FieldsSpec {
  return !isOAuth(auth);
}

/** Fields that must be given: those that the schema requires, else all that it names. */
function neededNames(schema: JsonSchema): string[] {
  const { required } = schema;
  return Array.isArray(required) && required.length > 0 ? required.map(String) : Object.keys(propertiesOf(schema));
}

function pick(schema: JsonSchema, given: JsonObject): JsonObject {
  const names = propertiesOf(schema);
  return Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(names, name)));
}

function check({ auth, fields }: { auth: FieldsSpec; fields: JsonObject }): {
  filled: JsonObject;
  issues: ValidationIssue[];
} {
  const filled = structuredClone(fields);
  const validate = validatorOf(auth.fields);
  if (validate(filled)) return { filled, issues: [] };
  const issues = (validate.errors ?? []).map((error): ValidationIssue => {
    const missing: unknown = error.params['missingProperty'];
    const path = [...error.instancePath.split('/').slice(1), ...(typeof missing === 'string' ? [missing] : [])];
    return { message: error.message ?? 'is not valid', path: ['metadata', ...path] };
  });
  return { filled, issues };
}

const validators = new WeakMap<JsonSchema, ValidateFunction>();

/** Compiled once: a connector's fields stay as they are. */
function validatorOf(schema: JsonSchema): ValidateFunction {
  const known = validators.get(schema);
  if (known) return known;
  const made = new Ajv2020({ allErrors: true, useDefaults: true, strict: false }).compile(schema);
  validators.set(schema, made);
  return made;
}
