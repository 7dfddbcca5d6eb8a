import fc from 'fast-check';
import picomatch from 'picomatch';
import { describe, expect, it } from 'vitest';
import { compileGlob, GlobProblem } from '../../../src/base/glob.ts';

const matches = (glob: string, path: string) => compileGlob(glob)(path);

describe('globs', () => {
  const table: [glob: string, taken: string[], left: string[]][] = [
    ['*.md', ['a.md', '/a.md'], ['deep/a.md', 'a.mdx', 'md', 'a.md.txt', 'a.md/b']],
    ['a/*/c', ['a/b/c'], ['a/c', 'a/b/b/c', 'a/b/c/d']],
    ['a/**/c', ['a/c', 'a/b/c', 'a/b/b/c'], ['a', 'c', 'b/a/c']],
    ['docs/**', ['docs', 'docs/a', 'docs/x/y'], ['other/docs/a', 'docsx/a']],
    ['**', ['a', 'a/b'], []],
    ['?.txt', ['a.txt', 'ü.txt', '😀.txt'], ['ab.txt', '.txt']],
    ['[a-c]x', ['ax', 'cx'], ['dx', '-x']],
    ['[!a-c]x', ['dx'], ['ax']],
    ['[]]x', [']x'], ['x']],
    ['{a,b/c}.{jpg,jpeg}', ['a.jpg', 'b/c.jpeg'], ['a.png', 'c.jpg', 'a.{jpg,jpeg}']],
    ['[{]a,b[}]', ['{a,b}'], ['a', 'b', '[{]a[}]']],
    ['a+(b)', ['a+(b)'], ['ab', 'abb']],
    ['a\\b', ['a\\b'], ['ab']],
  ];

  it.each(table)('%s', (glob, taken, left) => {
    for (const path of taken) expect(matches(glob, path), path).toBe(true);
    for (const path of left) expect(matches(glob, path), path).toBe(false);
  });

  it.each(['', '/', '///', '[a', '[', '{a', 'a}', '{a,{b,c}}', 'x'.repeat(4_097), '{a,b}'.repeat(7)])(
    'refuses %j',
    (glob) => {
      expect(() => compileGlob(glob)).toThrow(GlobProblem);
    },
  );

  it('agrees with picomatch where both mean the same', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b', '.'), minLength: 1, maxLength: 3 });
    const part = fc.oneof(
      { weight: 4, arbitrary: fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), minLength: 1, maxLength: 4 }) },
      { weight: 1, arbitrary: fc.constantFrom('**', '{a,b*}', '[ab]', '[^a]') },
    );
    // Names of dots alone and runs of stars mean something of their own there.
    const plain = (text: string) => !/(^|\/)\.+(\/|$)/.test(text);
    const globs = fc.array(part, { minLength: 2, maxLength: 5 }).map((parts) => parts.join('/'));
    const paths = fc.array(name, { minLength: 1, maxLength: 6 }).map((names) => names.join('/'));
    fc.assert(
      fc.property(
        globs.filter((glob) => !/[^/]\*\*|\*\*[^/]/.test(glob)),
        paths.filter(plain),
        (glob, path) => {
          expect(matches(glob, path)).toBe(picomatch(glob, { dot: true, noextglob: true })(path));
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it('needs no more steps for a hostile pattern than its length times that of the path', () => {
    // An expression that backtracks would not come back from any of these.
    expect(matches('*a'.repeat(100) + 'b', 'a'.repeat(4_000))).toBe(false);
    expect(matches('**/a/'.repeat(80) + 'b', 'a/'.repeat(1_000) + 'c')).toBe(false);
    expect(matches('{a,a}'.repeat(6) + '*'.repeat(200) + 'c', 'a'.repeat(4_000))).toBe(false);
  });
});
