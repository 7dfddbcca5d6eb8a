import { expect, test } from 'vitest';
import { createStatementNames } from '../../../src/store/session-database.ts';

test('a statement has a name from its third use on, and keeps it', () => {
  const names = createStatementNames();
  expect(names.nameOf('select 1')).toBeUndefined();
  expect(names.nameOf('select 1')).toBeUndefined();
  const name = names.nameOf('select 1');
  expect(name).toMatch(/^memoryd_\d+$/);
  expect(names.nameOf('select 1')).toBe(name);
});

test('no two statements share a name', () => {
  const names = createStatementNames();
  const given = ['a', 'b', 'c'].map((text) => [1, 2, 3].map(() => names.nameOf(text)).at(-1));
  expect(new Set(given).size).toBe(3);
});

test('an endless stream of texts gets a bounded number of names, and the early ones stay', () => {
  const names = createStatementNames();
  const use = (text: string) => [1, 2, 3].map(() => names.nameOf(text)).at(-1);
  const first = use('the first');
  const given = Array.from({ length: 1_000 }, (_, index) => use(`text ${index}`)).filter((name) => name !== undefined);
  expect(given).toHaveLength(255);
  expect(names.nameOf('the first')).toBe(first);
});

test('texts that come once do not push out the count of one that comes again now and then', () => {
  const names = createStatementNames();
  for (let round = 0; round < 3; round++) {
    names.nameOf('again');
    for (let index = 0; index < 500; index++) names.nameOf(`once ${round} ${index}`);
  }
  expect(names.nameOf('again')).toBeDefined();
});

test('a long text never gets a name: a named search is kept, big, by every connection', () => {
  const names = createStatementNames();
  const long = `select ${'1, '.repeat(1_000)} 1`;
  expect([1, 2, 3, 4].map(() => names.nameOf(long))).toEqual([undefined, undefined, undefined, undefined]);
});
