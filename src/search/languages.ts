import { createGathering } from '../base/concurrency.ts';
import { languageCodes } from '../engine/languages.ts';
import type { Database } from '../store/database.ts';
import { readLanguages } from '../store/text-languages.ts';

/** The languages of the texts in containers, or of all texts, by ISO 639-1 code. */
export type LanguageReader = (containerTags: readonly string[] | null) => Promise<readonly string[]>;

/** Searches of the same containers at the same time read together. */
export function createLanguageReader(database: Database): LanguageReader {
  return createGathering<readonly string[] | null, readonly string[]>({
    async run(scopes) {
      const read = new Map<string, Promise<string[]>>();
      return Promise.all(
        scopes.map((tags) => {
          const key = JSON.stringify(tags);
          const reading = read.get(key) ?? readLanguages(database, tags, languageCodes);
          read.set(key, reading);
          return reading;
        }),
      );
    },
    most: Infinity,
  });
}
