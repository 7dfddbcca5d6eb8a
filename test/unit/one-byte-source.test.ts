import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { oneByteSource } from '../../scripts/one-byte-source.ts';

const wide = /[^\0-\xff]/;
/** So that there is enough other text. */
const filler = `/* ${'other code '.repeat(20)} */`;
const run = (code: string) => runInNewContext(code.replace('export default', '')) as unknown;

describe('source in one byte for each character', () => {
  it.each([
    ['text', `export default "it’s … 💩";`],
    ['a template', 'export default `it’s ${"…"} 💩`;'],
    ['a character that is escaped and need not be', String.raw`export default "\’ \\’ \\\’";`],
    ['an expression', 'export default /^[’–—]+$/.test("’–");'],
    ['an expression of code points', 'export default /^[💩]$/u.test("💩");'],
  ])('has the same value: %s', (_what, code) => {
    const written = oneByteSource(code + filler);
    expect(written).not.toMatch(wide);
    expect(run(written)).toEqual(run(code));
  });

  it('leaves a template alone whose tag may look at what is written', () => {
    const code = 'export default String.raw`it’s` + "…";' + filler;
    const written = oneByteSource(code);
    expect(written).not.toContain('…');
    expect(run(written)).toBe('it’s…');
  });

  it('leaves code alone that would become larger', () => {
    const table = `export default "${'ぬ'.repeat(100)}";`;
    expect(oneByteSource(table)).toBe(table);
  });
});
