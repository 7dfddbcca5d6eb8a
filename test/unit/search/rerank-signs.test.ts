import { describe, expect, it } from 'vitest';
import { signsOfAnswer } from '../../../src/search/rerank.ts';

describe('signs of an answer', () => {
  it.each([
    ['When is the concert?', 'On 29 March in the church.', 1],
    ['When is the concert?', 'It begins at 19:30.', 1],
    ['What day is the market?', 'We went there on Saturday.', 1],
    ['When is the concert?', 'In the church by the river.', 0],
    ['How much is the rent?', 'It is 870, which is steep.', 1],
    ['How old is Luca?', 'Nine since January.', 1],
    ['How many people came?', 'Nobody did.', 0],
    ['Who sings the solo?', 'On 29 March in the church.', 0],
  ])('%s %s: %i', (query, text, signs) => {
    expect(signsOfAnswer(query)(text, 'text')).toBe(signs);
    expect(signsOfAnswer(query)(`Maya: ${text}`, 'turn')).toBe(signs);
  });

  it('are more where it is said by whom the query names, by the first name', () => {
    const signs = signsOfAnswer("What is Nora's job?");
    expect(signs('Nora: I sing.', 'turn')).toBe(1);
    expect(signs('Nora Byrne: I sing.', 'turn')).toBe(1);
    expect(signs('On 3 May 2025 Nora said: Nora sings.', 'episode')).toBe(1);
    expect(signs('Felix: Nora sings.', 'turn')).toBe(0);
    expect(signs('Nora: a name that is no speaker', 'text')).toBe(0);
    expect(signsOfAnswer('How long did Nora sing?')('Nora: For 2 hours.', 'turn')).toBe(2);
  });
});
