import Type, { type Static } from 'typebox';
import { provenance } from './memories.ts';
import {
  asOf,
  containerTag,
  containerTags,
  filepath,
  filters,
  jsonObject,
  nullable,
  timestamp,
  words,
} from './shared.ts';

/** Section 14 of the API. */

const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

export const searchBody = Type.Object({
  q: Type.String({
    maxLength: 8192,
    pattern: '\\S',
    'x-expected': 'text of 1 to 8192 characters',
    examples: ['how does Mira like to get updates?'],
  }),
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
  searchMode: Type.Optional(
    words(['memories', 'hybrid', 'documents'], {
      description:
        'documents: chunks of documents. hybrid: memories and chunks in one list, one line for each thing that is said. memories: the same in the field memory; a chunk there has metadata.kind passage. Default memories.',
    }),
  ),
  threshold: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1, description: 'Results with a lower similarity are dropped. Default 0.6.' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default 10.' })),
  filters: Type.Optional(filters),
  filepath: Type.Optional(filepath),
  docId: Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'Only this document: id or customId.' }),
  ),
  asOf: Type.Optional(asOf),
  rerank: flag('Score the best results again, word by word, where the embedding model can. Slower.'),
  rewriteQuery: flag('Search a query that asks for several things also by its parts. Others are searched as they are.'),
  aggregate: flag('Add results that sum up several memories. Without a language model it changes nothing.'),
  relatedMemories: flag('The same as include.relatedMemories.'),
  include: Type.Optional(
    Type.Object({
      documents: flag('Add the source documents.'),
      summaries: flag('Add the source documents with their summaries.'),
      relatedMemories: flag('Add earlier, later and related memories.'),
      forgottenMemories: flag('Also forgotten and expired memories.'),
      chunks: Type.Optional(
        Type.Boolean({
          deprecated: true,
          description: 'The old format: with mode memories, the best matching chunks of its documents with each.',
        }),
      ),
    }),
  ),
});
export type SearchBody = Static<typeof searchBody>;

const contextEntry = {
  id: Type.String(),
  relation: words(['updates', 'extends', 'derives']),
  memory: Type.String(),
  metadata: jsonObject,
  updatedAt: timestamp,
};

const context = Type.Object(
  {
    parents: Type.Array(
      Type.Object({ ...contextEntry, version: Type.Integer({ description: '-1 is the version before.' }) }),
      { description: 'Earlier versions.' },
    ),
    children: Type.Array(
      Type.Object({ ...contextEntry, version: Type.Integer({ description: '1 is the next version.' }) }),
      { description: 'Later versions.' },
    ),
    related: Type.Array(Type.Object(contextEntry), { description: 'What extends it or was derived.' }),
  },
  { description: 'Of a memory, with include.relatedMemories. At most 10 in each list, nearest first.' },
);

const searchResult = Type.Object({
  id: Type.String({ description: 'Id of the memory or of the chunk.' }),
  memory: Type.Optional(Type.String()),
  chunk: Type.Optional(Type.String()),
  similarity: Type.Number({ description: '0 to 1.' }),
  isAggregated: Type.Optional(
    Type.Literal(true, { description: 'It sums up several memories, for this request alone.' }),
  ),
  containerTag: Type.String(),
  kind: words(['fact', 'episode', 'passage'], {
    description: 'Of a memory: fact or episode. passage: a piece of a document.',
  }),
  ...provenance,
  extractor: nullable(
    Type.String({
      description:
        'What found a memory: rules-1, or llm: and a model. Null for passages and for what was written as a memory.',
    }),
  ),
  metadata: nullable(jsonObject),
  createdAt: timestamp,
  updatedAt: timestamp,
  version: nullable(Type.Integer()),
  rootMemoryId: Type.Optional(nullable(Type.String())),
  filepath: nullable(Type.String()),
  chunks: Type.Optional(
    Type.Array(
      Type.Object({
        content: Type.String(),
        documentId: Type.String(),
        position: Type.Integer(),
        score: Type.Number(),
      }),
      { description: 'Only with include.chunks.', deprecated: true },
    ),
  ),
  context: Type.Optional(context),
  documents: Type.Optional(
    Type.Array(
      Type.Object({
        id: Type.String(),
        customId: Type.Optional(nullable(Type.String())),
        title: Type.Optional(nullable(Type.String())),
        type: Type.Optional(Type.String()),
        url: Type.Optional(nullable(Type.String())),
        metadata: Type.Optional(jsonObject),
        summary: Type.Optional(nullable(Type.String())),
        createdAt: timestamp,
        updatedAt: timestamp,
      }),
    ),
  ),
});
export type SearchResultAnswer = Static<typeof searchResult>;

export const searchAnswer = Type.Object({
  results: Type.Array(searchResult, { description: 'Best first. Each has either memory or chunk.' }),
  total: Type.Integer(),
  timing: Type.Integer({ description: 'Milliseconds.' }),
});
