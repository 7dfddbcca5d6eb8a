import Type from 'typebox';
import { documentStatus, jsonObject, nullable, pagination, words, type Answered } from '../../schemas/shared.ts';
import { chunkFields, memoryFields } from './documents.ts';
import { closedBody, filter, namespace, times } from './shared.ts';

export const pageFields = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Default 1.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default 10.' })),
};

export const listParams = Type.Object({ namespace, type: words(['documents', 'chunks', 'memories']) });

export const listQuery = Type.Object({
  ...pageFields,
  sort: Type.Optional(
    words(['createdAt', 'updatedAt', 'position'], { description: 'Default createdAt. position is for chunks alone.' }),
  ),
  order: Type.Optional(words(['desc', 'asc'], { description: 'Default desc.' })),
});

export const listBody = closedBody({
  filter: Type.Optional(filter),
  include: Type.Optional(
    closedBody({
      forgotten: Type.Optional(Type.Boolean({ description: 'Includes forgotten and expired memories.' })),
    }),
  ),
});

const listedDocument = Type.Object({
  id: Type.String(),
  title: nullable(Type.String()),
  type: Type.String(),
  summary: nullable(Type.String()),
  metadata: jsonObject,
  url: nullable(Type.String()),
  system: Type.Object({ status: documentStatus, ...times }),
});

export const listAnswer = Type.Object({
  documents: Type.Array(listedDocument),
  chunks: Type.Array(Type.Object({ ...chunkFields, documentId: Type.String() })),
  memories: Type.Array(Type.Object(memoryFields)),
  pagination,
});
export type ListAnswer = Answered<typeof listAnswer>;
