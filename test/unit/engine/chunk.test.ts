import { describe, expect, it } from 'vitest';
import { chunk, type ChunkOptions, withContext } from '../../../src/engine/chunk/chunk.ts';
import { countTokens } from '../../support/count-tokens.ts';

const cut = (text: string, options: Partial<ChunkOptions> = {}) =>
  chunk(text, { format: 'markdown', maxTokens: 60, overlapTokens: 0, countTokens, ...options });
const contents = (text: string, options: Partial<ChunkOptions> = {}) =>
  cut(text, options).map((draft) => draft.content);

const words = (count: number, word = 'word') =>
  Array.from({ length: count }, (_, index) => `${word}${index}`).join(' ');
const sentences = (count: number, start = 0) =>
  Array.from({ length: count }, (_, index) => `Sentence number ${start + index} says something new.`).join(' ');

describe('chunks', () => {
  it('of a short text are one, as it is', () => {
    const text = '\n\n  # Title\n\nSome text.\n\n';
    expect(cut(text)).toEqual([
      {
        position: 0,
        content: '  # Title\n\nSome text.',
        context: null,
        type: 'text',
        tokenCount: 7,
        start: 2,
        end: 23,
      },
    ]);
  });

  it('of nothing are none', () => {
    for (const text of ['', ' \n\t\n', '\u00a0\ufeff\u3000']) expect(cut(text)).toEqual([]);
  });

  it('are counted with their context, by the embedder', () => {
    const drafts = cut(`# Title\n\n## Part\n\n${sentences(30)}`, { title: 'Book' });
    expect(drafts.length).toBeGreaterThan(3);
    for (const { content, context, tokenCount } of drafts) {
      expect(tokenCount).toBe(countTokens(withContext(context, content)));
      expect(tokenCount).toBeLessThanOrEqual(60);
    }
  });
});

describe('contexts', () => {
  it('are the headings above, without those in the chunk', () => {
    const text = `# Guide\n\n${sentences(4)}\n\n## The *first* [part](x) ##\n\n${sentences(4, 10)}\n\n### Deep\n\n${sentences(4, 20)}\n\n## Second\n\n${sentences(4, 30)}`;
    expect(cut(text).map(({ context }) => context)).toEqual([null, 'Guide', 'Guide > The first part', 'Guide']);
  });

  it('begin with the title, once', () => {
    const text = `# Guide\n\n${sentences(4)}\n\n## Part\n\n${sentences(4, 10)}`;
    expect(cut(text, { title: 'Guide' }).map(({ context }) => context)).toEqual([null, 'Guide']);
    expect(cut(text, { title: 'Book\n' }).map(({ context }) => context)).toEqual(['Book', 'Book > Guide']);
    expect(cut('plain', { title: 'Book', format: 'text' })[0]!.context).toBe('Book');
  });

  it('name the place of the document before its title', () => {
    const place = 'trips/lisbon/plan.md';
    const text = `# Guide\n\n${sentences(4)}\n\n## Part\n\n${sentences(4, 10)}`;
    const contexts = cut(text, { title: 'Guide', place }).map(({ context }) => context);
    expect(contexts).toEqual([place, `${place} > Guide`]);
    expect(cut('plain', { title: 'Book', place, format: 'text' })[0]!.context).toBe(`${place} > Book`);
    expect(cut('plain', { place, format: 'text' })[0]!.context).toBe(place);
  });

  it('name the section that a chunk goes on with', () => {
    const drafts = cut(`# Guide\n\n## Part\n\n${sentences(20)}`);
    expect(drafts[0]!.context).toBe(null);
    expect(drafts.slice(1).every(({ context }) => context === 'Guide > Part')).toBe(true);
  });

  it('leave at least three quarters of a chunk to the content', () => {
    const long = words(40, 'title');
    const drafts = cut(`# ${long}\n\n## Short\n\n${sentences(12)}`, { title: long });
    expect(drafts.length).toBeGreaterThan(2);
    for (const { context } of drafts) expect(countTokens(context ?? '')).toBeLessThanOrEqual(15 + 2);
    expect(drafts.at(-1)!.context).toBe('Short');
  });

  it('are shortened by whole characters until they fit', () => {
    const [, ...later] = cut(`# ${'😀'.repeat(30)}\n\n${sentences(12)}`, {
      countTokens: (text) => text.length,
      maxTokens: 80,
    });
    for (const { context } of later) expect(context).toMatch(/^(?:😀){7}$/u);
    expect(later.length).toBeGreaterThan(2);
  });

  it('come from headings with lines under them too', () => {
    const text = `Guide\n=====\n\nPart\n----\n\n${sentences(20)}`;
    expect(cut(text).at(-1)!.context).toBe('Guide > Part');
  });
});

