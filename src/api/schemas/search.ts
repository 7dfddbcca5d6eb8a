import Type, { type Static } from 'typebox';
import { provenance } from './memories.ts';
import {
  asOf,
  containerTag,
  dateTime,
  containerTags,
  documentStatus,
  filepath,
  filters,
  jsonObject,
  nullable,
  timestamp,
  words,
  type Answered,
} from './shared.ts';

/** Section 14 of the API. */

/** Between which moments the documents of a search lie. */
export const dates = Type.Object(
  {
    from: Type.Optional(dateTime('From this time on.')),
    to: Type.Optional(dateTime('Until this time, which belongs to it.')),
  },
  {
    description:
      'Only documents whose date lies here, as sources[].date of a result tells it, and memories that came from them. A memory that came from no document counts by when it was said.',
  },
);

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
    Type.Number({
      minimum: 0,
      maximum: 1,
      description:
        'Results with a lower similarity are dropped. Default 0.6; without it what ranks before the first that reaches that stays from 0.55 on, and when nothing reaches it, up to five of the nearest are answered, with similarities from 0.3 on.',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default 10.' })),
  filters: Type.Optional(filters),
  filepath: Type.Optional(filepath),
  docId: Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'Only this document: id or customId.' }),
  ),
  dates: Type.Optional(dates),
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
      scores: flag('Add to each result what words and vectors say of it, apart.'),
      chunks: Type.Optional(
        Type.Boolean({
          deprecated: true,
          description: 'The old format: with mode memories, the best matching chunks of its documents with each.',
        }),
      ),
    }),
  ),
  explain: Type.Optional(
    Type.Object(
      { documentId: Type.String({ minLength: 1, maxLength: 255, description: 'Id or customId of a document.' }) },
      { description: 'Says where this document stands for the search, and why it is not shown. Takes a search more.' },
    ),
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
    related: Type.Array(Type.Object(contextEntry), { description: 'Memories that extend it or derive from it.' }),
  },
  { description: 'For a memory, with include.relatedMemories. At most 10 in each list, nearest first.' },
);

const scores = Type.Object(
  {
    words: Type.Number({
      description: '0 to 1: of what the best by words has; 0 where none of the words of the query stands in it.',
    }),
    vectors: nullable(
      Type.Number({ description: '0 to 1: the similarity by meaning alone; null without a vector of the model.' }),
    ),
  },
  { description: 'Its scores by words and by vectors.' },
);

const explanation = Type.Object(
  {
    documentId: nullable(Type.String()),
    title: nullable(Type.String()),
    status: nullable(documentStatus),
    outcome: words(
      ['shown', 'below_limit', 'below_threshold', 'said_by_another', 'left_out', 'not_indexed', 'not_found'],
      {
        description:
          'shown: it is among the results. below_limit: others are better. below_threshold: its similarity is less than the threshold. said_by_another: a result from another document says the same. left_out: what the search is narrowed to does not have it; leftOutBy says by what. not_indexed: nothing of it can be found yet, or it has no text; status says which. not_found: there is no such document that the key may read.',
      },
    ),
    rank: nullable(
      Type.Integer({
        description:
          'From 1: among what reaches the threshold or, where it does not, among all that was ranked. Null: behind all that was ranked, or not ranked.',
      }),
    ),
    ranked: Type.Integer({ description: 'How many were ranked.' }),
    similarity: nullable(Type.Number({ description: 'The similarity of its best text.' })),
    scores: nullable(scores),
    leftOutBy: Type.Array(words(['containerTag', 'filters', 'filepath', 'docId', 'dates', 'asOf'])),
  },
  { description: 'Only with explain.' },
);
export type ExplanationAnswer = Answered<typeof explanation>;

const searchResult = Type.Object({
  id: Type.String({ description: 'Id of the memory or of the chunk.' }),
  memory: Type.Optional(Type.String()),
  chunk: Type.Optional(Type.String()),
  similarity: Type.Number({
    description:
      '0 to 1, and at least that of each result that ranks after it; its own by meaning is among the scores.',
  }),
  scores: Type.Optional(scores),
  isAggregated: Type.Optional(
    Type.Literal(true, { description: 'It sums up several memories, for this request alone.' }),
  ),
  containerTag: Type.String(),
  kind: words(['fact', 'episode', 'passage'], {
    description: 'fact or episode for a memory. passage: a piece of a document.',
  }),
  ...provenance,
  extractor: nullable(
    Type.String({
      description:
        'The extractor of a memory: rules-1, or llm: and a model. Null for passages and for memories that were written as such.',
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
export type SearchResultAnswer = Answered<typeof searchResult>;

export const searchAnswer = Type.Object({
  results: Type.Array(searchResult, { description: 'Best first. Each has either memory or chunk.' }),
  total: Type.Integer(),
  timing: Type.Integer({ description: 'Milliseconds.' }),
  explanation: Type.Optional(explanation),
});
