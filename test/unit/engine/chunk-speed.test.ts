import { describe, expect, it } from 'vitest';
import type { ChunkFormat } from '../../../src/engine/chunk/blocks.ts';
import { chunk } from '../../../src/engine/chunk/chunk.ts';
import { cpuMs } from '../../support/cpu-time.ts';

const size = 1_000_000;
const fill = (part: string) => part.repeat(Math.ceil(size / part.length));

const texts: Record<string, string> = {
  'one line of words': fill('word and other, '),
  'one line of sentences': fill('This is it. '),
  'only newlines': fill('\n'),
  'only spaces': fill(' '),
  'a hundred thousand headings': Array.from(
    { length: 100_000 },
    (_, index) => `${'#'.repeat(1 + (index % 6))} H${index}`,
  ).join('\n'),
  'an unclosed fence': `\`\`\`\n${fill('code line;\n')}`,
  'one word': fill('x'),
  'dots only': fill('.'),
  'a rule that is none': `a\n${fill('-')}x`,
  'pipes only': fill('|'),
  'a long table': `|a|b|\n|-|-|\n${fill('|1|2|\n')}`,
  'families of emoji': fill('👨‍👩‍👧‍👦'),
  'one letter with a million accents': `e${fill('\u0301')}`,
  'a long list': fill('- item\n'),
  'ever deeper indentation': Array.from({ length: 1400 }, (_, index) => `${' '.repeat(index)}- x: 1`).join('\n'),
  'two words far apart': `a\n${fill('\n')}b`,
  'one heading line': `# ${fill('word ')}\ntext`,
  'open brackets': `# ${fill('[')}`,
  'underlined lines': fill('a\n-\n'),
  'short paragraphs': fill('a\n\n'),
  'unspaced sentences': fill('東京に行きます。'),
  'JSON on one line': `[${fill('{"a":1},')}1]`,
};

const formats: ChunkFormat[] = ['text', 'markdown', 'code', 'csv', 'json', 'conversation'];

describe.each(Object.entries(texts))('a million characters: %s', (_, text) => {
  it('are cut in linear time, and into chunks that are not tiny', () => {
    for (const format of formats) {
      let drafts = 0;
      const countTokens = (part: string) => 2 + Math.ceil(part.length / 4);
      const spent = cpuMs(() => {
        drafts = chunk(text, { format, maxTokens: 256, overlapTokens: 32, countTokens }).length;
      });
      // It takes 10 to 300 ms; the square of a million would take hours.
      expect(spent).toBeLessThan(5000);
      expect(drafts).toBeLessThan(5000);
    }
  }, 60_000);
});
