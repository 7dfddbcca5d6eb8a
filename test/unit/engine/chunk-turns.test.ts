import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withContext, chunkTurns, type TurnPlace } from '../../../src/engine/chunk/chunk.ts';
import { conversationOf } from '../../../src/memory/rules/turns.ts';
import { countTokens } from '../../support/count-tokens.ts';

const options = { format: 'conversation', maxTokens: 40, overlapTokens: 4, countTokens } as const;

function cut(text: string, more: { title?: string; maxTokens?: number } = {}) {
  const turns = conversationOf(text, true)!.map(({ start, text: said, role }): TurnPlace => ({
    start: start!,
    length: said.length,
    isMachine: role === 'assistant',
  }));
  return chunkTurns(text, turns, { ...options, ...more });
}

describe('chunks of a conversation', () => {
  const talk = [
    'user: Do you know a good place in Bonn?',
    'assistant: Try the bakery at the old market.',
    'user: I moved there in May. Is it open on Sundays?',
  ].join('\n\n');

  it('are one turn each, with what was said before as context', () => {
    expect(
      cut(talk, { title: 'Bonn', maxTokens: 80 }).map(({ content, context, type }) => [content, context, type]),
    ).toEqual([
      ['user: Do you know a good place in Bonn?', 'Bonn', 'question'],
      ['assistant: Try the bakery at the old market.', 'user: Do you know a good place in Bonn?', 'reply'],
      ['user: I moved there in May. Is it open on Sundays?', 'assistant: Try the bakery at the old market.', 'turn'],
    ]);
  });

  it('keep the end of a long turn as the context of the next', () => {
    const long = `user: ${'I walked along the river. '.repeat(30)}Then I found a ring.`;
    const chunks = cut(`${long}\n\nassistant: Whose was it?`);
    expect(chunks.length).toBeGreaterThan(2);
    expect(chunks.at(-1)!.content).toBe('assistant: Whose was it?');
    expect(chunks.at(-1)!.context).toMatch(/Then I found a ring\.$/);
    expect(long).toContain(chunks.at(-1)!.context);
  });

  it('are stretches that lose nothing, and are never over the limit', () => {
    const said = fc.oneof(fc.lorem({ mode: 'sentences', maxCount: 6 }), fc.string({ unit: 'binary', maxLength: 80 }));
    const talks = fc.array(fc.tuple(fc.constantFrom('user', 'assistant'), said), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(talks, fc.integer({ min: 16, max: 60 }), (lines, maxTokens) => {
        const text = lines.map(([role, words]) => `${role}: ${words.trim() || '-'}`).join('\n\n');
        const chunks = cut(text, { maxTokens });
        const ends = [0, ...chunks.map(({ end }) => end)];
        const gaps = [...chunks.map(({ start }) => start), text.length].map((start, place) => [ends[place]!, start]);
        expect(gaps.filter(([from, to]) => text.slice(from, to).trim() !== '')).toEqual([]);
        expect(chunks.map(({ content }) => content)).toEqual(chunks.map(({ start, end }) => text.slice(start, end)));
        const counted = chunks.map(({ context, content }) => countTokens(withContext(context, content)));
        expect(chunks.map(({ tokenCount }) => tokenCount)).toEqual(counted);
        expect(Math.max(...counted)).toBeLessThanOrEqual(maxTokens);
      }),
    );
  });
});

describe('a conversation', () => {
  it('is a text of turns of several people, or one turn', () => {
    const said = (text: string) => conversationOf(text, false)?.map(({ speaker }) => speaker) ?? null;
    expect(said('Ana: Hello!\nBen: I am here.\nAna: Good.\nBen: Yes.')).toEqual(['Ana', 'Ben', 'Ana', 'Ben']);
    expect(said('Ana: I have two cats.')).toEqual(['Ana']);
    expect(said('The harbour is closed.\nThe ferry waits.')).toBeNull();
    expect(said('Title: Report\nStatus: draft\nWe met and I told you so.')).toBeNull();
    expect(said('From: Ana <ana@example.org>\nTo: ben@example.org\nSubject: Cats\n\nI have two cats.')).toBeNull();
  });
});
