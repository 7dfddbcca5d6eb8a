import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Value } from 'typebox/value';
import { MemorydError, type ValidationIssue } from '../base/errors.ts';
import { issuesOf, unknownKeys } from './validation-issues.ts';

/** Lists what is wrong with a value; nothing when it is right. */
export type Check = (value: unknown) => ValidationIssue[];

export function createCheck(schema: TSchema): Check {
  const validator = Compile(schema);
  return (value) => {
    const unknown = unknownKeys(schema, value);
    if (unknown.length > 0 || validator.Check(value)) return unknown;
    // What is wrong is looked for in the beginning: listing a hundred thousand mistakes takes minutes.
    const start = shortened(value);
    const issues = validator.Check(start) ? [] : issuesOf(schema, start, validator.Errors(start)).slice(0, maxIssues);
    return issues.length > 0 || start === value
      ? issues
      : [{ message: 'one of the later entries is not valid', path: [] }];
  };
}

const maxIssues = 100;
const maxLookedAt = 1_000;

/** The value with no more than the first entries of its arrays; itself when none is longer. */
function shortened(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const first = value.length > maxLookedAt ? value.slice(0, maxLookedAt) : value;
    const entries = first.map(shortened);
    return value.length <= maxLookedAt && entries.every((entry, index) => entry === value[index]) ? value : entries;
  }
  const entries = Object.entries(value).map(([key, entry]) => [key, shortened(entry)] as const);
  return entries.every(([key, entry]) => entry === (value as Record<string, unknown>)[key])
    ? value
    : Object.fromEntries(entries);
}

/**
 * Compiles the schemas of routes. Bodies are taken as they are, a missing one as `{}`; path and
 * query values arrive as text and are converted. Failures are `validation_failed` with issues.
 */
export const compileRouteSchema: FastifySchemaCompiler<TSchema> = ({ schema, httpPart, method }) => {
  const check = createCheck(isChange(httpPart, method) ? closed(schema) : schema);
  return (input: unknown) => {
    const value = httpPart === 'body' ? (input ?? {}) : Value.Convert(schema, splitLists(schema, input));
    const issues = [...check(value), ...(httpPart === 'body' ? [] : unstorable(schema, value))];
    return issues.length === 0 ? { value } : { error: validationFailed(issues) };
  };
};

/** A change of what nobody knows would be answered as if it had been made; so would a deletion within unknown bounds. */
export function isChange(httpPart: string | undefined, method: unknown): boolean {
  const methods = [method].flat();
  if (httpPart === 'querystring') return methods.every((name) => name !== 'GET' && name !== 'HEAD');
  return httpPart === 'body' && (methods.includes('PATCH') || methods.includes('DELETE'));
}

function closed(schema: TSchema): TSchema {
  return (schema as { type?: string }).type === 'object' ? { ...schema, additionalProperties: false } : schema;
}

/**
 * The database holds no U+0000. In bodies it is left out; here a value names something, which is then not there.
 * Values that the schema does not restrict are checked by their route.
 */
function unstorable(schema: TSchema, value: unknown): ValidationIssue[] {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string; anyOf?: unknown }> };
  const isNamed = (name: string) => properties[name]?.type !== undefined || properties[name]?.anyOf !== undefined;
  return Object.entries(value as Record<string, unknown>).flatMap(([name, part]) =>
    isNamed(name) && [part].flat().some((text) => typeof text === 'string' && text.includes('\0'))
      ? [{ message: `${name} must not contain the character U+0000`, path: [name] }]
      : [],
  );
}

export function validationFailed(issues: ValidationIssue[]): MemorydError {
  return new MemorydError('validation_failed', 'The request does not match its schema', { issues });
}

/** One thing wrong with one field of the body, found after the schema was checked. */
export function invalidField(path: (string | number)[], message: string): MemorydError {
  return validationFailed([{ message, path }]);
}

/** Query parameters that are lists come as `a,b`, repeated, or both. An empty value is no value. */
function splitLists(schema: TSchema, input: unknown): unknown {
  const properties = (schema as { properties?: Record<string, { type?: unknown }> }).properties ?? {};
  const arranged: Record<string, string | string[]> = { ...(input as Record<string, string | string[]>) };
  for (const [name, property] of Object.entries(properties)) {
    const given = arranged[name];
    if (property.type !== 'array' || given === undefined) continue;
    const items = [given].flat().flatMap((value) => value.split(','));
    const present = items.filter((item) => item !== '');
    if (present.length > 0) arranged[name] = present;
    else delete arranged[name];
  }
  return arranged;
}
