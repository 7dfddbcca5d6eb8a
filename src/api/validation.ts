import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Value } from 'typebox/value';
import { MemorydError, type ValidationIssue } from '../base/errors.ts';
import type { TLocalizedValidationError } from 'typebox/error';
import { nearest } from '../base/did-you-mean.ts';

/** Lists what is wrong with a value; nothing when it is right. */
export type FieldCheck = (value: unknown) => ValidationIssue[];

export function createCheck(schema: TSchema): FieldCheck {
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
 * query values arrive as text and are converted. Failures are `validation_failed` with issues. The check is made for
 * the first request, as those of all routes together would delay a start.
 */
export const compileRouteSchema: FastifySchemaCompiler<TSchema> = ({ schema, httpPart, method }) => {
  let check: ReturnType<typeof createCheck> | undefined;
  return (input: unknown) => {
    check ??= createCheck(isChange(httpPart, method) ? closed(schema) : schema);
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

type Path = (string | number)[];

/** A schema with our own keyword: the rule in words, to follow "must be". */
type Described = { 'x-expected'?: string; minimum?: number; maximum?: number; minItems?: number; maxItems?: number };

/** Turns what the validator found into one issue per thing that is wrong. */
function issuesOf(schema: TSchema, value: unknown, errors: TLocalizedValidationError[]): ValidationIssue[] {
  const issues = new Map<string, ValidationIssue>();
  for (const error of withoutConsequences(errors)) {
    for (const issue of toIssues(schema, value, error)) issues.set(`${issue.message} ${issue.path?.join('/')}`, issue);
  }
  return [...issues.values()];
}

interface Shape {
  properties?: Record<string, Shape>;
  items?: Shape;
  additionalProperties?: unknown;
}

/** Keys of closed objects that are not known, each with the known one that was most likely meant. */
function unknownKeys(schema: TSchema, value: unknown, path: Path = []): ValidationIssue[] {
  const { properties = {}, items, additionalProperties } = schema as Shape;
  if (Array.isArray(value))
    return items
      ? value.slice(0, maxEntries).flatMap((entry, index) => unknownKeys(items as TSchema, entry, [...path, index]))
      : [];
  if (typeof value !== 'object' || value === null) return [];
  const known = Object.keys(properties);
  return Object.entries(value).flatMap(([key, entry]) => {
    const inner = Object.hasOwn(properties, key) ? properties[key]! : null;
    if (inner) return unknownKeys(inner, entry, [...path, key]);
    if (additionalProperties !== false) return [];
    const meant = nearest(key.slice(0, maxName), known);
    const hint = meant === null ? `known are ${known.join(', ')}` : `did you mean ${meant}?`;
    return [
      {
        message: `${fieldName([...path, key.slice(0, maxName)])} is not known; ${hint}`,
        path: [...path, key.slice(0, maxName)],
      },
    ];
  });
}

const maxName = 64;

const maxEntries = 1_000;

/** Keeps one error of each choice (`anyOf`), and drops errors that only repeat others. */
function withoutConsequences(errors: TLocalizedValidationError[]): TLocalizedValidationError[] {
  const choices = new Map<string, TLocalizedValidationError>();
  const kept: TLocalizedValidationError[] = [];
  for (const error of errors) {
    const choice = choiceOf(error);
    if (choice === null) kept.push(error);
    else if (!choices.has(choice)) choices.set(choice, { ...error, keyword: 'anyOf', schemaPath: choice, params: {} });
  }
  const repeated = ['additionalProperties', 'propertyNames'];
  return [...kept, ...choices.values()].filter((error) => !repeated.includes(error.keyword));
}

/** The schema path of the choice that an error belongs to. The first one of a choice names the value itself. */
function choiceOf(error: TLocalizedValidationError): string | null {
  if (error.keyword === 'anyOf') return error.schemaPath;
  const end = error.schemaPath.indexOf('/anyOf/');
  return end === -1 ? null : error.schemaPath.slice(0, end);
}

function toIssues(schema: TSchema, value: unknown, error: TLocalizedValidationError): ValidationIssue[] {
  const path = pathOf(error.instancePath, value);
  if (error.keyword === 'required') {
    return error.params.requiredProperties.map((name) => ({
      message: `${fieldName([...path, name])} is required`,
      path: [...path, name],
    }));
  }
  return [{ message: messageOf(error, nodeAt(schema, error.schemaPath), fieldName(path)), path }];
}

function messageOf(error: TLocalizedValidationError, node: Described, field: string): string {
  if (error.schemaPath.endsWith('/propertyNames')) return `${field} must be named with ${node['x-expected']}`;
  if (node['x-expected']) return `${field} must be ${node['x-expected']}`;
  switch (error.keyword) {
    case 'type':
      return `${field} must be ${[error.params.type].flat().map(withArticle).join(' or ')}`;
    case 'enum':
      return `${field} must be one of ${error.params.allowedValues.join(', ')}`;
    case 'minimum':
    case 'maximum':
      return `${field} must be ${rangeText(node.minimum, node.maximum)}`;
    case 'minItems':
    case 'maxItems':
      return `${field} must have ${countText(node.minItems, node.maxItems)} entries`;
    case 'pattern':
      return error.params.pattern === '\\S' ? `${field} must not be empty` : `${field} ${error.message}`;
    case 'minLength':
      return error.params.limit === 1 ? `${field} must not be empty` : `${field} ${error.message}`;
    default:
      return `${field} ${error.message}`;
  }
}

function withArticle(type: string): string {
  if (type === 'null') return 'null';
  return /^[aio]/.test(type) ? `an ${type}` : `a ${type}`;
}

function rangeText(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum === undefined) return `at most ${maximum}`;
  return maximum === undefined ? `at least ${minimum}` : `between ${minimum} and ${maximum}`;
}

function countText(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum === undefined) return `at most ${maximum}`;
  return maximum === undefined ? `at least ${minimum}` : `${minimum} to ${maximum}`;
}

/** `documents[3].content`, as people write it. */
export function fieldName(path: readonly (string | number)[]): string {
  const name = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
  return name === '' ? 'the input' : name.replace(/^\./, '');
}

/** A JSON Pointer as path parts; places in arrays become numbers. */
function pathOf(pointer: string, value: unknown): Path {
  const path: Path = [];
  let current = value;
  for (const escaped of pointer.split('/').slice(1)) {
    const part = escaped.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(current) ? Number(part) : part);
    current = (current as Record<string, unknown> | null | undefined)?.[part];
  }
  return path;
}

