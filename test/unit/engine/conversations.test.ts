import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeMessages, renderMessages, type Message } from '../../../src/engine/conversations.ts';

const turns = (text: string): Message[] =>
  [...text].map((letter, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', text: letter }));
const user = (text: string): Message => ({ role: 'user', text });
const said = (messages: readonly Message[]) => messages.map((message) => message.text).join('');

describe('a conversation that is sent again', () => {
  it.each([
    ['with more turns takes these', 'ab', 'abcd', 'abcd'],
    ['as it is changes nothing', 'abc', 'abc', 'abc'],
    ['from its middle changes nothing', 'abcde', 'cd', 'abcde'],
    ['edited is replaced from the edit on', 'abcd', 'abxy', 'abxy'],
    ['shorter at its end changes nothing', 'abcd', 'ab', 'abcd'],
    ['with nothing in common is appended', 'ab', 'xy', 'abxy'],
    ['with its last turns and new ones is not doubled', 'abcd', 'cdef', 'abcdef'],
  ])('%s', (_, stored, sent, expected) => {
    const all = (letters: string) => [...letters].map((letter) => user(letter));
    expect(said(mergeMessages(all(stored), all(sent)))).toBe(expected);
  });

  it('is compared by role, name and text, whatever the white space', () => {
    const stored = [user('Hello  there ')];
    expect(mergeMessages(stored, [user('Hello there')])).toEqual(stored);
    expect(mergeMessages(stored, [{ role: 'assistant', text: 'Hello there' }])).toHaveLength(2);
    expect(mergeMessages(stored, [{ ...user('Hello there'), name: 'Mira' }])).toHaveLength(2);
    expect(
      mergeMessages([{ role: 'tool', text: '', tool_call_id: '1' }], [{ role: 'tool', text: '', tool_call_id: '2' }]),
    ).toHaveLength(2);
  });

  it('never loses a turn that was sent, and comes to rest', () => {
    const conversation = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(conversation, conversation, (stored, sent) => {
        const [before, more] = [turns(stored.join('')), turns(sent.join(''))];
        const after = mergeMessages(before, more);
        const keys = after.map(({ role, text }) => role[0] + text).join(' ');
        const wanted = more.map(({ role, text }) => role[0] + text).join(' ');
        expect(keys).toContain(wanted);
        expect(mergeMessages(after, more)).toEqual(after);
      }),
    );
  });

  it('is shown as one line for each turn with text', () => {
    expect(
      renderMessages([
        { role: 'user', name: 'Mira', text: ' Move it? ' },
        { role: 'assistant', text: '', tool_calls: [{}] },
        { role: 'assistant', text: 'Done.' },
      ]),
    ).toBe('user (Mira): Move it?\n\nassistant: Done.');
  });
});
