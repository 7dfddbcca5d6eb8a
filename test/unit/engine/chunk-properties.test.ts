import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChunkFormat } from '../../../src/engine/chunk/blocks.ts';
import { chunk, type ChunkDraft, type ChunkOptions, withContext } from '../../../src/engine/chunk/chunk.ts';
import { countTokens } from '../../support/count-tokens.ts';

const formats: ChunkFormat[] = ['text', 'markdown', 'code', 'csv', 'json', 'conversation'];
const counters: Record<string, (text: string) => number> = {
  words: countTokens,
  characters: (text) => text.length,
  bytes: (text) => 1 + Math.ceil(Buffer.byteLength(text) / 3),
};

/** Anything that Unicode has, with what gives texts their structure strewn in. */
const soup = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.lorem({ mode: 'sentences', maxCount: 4 }) },
      { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
      { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
      {
        weight: 3,
        arbitrary: fc.constantFrom(
          '\n',
          '\n\n',
          '\n# Heading\n',
          '\n### Deep heading ###\n',
          '\n```js\n',
          '\n~~~\n',
          '\n- item\n',
          '\n  1. item\n',
          '| a | b |\n|---|---|\n',
          '| 1 | 2 |\n',
          '\n===\n',
          '---\n',
          '    code\n',
          '\t',
          ' ',
          '\r',
          '\u2028',
          '。',
          'user: ',
          '}\n',
          '{"a":\n',
          '👨‍👩‍👧‍👦',
          'e\u0301\u0302',
          'x'.repeat(300),
          '  \n  \n',
        ),
      },
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(''));

const options = fc.record({
  format: fc.constantFrom(...formats),
  maxTokens: fc.integer({ min: 16, max: 200 }),
  overlapTokens: fc.integer({ min: 0, max: 12 }),
  counter: fc.constantFrom(...Object.keys(counters)),
  title: fc.option(fc.string({ maxLength: 80 }), { nil: undefined }),
});
type Options = typeof options extends fc.Arbitrary<infer Value> ? Value : never;

function run(text: string, { counter, title, ...rest }: Options): { drafts: ChunkDraft[]; chunkOptions: ChunkOptions } {
  const chunkOptions = { ...rest, countTokens: counters[counter]!, ...(title === undefined ? {} : { title }) };
  return { drafts: chunk(text, chunkOptions), chunkOptions };
}

const holds = (property: (text: string, options: Options) => void) =>
  fc.assert(fc.property(soup, options, property), { numRuns: 1000 });

describe('chunks of any text', { timeout: 120_000 }, () => {
  it('are numbered, ascend, and are stretches of it', () => {
    holds((text, given) => {
      const { drafts } = run(text, given);
      for (const [index, draft] of drafts.entries()) {
        const before = drafts[index - 1];
        expect(draft.position).toBe(index);
        expect(draft.start).toBeGreaterThan(before?.start ?? -1);
        expect(draft.end).toBeGreaterThan(before?.end ?? 0);
        const stretch = text.slice(draft.start, draft.end);
        expect(
          given.format === 'markdown' || given.format === 'csv'
            ? draft.content.endsWith(stretch)
            : draft.content === stretch,
        ).toBe(true);
      }
    });
  });

  it('do not start where the one before does, whatever blank lines stand between', () => {
    const text = 'Lobortis felis non.\n\nFelis. Sapien felis integer ut. Lorem.';
    const { drafts } = run(text, {
      format: 'text',
      maxTokens: 20,
      overlapTokens: 7,
      counter: 'characters',
      title: undefined,
    });
    const starts = drafts.map((draft) => draft.start);
    expect(starts).toEqual([...new Set(starts)]);
  });

  it('are never empty, never over the limit, and counted as they are embedded', () => {
    holds((text, given) => {
      const { drafts, chunkOptions } = run(text, given);
      for (const { content, context, tokenCount } of drafts) {
        expect(content.trim()).not.toBe('');
        expect(context).not.toBe('');
        expect(tokenCount).toBeLessThanOrEqual(given.maxTokens);
        expect(tokenCount).toBe(chunkOptions.countTokens(withContext(context, content)));
      }
    });
  });

  it('lose nothing that is not white space', () => {
    holds((text, given) => {
      let covered = 0;
      for (const { start, end } of run(text, given).drafts) {
        expect(text.slice(covered, Math.max(covered, start)).trim()).toBe('');
        covered = Math.max(covered, end);
      }
      expect(text.slice(covered).trim()).toBe('');
    });
  });

  it('never split a surrogate pair', () => {
    holds((text, given) => {
      for (const { content, context } of run(text.toWellFormed(), given).drafts) {
        expect(content.isWellFormed()).toBe(true);
        expect(context?.isWellFormed() ?? true).toBe(true);
      }
    });
  });

  it('are the same each time', () => {
    holds((text, given) => {
      expect(run(text, given).drafts).toEqual(run(text, given).drafts);
    });
  });

  it('hold each word of prose whole', () => {
    fc.assert(
      fc.property(fc.lorem({ mode: 'sentences', maxCount: 60 }), options, (text, given) => {
        const { drafts } = run(text, { ...given, counter: 'words' });
        const found = new Set(drafts.flatMap(({ content }) => content.split(/\s+/)));
        for (const word of text.split(/\s+/)) expect(found).toContain(word);
      }),
    );
  });

  it('leave graphemes whole where there is room', () => {
    const family = '👨‍👩‍👧‍👦';
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 20, max: 60 }), (count, maxTokens) => {
        const drafts = chunk(family.repeat(count), {
          format: 'text',
          maxTokens,
          overlapTokens: 0,
          countTokens: (text) => text.length,
        });
        for (const { content } of drafts) expect(content).toBe(family.repeat(content.length / family.length));
      }),
    );
  });
});
