import { describe, expect, it } from 'vitest';
import { chunk } from '../../../src/engine/chunk/chunk.ts';
import type { ChunkFormat } from '../../../src/engine/chunk/blocks.ts';
import { countTokens } from '../../support/count-tokens.ts';

const vocabulary =
  'station wind rain sensor battery gateway winter summer mast cable grease signal reading value storm calm harbour valley snow ice funnel bearing'.split(
    ' ',
  );

/** Numbers that are the same on each run (a linear congruential generator). */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function paragraph(next: (below: number) => number): string {
  return Array.from({ length: 2 + next(5) }, () => {
    const words = Array.from({ length: 6 + next(12) }, () => vocabulary[next(vocabulary.length)]!);
    return `The ${words.join(' ')}.`;
  }).join(' ');
}

function document(sections: number, seed = 7): string[] {
  const next = numbers(seed);
  return Array.from({ length: sections }, (_, section) =>
    [`## Section ${section}`, ...Array.from({ length: 1 + next(6) }, () => paragraph(next))].join('\n\n'),
  );
}

const contents = (text: string, format: ChunkFormat, overlapTokens = 0) =>
  chunk(text, { format, maxTokens: 128, overlapTokens, countTokens, title: 'Report' }).map(
    ({ context, content }) => `${context}\n${content}`,
  );

/** The share of the chunks before that are there after, byte for byte. */
function kept(before: string[], after: string[]): number {
  const there = new Set(after);
  return before.filter((each) => there.has(each)).length / before.length;
}

const added = 'A sentence that was not there before tells of a lightning strike.';
const insertAt = (text: string, share: number) => {
  const place = text.indexOf('. ', Math.floor(text.length * share)) + 2;
  return `${text.slice(0, place)}${added} ${text.slice(place)}`;
};

describe('an edit in a document of a hundred chunks', () => {
  const markdown = document(48).join('\n\n');
  const flat = document(40)
    .map((section) => section.replace(/^## .*\n\n/, ''))
    .join('\n\n');
  const line = flat.replace(/\n\n/g, ' ');

  it('is tried on documents of that size', () => {
    for (const text of [contents(markdown, 'markdown'), contents(flat, 'text'), contents(line, 'text')]) {
      expect(text.length).toBeGreaterThanOrEqual(90);
    }
  });

  it.each([0.02, 0.31, 0.5, 0.77, 0.95])('at %f of Markdown leaves at least 97 %% of them as they are', (share) => {
    for (const overlap of [0, 20]) {
      expect(
        kept(contents(markdown, 'markdown', overlap), contents(insertAt(markdown, share), 'markdown', overlap)),
      ).toBeGreaterThan(0.97);
    }
  });

  it.each([0.02, 0.31, 0.5])('at %f of text without headings leaves at least 90 %% of them', (share) => {
    expect(kept(contents(flat, 'text'), contents(insertAt(flat, share), 'text'))).toBeGreaterThan(0.9);
    expect(kept(contents(line, 'text'), contents(insertAt(line, share), 'text'))).toBeGreaterThan(0.9);
  });

  it('that removes or adds a whole section leaves the others', () => {
    const sections = document(48);
    const without = sections.toSpliced(20, 1).join('\n\n');
    expect(kept(contents(without, 'markdown'), contents(markdown, 'markdown'))).toBeGreaterThan(0.97);
  });

  it('at the end leaves all but the last', () => {
    const before = contents(markdown, 'markdown');
    const after = contents(`${markdown}\n\n## Last\n\n${added}`, 'markdown');
    expect(after.slice(0, before.length - 2)).toEqual(before.slice(0, -2));
  });
});
