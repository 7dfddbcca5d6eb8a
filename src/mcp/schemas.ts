import Type, { type TSchema } from 'typebox';
import { containerTag, nullable, timestamp } from '../api/schemas/shared.ts';

/** Parts of the tools' schemas. */

/** A schema of the API in the words of a tool. */
export function describedAs<Schema extends TSchema>(schema: Schema, description: string): Schema {
  return { ...schema, description };
}

/** A namespace, under both its names. What the tools are given has it as `containerTag`. */
export function namespaceInput(description: string) {
  return {
    namespace: Type.Optional(describedAs(containerTag, description)),
    containerTag: Type.Optional(describedAs(containerTag, 'The older name of namespace.')),
  };
}

export const inNamespace = namespaceInput('The one to use. Default: the only one of the key, else the default one.');

export const memoryContent = Type.String({
  minLength: 1,
  maxLength: 10_000,
  description: 'The exact text of the memory.',
});

export const inPage = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1, description: '1-based.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, default: 10 })),
};

/** The page that was asked for. */
export function pageOf({ page = 1, limit = 10 }: { page?: number; limit?: number }) {
  return { page, limit };
}

const nullableText = nullable(Type.String());

/** How a document is shown without its content. */
export const documentFields = {
  id: Type.String(),
  title: nullableText,
  type: Type.String(),
  status: Type.String(),
  createdAt: timestamp,
  updatedAt: timestamp,
  summary: nullableText,
};
