import type { Embedder } from './embedder.ts';
import { dotProduct } from './vector.ts';

/** A short text as one would ask for it, and one that a memory may hold. */
interface TextPair {
  query: string;
  document: string;
}

/** Pairs about one thing, from near paraphrase to question and answer. */
const relatedPairs: readonly TextPair[] = [
  { query: 'The meeting was moved to Thursday afternoon.', document: 'We will now meet on Thursday after lunch.' },
  { query: 'How can I get my money back?', document: 'Refunds are paid to your card within five working days.' },
  { query: 'She is allergic to peanuts.', document: 'Anna cannot eat nuts; they make her throat swell.' },
  { query: 'database backup schedule', document: 'PostgreSQL is dumped every night at two and kept for a week.' },
  { query: 'Who leads the design team?', document: 'Maria became head of design in March.' },
  { query: 'My flight lands at eight in Berlin.', document: 'Trip to Berlin: arrival 20:05, hotel near the station.' },
  { query: 'The server runs out of memory under load.', document: 'Heap usage grows until the process is killed.' },
  { query: 'favourite music', document: 'He listens to jazz records every evening.' },
  { query: 'What is the notice period for the flat?', document: 'The lease can be ended with three months notice.' },
  { query: 'We bought a puppy last week.', document: 'Their new dog chewed through another pair of shoes.' },
  { query: 'deadline of the quarterly report', document: 'The numbers for Q3 are due on the tenth of October.' },
  { query: 'How do I install the package?', document: 'Run npm install, then start the daemon.' },
];

/**
 * Cosines of the related pairs, and of each query with every document that belongs to another one.
 * The texts are ours, in English, and fixed: the figures of two models can be compared.
 */
export async function measureRelatedness(
  embed: Embedder['embed'],
): Promise<{ related: number[]; unrelated: number[] }> {
  const [queries, documents] = [relatedPairs.map((pair) => pair.query), relatedPairs.map((pair) => pair.document)];
  const queryVectors = await embed(queries, { kind: 'query' });
  const documentVectors = await embed(documents, { kind: 'document' });
  const [related, unrelated] = [[] as number[], [] as number[]];
  for (const [queryIndex, query] of queryVectors.entries()) {
    for (const [documentIndex, document] of documentVectors.entries()) {
      (queryIndex === documentIndex ? related : unrelated).push(dotProduct(query, document));
    }
  }
  return { related, unrelated };
}

/**
 * The cosine from which on two texts count as related: midway between the value that nine of ten
 * related pairs exceed and the one that 95 of 100 unrelated ones stay below.
 */
export function relatedThreshold({ related, unrelated }: { related: number[]; unrelated: number[] }): number {
  return (quantile(related, 0.1) + quantile(unrelated, 0.95)) / 2;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(share * (sorted.length - 1))]!;
}
