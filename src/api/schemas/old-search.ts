import Type, { type Static } from 'typebox';
import { containerTag, containerTags, filepath, filters, jsonObject, nullable, timestamp } from './shared.ts';

/** `POST /v3/search` of section 24 of the API. */

const flag = (description: string) => Type.Optional(Type.Boolean({ description }));
const share = Type.Number({ minimum: 0, maximum: 1 });

export const oldSearchBody = Type.Object({
  q: Type.String({ maxLength: 8192, pattern: '\\S', 'x-expected': 'text of 1 to 8192 characters' }),
  chunkThreshold: Type.Optional(share),
  documentThreshold: Type.Optional(share),
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
  docId: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
  filters: Type.Optional(filters),
  filepath: Type.Optional(filepath),
  includeFullDocs: flag('Add the content of each document.'),
  includeSummary: flag('Add the summary of each document.'),
  onlyMatchingChunks: flag('Default true; false adds the chunks beside them.'),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Chunks that match. Default 10.' })),
  rerank: flag('Ignored.'),
  rewriteQuery: flag('Ignored.'),
});
export type OldSearchBody = Static<typeof oldSearchBody>;

const oldSearchResult = Type.Object({
  documentId: Type.String(),
  title: nullable(Type.String()),
  type: nullable(Type.String()),
  score: Type.Number({ description: 'The score of its best chunk.' }),
  createdAt: timestamp,
  updatedAt: timestamp,
  metadata: nullable(jsonObject),
  chunks: Type.Array(
    Type.Object({
      content: Type.String(),
      isRelevant: Type.Boolean(),
      score: Type.Number(),
      position: Type.Integer(),
    }),
  ),
  summary: Type.Optional(nullable(Type.String())),
  content: Type.Optional(nullable(Type.String())),
});
export type OldSearchResult = Static<typeof oldSearchResult>;

export const oldSearchAnswer = Type.Object({
  results: Type.Array(oldSearchResult, { description: 'Best first.' }),
  timing: Type.Integer({ description: 'Milliseconds.' }),
  total: Type.Integer(),
});
