import Type, { type Static } from 'typebox';
import { addBody } from './documents.ts';
import {
  asOf,
  containerTag,
  containerTags,
  filters,
  jsonObject,
  memoryKind,
  memoryOrigin,
  metadataInput,
  nullable,
  pagination,
  timestamp,
  trust,
  words,
  type Answered,
} from './shared.ts';

/** Section 16 of the API. */

const content = Type.String({
  minLength: 1,
  maxLength: 10_000,
  pattern: '\\S',
  'x-expected': 'text of 1 to 10000 characters',
});
const reason = Type.Optional(nullable(Type.String({ maxLength: 1000 })));
const forgetAfter = Type.Optional(
  nullable(Type.String({ format: 'date-time' }), { description: 'When it is forgotten by itself.' }),
);
const temporalContext = Type.Object({
  documentDate: Type.Optional(nullable(Type.String({ maxLength: 40 }))),
  eventDate: Type.Optional(
    Type.Unsafe<string[] | null>({ type: ['array', 'null'], maxItems: 100, items: { type: 'string', maxLength: 40 } }),
  ),
});
const id = Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Id of any version.' }));
const exactContent = Type.Optional(
  Type.String({ minLength: 1, maxLength: 10_000, description: 'The exact text; id goes before it.' }),
);

export const createBody = Type.Object({
  containerTag,
  entityContext: addBody.properties.entityContext,
  memories: Type.Array(
    Type.Object({
      content,
      isStatic: Type.Optional(Type.Boolean({ description: 'Belongs to the stable part of the profile.' })),
      metadata: Type.Optional(metadataInput),
      forgetAfter,
      forgetReason: reason,
      temporalContext: Type.Optional(temporalContext),
    }),
    { minItems: 1, maxItems: 100 },
  ),
});
export type CreateBody = Static<typeof createBody>;

const nullableText = nullable(Type.String());
const nullableTime = nullable(timestamp);
const written = {
  id: Type.String(),
  memory: Type.String(),
  createdAt: timestamp,
  forgetAfter: nullableTime,
  forgetReason: nullableText,
  metadata: nullable(jsonObject),
};

export const createAnswer = Type.Object({
  documentId: nullable(Type.String(), { description: 'The source document; null when all are duplicates.' }),
  memories: Type.Array(Type.Object({ ...written, isStatic: Type.Boolean() }), { description: 'In the order sent.' }),
});

export const listBody = Type.Object({
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
  filters: Type.Optional(filters),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: '1-based. Default 1.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1100, description: 'Default 10.' })),
  sort: Type.Optional(words(['createdAt', 'updatedAt'])),
  order: Type.Optional(words(['desc', 'asc'])),
  includeForgotten: Type.Optional(Type.Boolean({ description: 'Also forgotten and expired ones.' })),
  asOf: Type.Optional(asOf),
});

const version = {
  id: Type.String(),
  memory: Type.String(),
  version: Type.Integer(),
  isLatest: Type.Boolean(),
  isForgotten: Type.Boolean(),
  createdAt: timestamp,
  updatedAt: timestamp,
  parentMemoryId: nullableText,
  rootMemoryId: nullableText,
};

const source = Type.Object({
  documentId: Type.String(),
  title: nullableText,
  type: Type.String(),
  url: nullableText,
  filepath: nullableText,
  author: nullableText,
  trust,
  date: Type.String({ format: 'date-time', description: 'The date of the document; else when it was added.' }),
});

/** Where a memory or a passage comes from, and how far to trust it. */
export const provenance = {
  ...memoryOrigin,
  sources: Type.Array(source, { description: 'The documents it comes from: at most 10, the first ones.' }),
};

/** A memory behind a line of a profile. */
export const citedMemory = Type.Object({
  id: Type.String(),
  memory: Type.String(),
  kind: memoryKind,
  ...provenance,
  version: Type.Integer(),
  isInference: Type.Boolean(),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type CitedMemoryAnswer = Answered<typeof citedMemory>;

const memoryEntry = Type.Object({
  ...version,
  kind: memoryKind,
  ...provenance,
  isStatic: Type.Boolean(),
  isInference: Type.Boolean(),
  spaceId: Type.String(),
  orgId: Type.String(),
  sourceCount: Type.Integer(),
  forgetAfter: nullableTime,
  forgetReason: nullableText,
  metadata: nullable(jsonObject),
  memoryRelations: nullable(jsonObject, { description: 'By id of the other memory: updates, extends or derives.' }),
  temporalContext: nullable(jsonObject),
  history: Type.Array(Type.Object(version), { description: 'Earlier versions, newest first.' }),
  documentIds: Type.Array(Type.String()),
});
export type MemoryEntryAnswer = Answered<typeof memoryEntry>;
export const listAnswer = Type.Object({ memoryEntries: Type.Array(memoryEntry), pagination });

export const updateBody = Type.Object({
  containerTag,
  id,
  content: exactContent,
  newContent: content,
  metadata: Type.Optional(metadataInput),
  forgetAfter,
  forgetReason: reason,
  temporalContext: Type.Optional(temporalContext),
});
export type UpdateBody = Static<typeof updateBody>;

export const updateAnswer = Type.Object({
  ...written,
  version: Type.Integer(),
  parentMemoryId: nullableText,
  rootMemoryId: nullableText,
});

export const forgetBody = Type.Object({ containerTag, id, content: exactContent, reason });
export const forgetAnswer = Type.Object({
  id: Type.String(),
  forgotten: Type.Unsafe<true>({ type: 'boolean', const: true }),
});

/** Memories this similar to a topic are about it. */
export const matchingThreshold = 0.5;
/** The most that is forgotten at once. */
export const matchingLimit = 100;

export const matchingBody = Type.Object({
  containerTag,
  query: Type.Optional(
    Type.String({ minLength: 1, maxLength: 2000, pattern: '\\S', 'x-expected': 'text of 1 to 2000 characters' }),
  ),
  ids: Type.Optional(Type.Array(Type.String({ maxLength: 255 }), { minItems: 1, maxItems: 500 })),
  dryRun: Type.Optional(Type.Boolean({ description: 'Only answer what would be forgotten.' })),
  threshold: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: `Default ${matchingThreshold}.` })),
  maxForget: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 500, description: `Default ${matchingLimit}; for query only.` }),
  ),
  reason: Type.Optional(Type.String({ maxLength: 1000 })),
});
export type MatchingBody = Static<typeof matchingBody>;

const matched = Type.Array(Type.Object({ id: Type.String(), memory: Type.String(), score: Type.Number() }));
export const matchingAnswer = Type.Object({
  dryRun: Type.Boolean(),
  count: Type.Integer(),
  forgetBatchId: nullableText,
  summary: Type.String(),
  candidates: Type.Optional(matched),
  forgotten: Type.Optional(matched),
});
