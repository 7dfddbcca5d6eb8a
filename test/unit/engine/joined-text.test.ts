import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinedText } from '../../../src/engine/joined-text.ts';

describe('more of a text that is stored', () => {
  it.each([
    ['the same again', 'one\ntwo', 'one\ntwo', null],
    ['the same with other line ends and blanks', 'one\ntwo', 'one  \r\n\r\ntwo\n', null],
    ['its last lines again', 'one\ntwo\nthree', 'two\nthree', null],
    ['the last words of a line are not that line', 'one two', 'two', 'one two\n\ntwo'],
    ['all of it and more', 'one\ntwo', 'one\ntwo\nthree', 'one\ntwo\nthree'],
    ['all of it, and its last line goes on', 'one\ntw', 'one\ntwo', 'one\ntwo'],
    ['all of it with empty lines between, and more', 'one\ntwo', 'one\n\ntwo\n\nthree', 'one\n\ntwo\n\nthree'],
    ['its last line and more', 'one\ntwo\n', 'two\nthree', 'one\ntwo\nthree'],
    ['its last two lines and more', 'a\nb\na\nb', 'a\nb\nc', 'a\nb\na\nb\nc'],
    ['only what is new', 'one', 'two', 'one\n\ntwo'],
    ['what stands in its middle', 'one\ntwo\nthree', 'two', 'one\ntwo\nthree\n\ntwo'],
    ['anything, when there is nothing', ' \n', 'two', 'two'],
  ])('%s', (_name, stored, sent, expected) => {
    expect(joinedText(stored, sent)).toBe(expected);
  });

  it('can be sent as often as one likes', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'ab', ''), { maxLength: 12 }).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(text, text, (stored, sent) => {
        const once = joinedText(stored, sent) ?? stored;
        expect(joinedText(once, sent)).toBeNull();
        for (const line of `${stored}\n${sent}`.split('\n')) expect(once).toContain(line);
      }),
    );
  });
});
