import Type, { type Static, type TSchema, type TSchemaOptions } from 'typebox';
import { documentStatuses, type Json } from '../../engine/document.ts';

/** What a schema answers with: a field that may be absent may be undefined as well, which is not written either. */
export type Answered<Schema extends TSchema> = Omissible<Static<Schema>>;

type Omissible<Value> = Value extends Date
  ? Value
  : Value extends object
    ? { [Name in keyof Value]: Omissible<Value[Name]> | (object extends Pick<Value, Name> ? undefined : never) }
    : Value;

/** Pieces that several resources share. `x-expected` is the rule in words, to follow "must be". */

export function nullable<Value extends TSchema>(schema: Value, options: TSchemaOptions = {}) {
  return Type.Unsafe<Static<Value> | null>({
    ...schema,
    ...options,
    type: [(schema as unknown as { type: string }).type, 'null'],
    // An enumeration holds all that is allowed, whatever the type says.
    ...('enum' in schema && { enum: [...(schema.enum as readonly unknown[]), null] }),
  });
}

export function words<const Word extends string>(values: readonly Word[], options: TSchemaOptions = {}) {
  return Type.Unsafe<Word>({ type: 'string', enum: values, ...options });
}

/** Of answers, which write a `Date` so. */
export const timestamp = Type.Unsafe<Date | string>({
  type: 'string',
  format: 'date-time',
  examples: ['2026-03-01T09:30:00.000Z'],
});

export const trust = words(['told', 'own', 'read'], {
  description:
    'told: said to memory by a user or an application. own: written by the owner of a source. read: everything else that is mirrored.',
});

/** Any JSON object, sent as it is. */
export const jsonObject = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true });

export const containerTag = Type.String({
  description: 'The container (namespace) of the operation.',
  pattern: '^[a-zA-Z0-9_:-]{1,100}$',
  'x-expected': '1 to 100 letters, digits, underscores, colons and hyphens',
  examples: ['user_mira'],
});

export const containerTags = Type.Array(containerTag, { description: 'Any of these containers.' });

const metadataKeys = {
  pattern: '^(?!sm_internal_)[A-Za-z0-9_.-]{1,64}$',
  'x-expected': '1 to 64 letters, digits, underscores, dots and hyphens, and not begin with sm_internal_',
};

export const metadataInput = Type.Unsafe<Record<string, Json>>({
  type: 'object',
  description:
    'At most 64 fields with any JSON values, 8 levels deep, 1,000 values and 32 KiB in all. Filters reach values inside by path (`a.b`). Keys that begin with sm_internal_ are not allowed.',
  maxProperties: 64,
  propertyNames: metadataKeys,
  additionalProperties: true,
  examples: [{ channel: 'slack', turns: 6, archived: false, labels: ['planning'], author: { name: 'Mira' } }],
});

/** Metadata of sources, and conditions on it: one value for each field, or several. */
export const flatMetadata = Type.Unsafe<Record<string, string | number | boolean | string[]>>({
  type: 'object',
  description:
    'At most 64 flat fields, 32 KiB in all. Values: string, number, boolean or string[]. Keys that begin with sm_internal_ are not allowed.',
  maxProperties: 64,
  propertyNames: metadataKeys,
  additionalProperties: {
    'x-expected': 'a string of at most 4096 characters, a number, a boolean, or an array of at most 256 such strings',
    anyOf: [
      { type: 'string', maxLength: 4096 },
      { type: 'number' },
      { type: 'boolean' },
      { type: 'array', maxItems: 256, items: { type: 'string', maxLength: 4096 } },
    ],
  },
  examples: [{ channel: 'slack' }],
});

export const customId = Type.String({
  description: 'Your own id of the document, unique in its container. Sending it again replaces the document.',
  pattern: '^(?!\\.{1,2}$)[^\\u0000-\\u001f\\u007f]{1,255}$',
  'x-expected': '1 to 255 characters without control characters, and not . or ..',
});

export const documentIdParameter = Type.String({
  description: 'Id or customId of the document.',
  pattern: '^[^\\u0000-\\u001f\\u007f]{1,255}$',
  'x-expected': '1 to 255 characters without control characters',
});

export const memoryKind = words(['fact', 'episode'], {
  description: 'fact: a true statement, with versions. episode: something that somebody said, and when.',
});

export const memoryOrigin = {
  category: nullable(Type.String(), { description: 'e.g. fact, preference, event or plan. Null: unknown.' }),
  author: nullable(Type.String(), { description: 'The speaker or author. Null: nobody is named.' }),
  trust,
  saidAt: nullable(timestamp, { description: 'When it was said or written.' }),
};

/** The filter grammar is too deep for a schema to name the mistake; `parseFilters` checks it. */
export const filters = Type.Unsafe<object | string>({
  anyOf: [{ type: 'object', additionalProperties: true }, { type: 'string' }],
  description:
    'Conditions on metadata: {"AND": [...]} or {"OR": [...]} of conditions {key, value, filterType, numericOperator, negate, ignoreCase} or of groups. At most 8 levels and 200 conditions. As an object or as JSON text.',
  'x-expected': 'an object or its JSON text',
  examples: [{ AND: [{ key: 'channel', value: 'slack' }] }],
});

/** A moment that somebody asks for. */
export const dateTime = (description: string) =>
  Type.String({ format: 'date-time', 'x-expected': 'a time in ISO 8601', description });

export const asOf = dateTime(
  'Only what memory knew at this time: versions that held then, and documents that were there already.',
);

export const filepath = Type.String({
  minLength: 1,
  maxLength: 1024,
  description: 'Exact path, or a prefix when it ends with /.',
});

export const documentStatus = words(documentStatuses, { description: 'The state of processing.' });

export const pagination = Type.Object({
  currentPage: Type.Integer(),
  limit: Type.Integer(),
  totalItems: Type.Integer(),
  totalPages: Type.Integer(),
});

// The two error bodies, registered once and referred to by every operation.

export const errorResponse = Type.Object(
  {
    error: Type.String({ description: 'Short message.' }),
    details: Type.Optional(Type.String({ description: 'More detail that is safe to show.' })),
  },
  { $id: 'ErrorResponse', title: 'ErrorResponse' },
);

export const validationErrorResponse = Type.Object(
  {
    success: Type.Unsafe<false>({ type: 'boolean', const: false }),
    error: Type.Array(
      Type.Object({
        message: Type.String(),
        path: Type.Optional(
          Type.Array(Type.Unsafe<string | number>({ type: ['string', 'integer'] }), {
            description: 'Where in the input, e.g. ["documents", 3, "content"].',
          }),
        ),
      }),
    ),
    data: Type.Optional(Type.Unsafe<unknown>({ description: 'The input that failed.' })),
  },
  { $id: 'ValidationErrorResponse', title: 'ValidationErrorResponse' },
);
