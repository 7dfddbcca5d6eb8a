import Type, { type Static, type TProperties } from 'typebox';
import { containerTag, documentIdParameter, flatMetadata, timestamp } from '../../schemas/shared.ts';
import { addBody } from '../../schemas/documents.ts';

/** Bodies are closed in this dialect: a key that nobody knows is refused. */
export function closedBody<Fields extends TProperties>(fields: Fields) {
  return Type.Object(fields, { additionalProperties: false });
}

export const namespace = Type.Unsafe<string>({ ...containerTag, description: 'The isolated scope of the operation.' });
export const namespaceParams = Type.Object({ namespace });
export const namespaceDocumentParams = Type.Object({ namespace, id: documentIdParameter });

export const times = { createdAt: timestamp, updatedAt: timestamp };

/** `include` of the query: separated by commas, repeated, or both. */
export const listStyle = { style: 'form', explode: false };

/** The grammar is too deep for a schema to name the mistake; `parseFilterTree` checks it. */
export const filter = Type.Unsafe<object>({
  type: 'object',
  additionalProperties: true,
  description:
    'A condition {field, operator, value, caseSensitive}, or a group {operator: "and" | "or", operands} of 1 to 200 filters, at most 5 levels deep. Operators: eq and neq with a string, a number or a boolean; gt, gte, lt and lte with a number; contains, notContains, arrayContains and arrayNotContains with a string. caseSensitive, true unless said otherwise, is for strings other than those of lists. Values of another type do not match, and dots belong to the name of the field.',
  examples: [{ operator: 'and', operands: [{ field: 'channel', operator: 'eq', value: 'slack' }] }],
});

const supportingContext = Type.String({
  maxLength: 1500,
  description: 'Guides what is taken from this document, in place of what is said of its namespace.',
});

export const processing = {
  taskType: addBody.properties.taskType,
  dreaming: addBody.properties.dreaming,
};

/** Fields of a document beside its content. */
export const documentFields = {
  supportingContext: Type.Optional(supportingContext),
  metadata: Type.Optional(flatMetadata),
  group: Type.Optional(
    Type.Unsafe<Static<typeof flatMetadata>>({
      ...flatMetadata,
      description:
        'What the document has in common with others: what it says is compared with memories of the same group alone. Filters find it like metadata, which goes first where both have a field.',
    }),
  ),
  date: addBody.properties.documentDate,
};
