import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { generateSync, type JsonSchema } from 'json-schema-faker';

export interface Operation {
  /** As `POST /v3/documents`. */
  name: string;
  method: string;
  path: string;
  parameters: { name: string; in: string; schema: JsonSchema }[];
  /** Of a JSON body. */
  body: JsonSchema | null;
  /** Fields of a form. */
  form: JsonSchema | null;
  /** Whether a body keeps to its schema. */
  isValid: ValidateFunction;
}

/** What the daemon says of itself, as far as requests are made from it. */
export function operationsOf(document: any): Operation[] {
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true, binary: true, uri: true } });
  return Object.entries<Record<string, any>>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const content = operation.requestBody?.content ?? {};
      const body = content['application/json']?.schema ?? null;
      return {
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        parameters: operation.parameters ?? [],
        body,
        form: content['multipart/form-data']?.schema ?? null,
        isValid: ajv.compile(asWhole(body ?? {}) as object),
      };
    }),
  );
}

/** Without what is said of entries that fail alone: the request is taken, whatever they are. */
function asWhole(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(asWhole);
  if (typeof schema !== 'object' || schema === null) return schema;
  if ('x-fails-alone' in schema) return {};
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, asWhole(value)]));
}

/** A value of the schema; the same seed gives the same one. `full`: with everything that is optional. */
export function generated(schema: JsonSchema, seed: number, full = false): unknown {
  return generateSync(modest(schema) as JsonSchema, {
    seed,
    maxDefaultItems: 3,
    maxDepth: 6,
    ...(full ? { alwaysFakeOptionals: true } : { optionalsProbability: 0.5 }),
  });
}

/** The generator fills long texts and lists to their very limit, which takes longer than the request. */
const limits: Record<string, number> = { maxItems: 4, maxLength: 300 };

function modest(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(modest);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) => {
    const limit = limits[key];
    return [key, limit !== undefined && typeof value === 'number' ? Math.min(value, limit) : modest(value)];
  });
  return Object.fromEntries(entries);
}

/** The address of an operation; `known` has values of path parameters that lead somewhere. */
export function addressOf(operation: Operation, seed: number, known: Record<string, readonly string[]>): string {
  let path = operation.path;
  const query = new URLSearchParams();
  for (const [index, { name, in: place, schema }] of operation.parameters.entries()) {
    const value = String(generated(schema, seed + index));
    const names = known[name] ?? [];
    if (place === 'query') {
      if ((seed + index) % 2 === 0) query.set(name, value);
    } else {
      const used = names.length > 0 && seed % 4 !== 0 ? names[seed % names.length]! : value;
      path = path.replace(`{${name}}`, encodeURIComponent(used === '' ? 'x' : used));
    }
  }
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

/** What stands where something else belongs. */
const strangeValues: readonly unknown[] = [
  null,
  true,
  'text',
  {},
  [],
  [[]],
  { a: { b: 1 } },
  -1,
  0.5,
  1e308,
  -1e308,
  2 ** 53,
  '',
  ' ',
  'x'.repeat(20_000),
  '\u0000',
  'a\u0000b',
  '\ud800',
  'b\udfff',
  '../..',
  "'; drop table documents; --",
  '__proto__',
  nested(60),
  nested(150),
  Array.from({ length: 2_000 }, () => 'x'),
];

/** The same body with one part replaced by something strange, or left out. */
export function mutated(body: unknown, where: number, what: number): unknown {
  const copy = structuredClone(body);
  const places = [...placesIn(copy)];
  const replacement = strangeValues[what % (strangeValues.length + 1)];
  const isRemoval = what % (strangeValues.length + 1) === strangeValues.length;
  const place = places[where % (places.length + 1)];
  if (!place) return isRemoval ? 'text' : replacement;
  const [holder, key] = place;
  if (isRemoval) Reflect.deleteProperty(holder, key);
  else holder[key] = replacement;
  return copy;
}

function* placesIn(value: unknown): Iterable<[Record<string, unknown>, string]> {
  if (typeof value !== 'object' || value === null) return;
  for (const key of Object.keys(value)) {
    yield [value as Record<string, unknown>, key];
    yield* placesIn((value as Record<string, unknown>)[key]);
  }
}

/** What the API makes of text that no database takes. */
export function storable(value: unknown): unknown {
  const text = JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'string' ? part.replaceAll('\0', '').toWellFormed() : part,
  );
  return text === undefined ? undefined : JSON.parse(text);
}
