import { describe, expect, it } from 'vitest';
import { mergePassages } from '../../../src/search/results.ts';
import type { SearchResult } from '../../../src/search/search.ts';

const passage = (document: string, position: number, text: string, similarity: number) =>
  ({
    id: `${document}-${position}`,
    kind: 'chunk',
    text,
    similarity,
    position,
    documents: [{ id: document }],
  }) as SearchResult;
const shown = (results: SearchResult[]) => mergePassages(results).map(({ id, text }) => [id, text]);

describe('passages that follow each other', () => {
  it('become one in the order of their text, with the id of the best', () => {
    const results = [
      passage('a', 2, 'It ends here for good. The last one.', 0.9),
      passage('b', 1, 'Of another document.', 0.8),
      passage('a', 1, 'The first one. It ends here for good.', 0.7),
      passage('a', 4, 'Further below.', 0.6),
    ];
    expect(shown(results)).toEqual([
      ['a-2', 'The first one. It ends here for good. The last one.'],
      ['b-1', 'Of another document.'],
      ['a-4', 'Further below.'],
    ]);
  });

  it('are parted where they have nothing in common but a letter', () => {
    expect(shown([passage('a', 0, 'Rates a', 0.9), passage('a', 1, 'and after', 0.8)])).toEqual([
      ['a-0', 'Rates a\n\nand after'],
    ]);
  });

  it('leaves memories as they are', () => {
    const memory = {
      id: 'm',
      kind: 'memory',
      text: 'Mira rows.',
      position: null,
      documents: [{ id: 'a' }],
    } as unknown as SearchResult;
    expect(shown([memory, passage('a', 0, 'Mira rows.', 0.5)])).toEqual([
      ['m', 'Mira rows.'],
      ['a-0', 'Mira rows.'],
    ]);
  });
});
