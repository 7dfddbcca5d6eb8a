import type { Findings, Remembering } from '../memory/remember.ts';
import type { Database } from '../store/database.ts';
import type { Work } from './write-plan.ts';
import { writtenOf } from './written-by.ts';

/** What documents with `dreaming: "instant"` say; null when there are none. Other documents are read after they are done. */
export async function findInstant(
  { remembering, database }: { remembering?: Remembering; database: Database },
  works: readonly Work[],
  signal: AbortSignal,
): Promise<Findings | null> {
  const texts = works
    .filter(({ document }) => document.dreaming === 'instant')
    .map(({ document: { id, revision }, extracted, isTranscript }) => {
      const { author, writtenAt } = writtenOf(extracted);
      return { id, revision, text: extracted.text, isTranscript, author, writtenAt };
    });
  return remembering && texts.length > 0 ? remembering.findIn(database, texts, signal) : null;
}
