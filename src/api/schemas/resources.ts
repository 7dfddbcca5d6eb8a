import Type from 'typebox';

/** Sections 19.11 and 19.12 of the API. Names with underscores are those of the published interface. */

const zeroIsDefault = 'Default and 0:';

export const resourcesQuery = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000, description: `1-based. ${zeroIsDefault} 1.` })),
  per_page: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, description: `${zeroIsDefault} 30.` })),
  parent_id: Type.Optional(Type.String({ maxLength: 2000, description: 'Look into this resource.' })),
});

const resource = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  required: ['id'],
  properties: {
    id: { type: ['string', 'number'] },
    name: { type: 'string' },
    kind: { type: 'string' },
    hasChildren: { type: 'boolean' },
    selectable: { type: 'boolean' },
    selected: { type: 'boolean' },
  },
});

export const resourcesAnswer = Type.Object({
  resources: Type.Array(resource),
  total_count: Type.Optional(Type.Integer({ description: 'Absent when the source does not tell.' })),
});

const chosen = Type.Unsafe<{ id: string | number } & Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  required: ['id'],
  properties: {
    id: {
      anyOf: [{ type: 'string', minLength: 1, maxLength: 2000 }, { type: 'integer' }],
      'x-expected': 'the id of a resource',
    },
    name: { type: 'string', maxLength: 2000 },
    kind: { type: 'string', maxLength: 2000 },
  },
});

/** A resource chosen at the source, as it was sent. */
export const selectedResource = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  required: ['id'],
  properties: { id: { type: ['string', 'number'] }, name: { type: 'string' }, kind: { type: 'string' } },
});

export const configureBody = Type.Object({
  resources: Type.Array(chosen, { maxItems: 10_000, description: 'The complete new selection. Empty: everything.' }),
});

export const configureQuery = Type.Object({
  deleteRemoved: Type.Optional(
    Type.Unsafe<'true' | 'false'>({
      type: 'string',
      enum: ['true', 'false'],
      description:
        'Whether the documents of what is no longer selected are deleted. Default: unless the connection keeps what its source deletes (`onSourceDelete`).',
    }),
  ),
});

export const configureAnswer = Type.Object({
  success: Type.Boolean(),
  message: Type.String(),
  webhooksRegistered: Type.Optional(Type.Integer()),
});