describe('sections', () => {
  it('of fair size stand alone', () => {
    const section = (name: string) => `## ${name}\n\n${sentences(3)}`;
    expect(contents([section('A'), section('B'), section('C')].join('\n\n'))).toEqual(['A', 'B', 'C'].map(section));
  });

  it('that are small are gathered', () => {
    const text = Array.from({ length: 12 }, (_, index) => `## Q${index}\n\nYes, of course.`).join('\n\n');
    const found = contents(text);
    expect(found.length).toBeLessThan(6);
    for (const content of found) expect(content).toMatch(/^## Q/);
  });

  it('keep their heading with what follows it', () => {
    const text = `${sentences(6)}\n\n## Heading\n\n${sentences(8)}`;
    for (const content of contents(text)) expect(content).not.toMatch(/## Heading$/);
  });
});

describe('blocks', () => {
  it('of code are kept whole, or cut at blank lines', () => {
    const code = '```ts\nconst a = 1;\n\nconst b = 2;\n```';
    expect(contents(`${sentences(6)}\n\n${code}\n\n${sentences(6)}`).filter((each) => each.includes('const'))).toEqual([
      expect.stringContaining(code),
    ]);
    const groups = Array.from(
      { length: 8 },
      (_, index) => `def f${index}():\n    x = ${index}\n    return x + ${index}`,
    );
    for (const content of contents(`\`\`\`py\n${groups.join('\n\n')}\n\`\`\``)) {
      expect(content.replace(/^```py\n|\n```$/g, '')).toMatch(/^def[^]*\d$/);
    }
  });

  it('of code do not end at headings in them, and reach to the end when nothing closes them', () => {
    const drafts = cut(
      `\`\`\`sh\n${Array.from({ length: 20 }, (_, index) => `# comment ${index}\nrun it`).join('\n')}`,
    );
    expect(drafts.length).toBeGreaterThan(1);
    expect(drafts.every(({ context }) => context === null)).toBe(true);
  });

  it('that are tables repeat their header', () => {
    const rows = Array.from({ length: 20 }, (_, index) => `| item ${index} | ${index} EUR |`);
    const header = '| Item | Price |\n|---|---:|';
    const found = cut(`Prices:\n${header}\n${rows.join('\n')}\n\nThat is all.`);
    expect(found.length).toBeGreaterThan(2);
    for (const { content } of found) expect(content).toContain(header);
    expect(found.at(-1)!.content).toContain('That is all.');
    const kept = found.flatMap(({ content }) => content.split('\n').filter((line) => line.startsWith('| item')));
    expect(kept).toEqual(rows);
  });

  it('that are tables with padded cells repeat their header without the padding', () => {
    const rows = Array.from({ length: 20 }, (_, index) => `| item ${index}     | ${index} EUR    |`);
    const header = `| Item       | Price      |\n|${'-'.repeat(60)}|${'-'.repeat(12)}|`;
    const found = contents(`${header}\n${rows.join('\n')}`, { maxTokens: 100 });
    expect(found.length).toBeGreaterThan(2);
    for (const content of found.slice(1))
      expect(content).toMatch(/^\| Item \| Price \|\n\|---\|---\|\n\| item \d+ {5}\|/);
  });

  it('that are lists are cut between their items', () => {
    const items = Array.from(
      { length: 12 },
      (_, index) => `- Item ${index} has a text\n  and a second line\n\n  - with a part`,
    );
    for (const content of contents(items.join('\n'))) {
      expect(content).toMatch(/^- Item/);
      expect(content).toMatch(/- with a part$/);
    }
  });

  it('that are introduced by a colon stay with their introduction', () => {
    const list = Array.from({ length: 4 }, (_, index) => `- choice ${index}`).join('\n');
    const found = contents(`${sentences(4)}\n\nThe choices are:\n\n${list}\n\n${sentences(4, 10)}`);
    expect(found.filter((content) => content.includes('The choices are:\n\n- choice 0'))).toHaveLength(1);
  });

  it('of front matter are no headings', () => {
    const drafts = cut(`---\ntitle: x\ntags: [a]\n---\n# Real\n\n${sentences(12)}`);
    expect(drafts[0]!.content).toMatch(/^---\ntitle: x/);
    expect(drafts.at(-1)!.context).toBe('Real');
  });

  it('of prose are cut between sentences', () => {
    const found = contents(sentences(30), { format: 'text' });
    expect(found.length).toBeGreaterThan(3);
    for (const content of found) expect(content).toMatch(/^Sentence[^]*new\.$/);
    expect(found.join(' ')).toBe(sentences(30));
  });

  it('of prose are not cut after abbreviations and in numbers', () => {
    const text = Array.from(
      { length: 12 },
      () => 'Dr. J. Weber paid approx. 3.5 million to the U.S. firm on 3. Mai 2024.',
    ).join(' ');
    for (const content of contents(text, { format: 'text', maxTokens: 40 }))
      expect(content).toMatch(/^Dr\.[^]*2024\.$/);
  });

  it('of Chinese and Japanese prose are cut after its full stops', () => {
    const found = contents('明日の会議は十時からです。遅れないでください。'.repeat(30), { format: 'text' });
    expect(found.length).toBeGreaterThan(2);
    for (const content of found) expect(content).toMatch(/。$/);
  });
});

describe('other formats', () => {
  it('source code is cut before definitions', () => {
    const code = Array.from(
      { length: 10 },
      (_, index) => `export function f${index}() {\n  const x = ${index};\n\n  return x;\n}`,
    ).join('\n\n');
    for (const content of contents(code, { format: 'code' })) expect(content).toMatch(/^export function[^]*\}$/);
  });

  it('JSON is cut between its values', () => {
    const json = JSON.stringify(
      Array.from({ length: 12 }, (_, id) => ({ id, tags: ['a', 'b'], name: `n${id}` })),
      null,
      2,
    );
    const found = contents(json, { format: 'json' });
    expect(found.length).toBeGreaterThan(2);
    for (const content of found.slice(1)) expect(content).toMatch(/^ {2}\{\n/);
  });

  it('tables without a rule have one header line', () => {
    const csv = `name,age\n${Array.from({ length: 60 }, (_, index) => `person${index},${index}`).join('\n')}`;
    const found = contents(csv, { format: 'csv' });
    expect(found.length).toBeGreaterThan(2);
    for (const content of found) expect(content).toMatch(/^name,age\nperson/);
  });
});

describe('overlap', () => {
  it('is the last whole sentences of the chunk before', () => {
    const drafts = cut(sentences(30), { format: 'text', overlapTokens: 16 });
    for (const [index, draft] of drafts.entries()) {
      const before = drafts[index - 1];
      if (!before) continue;
      const repeated = sentences(30).slice(draft.start, before.end);
      expect(repeated).toMatch(/^Sentence number \d+ says something new\.$/);
      expect(draft.content.startsWith(repeated)).toBe(true);
    }
    expect(drafts.length).toBeGreaterThan(4);
  });

  it('does not cross headings, nor reach into code', () => {
    const section = (name: string) => `## ${name}\n\n${sentences(5)}`;
    const drafts = cut(`${section('A')}\n\n${section('B')}`, { overlapTokens: 16 });
    for (const [index, draft] of drafts.entries())
      expect(draft.start).toBeGreaterThanOrEqual(drafts[index - 1]?.end ?? 0);
    const code = Array.from({ length: 40 }, (_, index) => `Call me. Now ${index}.`).join('\n');
    const pieces = cut(code, { format: 'code', overlapTokens: 16 });
    for (const [index, draft] of pieces.entries())
      expect(draft.start).toBeGreaterThanOrEqual(pieces[index - 1]?.end ?? 0);
  });
});
