import { describe, expect, it } from 'vitest';
import { findDates } from '../../src/memory/dates.ts';
import type { Candidate } from '../../src/memory/extractor.ts';
import { createHeuristicExtractor } from '../../src/memory/heuristic-extractor.ts';
import { turnsOfText } from '../../src/memory/turns.ts';

const date = new Date('2026-03-04T12:00:00Z');
const extract = (text: string, entityContext: string | null = null): Promise<Candidate[]> =>
  createHeuristicExtractor().extract({ turns: turnsOfText(text), date, entityContext }, new AbortController().signal);
const texts = async (text: string, entityContext?: string) =>
  (await extract(text, entityContext)).map((one) => one.text);

describe('dates', () => {
  it.each([
    ['yesterday', '2026-03-03', '2026-03-04'],
    ['three weeks ago', '2026-02-11', '2026-02-12'],
    ['next month', '2026-04', '2026-05-01'],
    ['last Friday', '2026-02-27', '2026-02-28'],
    ['20 March 2027', '2027-03-20', '2027-03-21'],
    ['March 20th', '2026-03-20', '2026-03-21'],
    ['2026-12-31', '2026-12-31', '2027-01-01'],
    ['last week', '2026-02-23', '2026-03-02'],
  ])('%s', (words, iso, end) => {
    expect(findDates(`It was ${words}.`, date)).toMatchObject([{ words, iso, end: new Date(`${end}T00:00:00Z`) }]);
  });

  it('leaves out days that do not exist, and words that only look like dates', () => {
    expect(findDates('31 February 2026, 2026-13-40, todays, maybe', date)).toEqual([]);
  });
});

describe('the heuristic extractor', () => {
  it('tells what somebody says in the third person, by name', async () => {
    expect(
      await texts('Caroline: I live in Porto with my dog.\nMelanie: I really like tea.\nCaroline: I do not own a car.'),
    ).toEqual([
      "Caroline lives in Porto with Caroline's dog.",
      'Melanie really likes tea.',
      'Caroline does not own a car.',
    ]);
    expect(
      await texts('user: My name is Mira. I no longer work at Acme.\n\nassistant: I see that you like tea a lot.'),
    ).toEqual(['Mira is called Mira.', 'Mira no longer works at Acme.']);
    expect(await texts('I live in Porto.')).toEqual(['The user lives in Porto.']);
    expect(await texts('I live in Porto.', 'Mira is a product lead.')).toEqual(['Mira lives in Porto.']);
  });

  it('resolves dates, and lets plans expire after them', async () => {
    const [went, leave] = await extract('I went to the museum yesterday. I will be on leave until 20 March 2027.');
    expect(went).toMatchObject({
      text: 'The user went to the museum yesterday (2026-03-03).',
      kind: 'event',
      forgetAfter: null,
    });
    expect(went).toMatchObject({ eventDates: ['2026-03-03'] });
    expect(leave).toMatchObject({ kind: 'plan', forgetAfter: new Date('2027-03-21T00:00:00Z') });
  });

  it('leaves out questions, small talk and sentences without a subject', async () => {
    expect(await texts('What do you think? Thanks a lot! It was nice there. She works at Globex. Wow, great!')).toEqual(
      [],
    );
    expect(await texts('# Heading is here\n\n```\nThis is code and not text.\n```')).toEqual([]);
  });

  it('knows whom he and she are after one person was named', async () => {
    expect(await texts('Bob works at Acme in Rome. He likes cats a lot.')).toEqual([
      'Bob works at Acme in Rome.',
      'Bob likes cats a lot.',
    ]);
  });

  it.each([
    ['I moved to Berlin.', 'home', 'berlin', false],
    ['I no longer work at Acme.', 'employer', 'acme', true],
    ['I joined Globex last week.', 'employer', 'globex', false],
    ["I don't like mushrooms.", 'taste:mushrooms', 'dislikes', false],
    ['I love mushrooms now.', 'taste:mushrooms', 'likes', false],
    ['My time zone is Europe/Berlin.', 'attribute:time zone', 'europe/berlin', false],
    ['The weekly review moved to Thursday.', 'schedule', 'thursday', false],
  ])('%s is %s = %s', async (text, slot, value, ends) => {
    expect(await extract(text)).toMatchObject([{ slot, value, ends }]);
  });

  it('says where in the text each statement stands', async () => {
    const text = '- Alice prefers tea.\n- The harbour crane lifts containers at dawn.';
    const spans = (await extract(text)).map(({ span }) => text.slice(span!.start, span!.end));
    expect(spans).toEqual(['Alice prefers tea.', 'The harbour crane lifts containers at dawn.']);
  });
});
