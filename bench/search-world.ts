import { terms } from '../src/engine/terms.ts';
import { insertChunks, type ChunkWrite } from '../src/store/document-contents.ts';
import type { Database } from '../src/store/database.ts';
import { sql } from '../src/store/sql.ts';
import { createRandom } from './corpus.ts';

export const worldModel = { id: 'bench', dimensions: 384 } as const;
const latentDimensions = 32;
const clusters = 2_000;
const vocabularySize = 30_000;
/** As if the most common words were stop words. */
const skippedRanks = 30;
const wordsPerChunk = 80;
const chunksPerDocument = 5;
const batchSize = 500;

/** Texts by Zipf's law over many words, and vectors in clusters of fewer dimensions than they have, as real ones are. */
export interface SearchWorld {
  text(words: number): string;
  vector(): Float32Array;
}

export function createSearchWorld(seed: number): SearchWorld {
  const random = createRandom(seed);
  const gaussian = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const gaussians = (length: number) => Float32Array.from({ length }, gaussian);
  const vocabulary = createVocabulary(random);
  const basis = Array.from({ length: latentDimensions }, () => gaussians(worldModel.dimensions));
  const centers = Array.from({ length: clusters }, () => gaussians(latentDimensions));
  return {
    text: (words) => Array.from({ length: words }, () => vocabulary(random())).join(' '),
    vector() {
      const latent = centers[Math.floor(random() * clusters)]!.map((value) => value + gaussian() / 2);
      const vector = gaussians(worldModel.dimensions).map((value) => value * 2);
      for (const [index, weight] of latent.entries()) {
        for (const [place, value] of basis[index]!.entries()) vector[place]! += weight * value;
      }
      const length = Math.hypot(...vector);
      return vector.map((value) => value / length);
    },
  };
}

/** Words of two to four syllables; the number picks one, common ones more often. */
function createVocabulary(random: () => number): (number: number) => string {
  const words = new Set<string>();
  const letter = (of: string) => of[Math.floor(random() * of.length)]!;
  while (words.size < vocabularySize) {
    const syllables = 2 + Math.floor(random() * 3);
    words.add(Array.from({ length: syllables }, () => letter('bdfghjklmnprstvz') + letter('aeiou')).join(''));
  }
  const ordered = [...words];
  // The inverse of Zipf's cumulative distribution, log((rank + skipped) / skipped) up to a factor.
  const range = Math.log((vocabularySize + skippedRanks) / skippedRanks);
  return (number) => ordered[Math.min(Math.floor(skippedRanks * (Math.exp(number * range) - 1)), vocabularySize - 1)]!;
}

/** Fills the store with chunks of container `bench`. */
export async function fillSearchWorld(database: Database, world: SearchWorld, count: number): Promise<void> {
  const now = new Date('2026-03-01T00:00:00.000Z');
  for (let start = 0; start < count; start += batchSize) {
    const chunks = Array.from({ length: Math.min(batchSize, count - start) }, (_, index) =>
      chunkOf(world, start + index),
    );
    const documents = [...new Set(chunks.map((chunk) => chunk.documentId))];
    await database.transaction(async (tx) => {
      await tx.execute(sql`
        insert into documents (id, container_tag, status, type, content_hash, created_at, updated_at)
        select id, 'bench', 'done', 'text', id, ${now}, ${now} from unnest(${documents}::text[]) as d(id)`);
      await insertChunks(tx, chunks, now);
    });
  }
  await database.script('vacuum analyze');
}

function chunkOf(world: SearchWorld, number: number): ChunkWrite {
  const content = world.text(wordsPerChunk);
  const found = terms(content);
  return {
    id: `c${String(number).padStart(9, '0')}`,
    documentId: `d${String(Math.floor(number / chunksPerDocument)).padStart(9, '0')}`,
    containerTag: 'bench',
    position: number % chunksPerDocument,
    content,
    context: null,
    type: 'text',
    tokenCount: 128,
    contentHash: String(number),
    terms: found.terms,
    termCounts: found.counts,
    termTotal: found.total,
    languages: [],
    embedding: world.vector(),
    embeddingModel: worldModel.id,
  };
}