/** The part of the schema that an error is about. Names of our own fields hold no slash. */
function nodeAt(schema: TSchema, schemaPath: string): Described {
  let node: unknown = schema;
  for (const part of schemaPath.split('/').slice(1)) node = (node as Record<string, unknown> | undefined)?.[part];
  return node ?? {};
}

/**
 * The moment that a text of ISO 8601 names; null for one that does not exist or lies outside of the years
 * 1 to 9999. Times without a zone are UTC, so that the answer does not depend on where the daemon runs.
 */
export function momentOf(text: string): Date | null {
  const hasZone = text.length <= 10 || /(?:z|[+-]\d{2}:?\d{2})$/i.test(text);
  const date = new Date(Date.parse(hasZone ? text : `${text}Z`));
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999 && hasItsDay(text) ? date : null;
}

/** False for 30 February, which becomes a day of March. */
function hasItsDay(text: string): boolean {
  const day = text.slice(8, 10);
  const date = new Date(Date.parse(text.slice(0, 10)));
  return day === '' || (!Number.isNaN(date.getTime()) && day === date.toISOString().slice(8, 10));
}

/** The time of a question about the past. Throws `validation_failed` for one that does not exist. */
export function pastTime(asOf: string | undefined): { asOf?: Date } {
  if (asOf === undefined) return {};
  const moment = momentOf(asOf);
  if (moment === null) throw invalidField(['asOf'], 'asOf must be a time that exists');
  return { asOf: moment };
}

/** The moments between which something must lie. Throws `invalid_request` for a time that does not exist. */
export function dateRange(dates: { from?: string; to?: string } | undefined): { dates?: { from?: Date; to?: Date } } {
  if (dates === undefined) return {};
  const moments = Object.entries(dates).map(([end, text]) => {
    const moment = momentOf(text);
    if (moment === null) throw invalidField(['dates', end], `dates.${end} must be a time that exists`);
    return [end, moment];
  });
  return { dates: Object.fromEntries(moments) };
}
