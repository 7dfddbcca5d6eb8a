import Type, { type Static } from 'typebox';
import { searchBody as legacyBody } from '../../schemas/search.ts';
import { jsonObject, nullable, timestamp, words, type Answered } from '../../schemas/shared.ts';
import { closedBody, filter, times } from './shared.ts';

const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

export const searchBody = closedBody({
  query: legacyBody.properties.q,
  searchMode: Type.Optional(
    words(['hybrid', 'memories', 'chunks'], {
      description:
        'hybrid: memories and chunks in one list, one line for each thing that is said. memories and chunks: nothing else. Default hybrid.',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default 10.' })),
  threshold: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1, description: 'Results with a lower similarity are dropped. Default 0.3.' }),
  ),
  filter: Type.Optional(filter),
  include: Type.Optional(
    closedBody({
      documents: flag('Add the source document.'),
      related: flag('Add earlier, later and related memories.'),
      forgotten: flag('Also forgotten and expired memories.'),
    }),
  ),
  rerank: Type.Optional(
    words(['none', 'order', 'aggregate'], {
      description:
        'order: score the best results again, word by word, where the embedding model can. aggregate: also merge passages that follow each other, and add statements that sum up several memories, where there is a language model. Default none.',
    }),
  ),
  rewriteQuery: flag('Search a query that asks for several things also by its parts.'),
});
export type SearchBody = Static<typeof searchBody>;

export const documentOfMemory = Type.Object({
  id: Type.String(),
  title: nullable(Type.String()),
  type: Type.String(),
  metadata: jsonObject,
  summary: nullable(Type.String()),
  system: Type.Object(times),
});

const relatedMemory = {
  id: Type.String(),
  relation: words(['updates', 'extends', 'derives']),
  version: Type.Optional(Type.Integer({ description: 'How many versions before (below 0) or after.' })),
  memory: Type.String(),
  metadata: jsonObject,
  system: Type.Object({ updatedAt: timestamp }),
};

const related = (member: ReturnType<typeof Type.Object>) =>
  Type.Object({
    parents: Type.Array(member, { description: 'Earlier versions, nearest first.' }),
    children: Type.Array(member, { description: 'Later versions, nearest first.' }),
    siblings: Type.Array(member, { description: 'Memories that extend it or derive from it, in either direction.' }),
  });

const relatedMemories = related(Type.Object(relatedMemory));
export const relatedMemoriesWithDocuments = related(
  Type.Object({ ...relatedMemory, document: Type.Optional(documentOfMemory) }),
);

const searchResult = Type.Object({
  id: Type.String({ description: 'Id of the memory or of the chunk.' }),
  memory: Type.Optional(Type.String()),
  chunk: Type.Optional(Type.String()),
  metadata: jsonObject,
  similarity: Type.Number({ description: '0 to 1; none is above one before it.' }),
  isLatest: Type.Boolean({ description: 'False for a memory that was replaced or forgotten.' }),
  isInference: Type.Boolean(),
  system: Type.Object(times),
  included: Type.Optional(
    Type.Object(
      { related: Type.Optional(relatedMemories), document: Type.Optional(documentOfMemory) },
      {
        description: 'Only when something was asked for.',
      },
    ),
  ),
});
export type SearchResultAnswer = Answered<typeof searchResult>;

export const searchAnswer = Type.Object({
  results: Type.Array(searchResult, { description: 'Best first. Each has either memory or chunk.' }),
  searchTime: Type.Integer({ description: 'Milliseconds.' }),
});
