import Type, { type Static } from 'typebox';
import { listedDocument } from './documents.ts';
import {
  containerTag,
  containerTags,
  jsonObject,
  memoryKind,
  memoryOrigin,
  nullable,
  pagination,
  timestamp,
  words,
} from './shared.ts';

/** Section 12.13 of the API. */

export const graphBody = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: '1-based. Default 1.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: 'Default 10.' })),
  sort: Type.Optional(words(['createdAt', 'updatedAt'])),
  order: Type.Optional(words(['desc', 'asc'])),
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
  sources: Type.Optional(Type.Array(Type.String())),
});

export const graphByIdsBody = Type.Object({
  ids: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { minItems: 1, maxItems: 100 }),
  by: Type.Optional(words(['id', 'customId'], { description: 'The kind of the ids. Default id.' })),
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
});

const memoryEntry = Type.Object({
  id: Type.String(),
  memory: Type.String(),
  kind: memoryKind,
  ...memoryOrigin,
  spaceId: Type.String({ description: 'Id of the container.' }),
  spaceContainerTag: Type.String(),
  orgId: Type.String(),
  version: Type.Integer(),
  isLatest: Type.Boolean(),
  isForgotten: Type.Boolean(),
  isStatic: Type.Boolean(),
  isInference: Type.Boolean(),
  forgetAfter: nullable(timestamp),
  forgetReason: nullable(Type.String()),
  parentMemoryId: nullable(Type.String()),
  rootMemoryId: nullable(Type.String()),
  memoryRelations: nullable(jsonObject, { description: 'By the id of the other memory.' }),
  sourceCount: Type.Integer(),
  metadata: nullable(jsonObject),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type MemoryEntryAnswer = Static<typeof memoryEntry>;

const graphDocument = Type.Object({ ...listedDocument.properties, memoryEntries: Type.Array(memoryEntry) });
export type GraphDocument = Static<typeof graphDocument>;

export const graphAnswer = Type.Object({ documents: Type.Array(graphDocument), pagination });
