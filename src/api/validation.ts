import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Value } from 'typebox/value';
import { MemorydError, type ValidationIssue } from '../base/errors.ts';
import { issuesOf } from './validation-issues.ts';

/** Lists what is wrong with a value; nothing when it is right. */
export type Check = (value: unknown) => ValidationIssue[];

export function createCheck(schema: TSchema): Check {
  const validator = Compile(schema);
  return (value) => (validator.Check(value) ? [] : issuesOf(schema, value, validator.Errors(value)));
}

/**
 * Compiles the schemas of routes. Bodies are taken as they are, a missing one as `{}`; path and
 * query values arrive as text and are converted. Failures are `validation_failed` with issues.
 */
export const compileRouteSchema: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const check = createCheck(schema);
  return (input: unknown) => {
    const value = httpPart === 'body' ? (input ?? {}) : Value.Convert(schema, splitLists(schema, input));
    const issues = [...check(value), ...(httpPart === 'body' ? [] : unstorable(schema, value))];
    return issues.length === 0 ? { value } : { error: validationFailed(issues) };
  };
};

/**
 * The database holds no U+0000. In bodies it is left out; here a value names something, which is then not there.
 * What the schema takes whatever it is, its route looks at.
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
