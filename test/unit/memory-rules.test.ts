import { describe, expect, it } from 'vitest';
import type { Candidate, Unit } from '../../src/memory/extractor.ts';
import { takesPlaceOf } from '../../src/memory/rules/attribute.ts';
import { findDates, type Direction } from '../../src/memory/rules/dates.ts';
import { rules } from '../../src/memory/rules/extract.ts';
import { turnsOfMessages, turnsOfText } from '../../src/memory/rules/turns.ts';
import { tells, thirdPersonOf } from '../../src/memory/rules/verbs.ts';

const date = new Date('2026-03-04T12:00:00Z');

function extract(text: string, unit: Partial<Unit> = {}): Candidate[] {
  const turns = turnsOfText(text);
  return rules.extract({ turns, date, entityContext: null, author: null, trust: 'told', wants: ['fact'], ...unit });
}

const facts = (text: string, unit: Partial<Unit> = {}) => extract(text, unit).map((one) => one.text);
const episodes = (text: string, unit: Partial<Unit> = {}) => facts(text, { ...unit, wants: ['episode'] });

describe('dates', () => {
  it.each<[string, string, string, Direction]>([
    ['yesterday', '2026-03-03', '2026-03-04', null],
    ['three weeks ago', '2026-02-11', '2026-02-12', null],
    ['next month', '2026-04', '2026-05-01', null],
    ['last month', '2026-02', '2026-03-01', null],
    ['last year', '2025', '2026-01-01', null],
    ['last Friday', '2026-02-27', '2026-02-28', null],
    ['Friday', '2026-02-27', '2026-02-28', 'past'],
    ['Friday', '2026-03-06', '2026-03-07', 'ahead'],
    ['20 March 2027', '2027-03-20', '2027-03-21', null],
    ['March 20th', '2026-03-20', '2026-03-21', null],
    ['2026-12-31', '2026-12-31', '2027-01-01', null],
    ['last week', '2026-02-23', '2026-03-02', null],
    ['last weekend', '2026-02-28', '2026-03-02', null],
  ])('%s is %s, until %s, looking %s', (words, iso, end, direction) => {
    expect(findDates(`It was in ${words}.`, date, direction)).toMatchObject([
      { words, iso, end: new Date(`${end}T00:00:00Z`) },
    ]);
  });

  it('leaves out days that do not exist, weekdays of no certain week, and words that only look like dates', () => {
    expect(findDates('31 February 2026, 2026-13-40, Friday, todays, maybe, for 3 years, I may, he sat', date)).toEqual(
      [],
    );
  });
});

describe('events on certain days', () => {
  it('is the same question, whether somebody has it then or it is moved', () => {
    const [had] = extract('I have night shifts on Tuesdays and Thursdays.');
    const [moved] = extract('My night shifts moved to Fridays.');
    const [other] = extract('My late shifts moved to Fridays.');
    expect(takesPlaceOf(moved!, had!)).toBe(true);
    expect(takesPlaceOf(other!, had!)).toBe(false);
  });
});

describe('things that somebody sold', () => {
  it('is his car, his phone no longer, where it is named alike', () => {
    const [sold] = extract('We sold the Skoda last week.');
    const [car] = extract('Our car is a red Skoda Octavia from 2016.');
    const [other] = extract('Our car is a blue Fiat.');
    const [wish] = extract('My favorite car is a Skoda.');
    expect(takesPlaceOf(sold!, car!)).toBe(true);
    expect(takesPlaceOf(sold!, other!)).toBe(false);
    expect(takesPlaceOf(sold!, wish!)).toBe(false);
    expect(takesPlaceOf(extract('I sold my Pixel 8.')[0]!, extract('My phone is a Pixel 8.')[0]!)).toBe(true);
  });
});

describe('facts', () => {
  it.each([
    ['I live in Porto with my dog.', ["Mira lives in Porto with Mira's dog."]],
    ['I moved to Bonn, can you suggest a gym?', ['Mira moved to Bonn.']],
    ['Did I tell you that I adopted a dog named Rex?', ['Mira adopted a dog named Rex.']],
    ["Since I'm vegetarian, could you swap the chicken for tofu?", ['Mira is vegetarian.']],
    ["I can't drink coffee anymore because of my stomach.", ["Mira can't drink coffee anymore."]],
    ["Remind me that I don't eat gluten anymore.", ["Mira doesn't eat gluten anymore."]],
    ['I can no longer run.', ['Mira can no longer run.']],
    ["My father can't drive any more.", ["Mira's father can't drive any more."]],
    ['Paul no longer does the deliveries.', ['Paul no longer does the deliveries.']],
    ["I don't know anymore, and I no longer need help with that.", []],
    ['Emil turned seven and Ana no longer eats fish.', ['Ana no longer eats fish.']],
    ['I moved to Bonn and Ana works at Bosch.', ['Mira moved to Bonn.', 'Ana works at Bosch.']],
    ['My brothers Emil and Jan moved to Berlin.', ["Mira's brothers Emil and Jan moved to Berlin."]],
    ['I think Anna and Jan moved to Rome.', []],
    [
      'My son Emil, who is six, plays chess on Mondays.',
      ["Mira's son Emil is six.", "Mira's son Emil plays chess on Mondays."],
    ],
    ['I left Siemens in May and started at Bosch.', ['Mira left Siemens in May.', 'Mira started at Bosch.']],
    [
      'My sister Anna lives in Kyiv. She works as a midwife.',
      ["Mira's sister Anna lives in Kyiv.", "Mira's sister Anna works as a midwife."],
    ],
    ['I retook the exam yesterday.', ['Mira retook the exam yesterday (2026-03-03).']],
    ['The API rate limit of Project Falcon is 600.', ['The API rate limit of Project Falcon is 600.']],
    ["I've been vegan since 2018.", ['Mira has been vegan since 2018.']],
    ['I follow 900 people on Instagram.', []],
    ['I was, in Garmisch.', []],
    ['I am learning the language.', []],
    ['I work until July, then I am on leave.', ['Mira works until July (2026-07).']],
    ['I entered the race in Lychen on 6 July.', ['Mira entered the race in Lychen on 6 July.']],
    ['Luca and played the drums and the trumpet.', []],
    ['My wife and started my son moved.', []],
    ['By the way we close on Mondays from May on.', []],
    [
      'The average response time of my endpoint is 420 ms. How is that?',
      ["The average response time of Mira's endpoint is 420 ms."],
    ],
    ['After adding an index I upgraded to Flask 2.3.3, quiz me on it.', ['Mira upgraded to Flask 2.3.3.']],
  ])('%s', (text, expected) => {
    expect(facts(text, { author: 'Mira' })).toEqual(expected);
  });

  it.each([
    'Can you suggest a gym?',
    'If I move to Berlin, I will buy a bike.',
    'I would never live in a big city.',
    'She works at Globex.',
    'You live in Bremen, right?',
    'I heard that Carla is moving to Spain.',
    'My colleague color-codes everything.',
    'I wanna learn to sail.',
    'I think the second option is better.',
    'It was so good to see everyone yesterday!',
    'Thanks, that is exactly what I needed.',
    '# I live in Rome',
    '```\nI live in Rome.\n```',
    '> I live in Rome.',
    'Ich wohne seit zwei Jahren in Leipzig und arbeite als Lehrerin.',
  ])('none in: %s', (text) => {
    expect(facts(text, { author: 'Mira' })).toEqual([]);
  });

  it('are nobody’s where nobody is known to speak', () => {
    expect(facts('I live in Porto. Mette Olsen leads the design team.', { trust: 'read' })).toEqual([
      'Mette Olsen leads the design team.',
    ]);
    expect(facts('I live in Porto.')).toEqual(['The user lives in Porto.']);
    expect(facts('I live in Porto.', { entityContext: 'Mira is a product lead.' })).toEqual(['Mira lives in Porto.']);
  });

  it('go by the name that the speaker gives himself', () => {
    expect(extract('My name is Mira and I live in Porto.')).toMatchObject([
      { text: 'Mira lives in Porto.', subject: 'mira', slot: 'home', value: 'porto' },
    ]);
  });

  it('say where in the text they stand, and expire with what they plan', () => {
    const text = '- Alice prefers tea.\n- I am planning to run the Valencia marathon on 6 December 2026.';
    const found = extract(text);
    expect(found.map(({ span }) => text.slice(span!.start, span!.end))).toEqual([
      'Alice prefers tea.',
      'I am planning to run the Valencia marathon on 6 December 2026.',
    ]);
    expect(found[1]).toMatchObject({ category: 'plan', forgetAfter: new Date('2026-12-07T00:00:00Z') });
  });
});

describe('speakers', () => {
  it('messages stand in the text of their conversation, whoever they are by', () => {
    const conversation = 'user (Caroline): I live in Porto.\n\nassistant: Noted.\n\nuser: I live in Porto.';
    const messages = turnsOfMessages(
      [
        { role: 'user', text: ' I live in Porto.\n', name: 'Caroline' },
        { role: 'tool', text: '' },
        { role: 'assistant', text: 'Noted.' },
        { role: 'user', text: 'I live in Porto.' },
      ],
      conversation,
    );
    const wordsAt = ({ start, text }: { start: number | null; text: string }) =>
      start === null ? null : conversation.slice(start, start + text.length);
    expect(messages.map(({ start }) => start)).toEqual([17, null, 46, 60]);
    expect(messages.map(wordsAt)).toEqual(['I live in Porto.', null, 'Noted.', 'I live in Porto.']);
  });

  it('one line with a name is a turn of that speaker, and nobody else is the user then', () => {
    expect(facts('Caroline: I live in Porto.')).toEqual(['Caroline lives in Porto.']);
    const messages = turnsOfMessages([
      { role: 'user', text: 'I like tea a lot.' },
      { role: 'user', text: 'I live in Porto.', name: 'Caroline' },
    ]);
    expect(facts('', { turns: messages })).toEqual(['Caroline lives in Porto.']);
  });

  it.each([
    [
      'WhatsApp',
      '[12/03/2024, 18:45:12] Lena: I moved to Bonn yesterday.\n[13/03/2024, 09:00:00] Tom: I love chess.',
      '2024-03-11',
    ],
    [
      'WhatsApp of Android',
      '3/14/24, 6:45 PM - Lena: I moved to Bonn yesterday.\n3/14/24, 6:46 PM - Tom: I love chess.',
      '2024-03-13',
    ],
    [
      'Signal',
      '[2024-03-12 18:45] Lena: I moved to Bonn yesterday.\n[2024-03-12 18:46] Tom: I love chess.',
      '2024-03-11',
    ],
    ['IRC', '2024-03-12 18:45 <Lena> I moved to Bonn yesterday.\n2024-03-12 18:46 <Tom> I love chess.', '2024-03-11'],
    [
      'Discord',
      'Lena — 03/14/2024 6:45 PM\nI moved to Bonn yesterday.\nTom — 03/14/2024 6:46 PM\nI love chess.',
      '2024-03-13',
    ],
    [
      'a transcript with its day',
      'Session 1: 1:56 pm on 8 May, 2023\nLena: I moved to Bonn yesterday.\nTom: I love chess.',
      '2023-05-07',
    ],
    ['the words as quoted', 'LENA said, "I moved to Bonn yesterday."', '2026-03-03'],
  ])('%s', (_, text, day) => {
    const [moved] = facts(text);
    expect(moved?.toLowerCase()).toBe(`lena moved to bonn yesterday (${day}).`);
  });

  it('one line of a name is that speaker’s also when nobody says I in it', () => {
    expect(turnsOfText('Nora: Hey Felix! Happy new year.')).toMatchObject([{ speaker: 'Nora' }]);
  });

  it('lists of fields are no turns', () => {
    expect(turnsOfText('Name: Bob\nAge: 34\nCity: Bonn')).toHaveLength(1);
    expect(turnsOfText('Note: I moved.')).toMatchObject([{ speaker: null }]);
  });

  it('the words of a mail are its author’s, without what it quotes, forwards and signs with', () => {
    const mail = [
      '# Holidays',
      '',
      'From: Lena Vogt <lena@example.org>',
      'To: Tom <tom@example.org>',
      'Date: 2024-05-02T10:00:00.000Z',
      '',
      'I moved to Bonn yesterday.',
      '',
      'Best regards,',
      'Lena',
      '',
      'On Wed, 1 May 2024 at 09:00, Tom wrote:',
      '> I live in Rome.',
    ].join('\n');
    expect(extract(mail, { trust: 'read' })).toMatchObject([
      {
        text: 'Lena Vogt moved to Bonn yesterday (2024-05-01).',
        author: 'Lena Vogt',
        subject: 'lena vogt',
        saidAt: new Date('2024-05-02T10:00:00Z'),
      },
    ]);
    expect(facts(`From: News <news@mail.example.org>\nTo: me@example.org\n\nI live in Rome.\nUnsubscribe`)).toEqual([]);
  });
});

describe('newer answers', () => {
  const replaces = (older: string, newer: string) =>
    extract(newer).some((one) =>
      extract(older).some(
        (before) => before.subject === one.subject && before.text !== one.text && takesPlaceOf(one, before),
      ),
    );

  it.each([
    ['I live in Aachen near the station.', 'I relocated to Mainz.'],
    ['I work at Siemens.', 'I left Siemens for Bosch.'],
    ['I work at Siemens.', 'I no longer work at Siemens.'],
    ['I use Vim as my editor.', 'I switched from Vim to Helix.'],
    ["I'm vegetarian.", "I'm no longer vegetarian."],
    ['I smoke.', 'I quit smoking last year.'],
    ['I have two cats.', 'I now have 3 cats.'],
    [
      "I've finished 12 of the 20 chapters of my design book.",
      "I've now finished 15 of the 20 chapters of my design book.",
    ],
    ['My test coverage is 55%.', "I've increased my test coverage to 70%."],
    ['The API rate limit of Project Falcon is 600.', 'The API rate limit of Project Falcon is now 1200.'],
    ['My meeting with Sarah is on Tuesday at 3 pm.', 'My meeting with Sarah got moved to Thursday at 10 am.'],
    ["I'm using Flask 2.3.1.", "I've updated to Flask 2.3.3."],
    ['I do yoga twice a week.', 'I now do yoga four times a week.'],
    ['I keep my old sneakers under my bed.', 'I moved my old sneakers to the shoe rack in my closet.'],
    ['My car is a Honda Civic.', 'My car is now a Toyota Yaris.'],
    ['I drive a 2014 Opel Corsa.', 'I traded my Opel Corsa for a Kia Niro.'],
    ['I live in a shared flat in Malmö.', 'We finally moved to Lund last weekend.'],
    ['The launch of our app is planned for 3 May.', 'We had to postpone the launch of our app to 24 May.'],
    ["Our volleyball team's record is 3-2.", "Our volleyball team's record is now 5-2."],
    ["I don't eat dairy.", 'I eat dairy again.'],
    ["I'm single.", 'We got married last Saturday.'],
  ])('%s → %s', (older, newer) => {
    expect(replaces(older, newer)).toBe(true);
  });

  it.each([
    ['I work at Siemens.', 'I will start by reading the manual.'],
    ['I work at Siemens.', 'This dress works for Audrey.'],
    ['I work at Siemens.', 'I joined a gym.'],
    ['I live in Bonn.', 'I lived in Rome when I was a kid.'],
    ['I live in Bonn.', 'My sister lives in Kyiv.'],
    ['I live in Bonn.', 'We moved to Slack for chats.'],
    ['I use Vim.', 'I switched from Windows to Fedora.'],
    ['I have two cats.', 'I bought 3 cats of clay.'],
    ["I've read 14 books so far.", "I've bought 20 books so far."],
    ['The API rate limit of Project Falcon is 600.', 'The API rate limit of Project Heron is now 300.'],
    ['My meeting with Sarah is on Tuesday at 3 pm.', 'My meeting with Dana is on Friday at 3 pm.'],
    ['I do yoga twice a week.', 'I do laundry once a week.'],
    ['The admin rate limit is 100.', 'The rate limit is now 300.'],
    ['I have a meeting with Sarah on 3 May.', 'I have a meeting with Sarah on 9 June.'],
    ['My credit score is 720.', "My husband's credit score is now 690."],
  ])('%s ↛ %s', (older, newer) => {
    expect(replaces(older, newer)).toBe(false);
  });
});

describe('texts that are handed over', () => {
  it.each([
    'Translate this into Polish: I live in Warsaw. I work at Nordwind.',
    'Please proofread the following:\nI moved to Bonn. I am allergic to nuts.',
    'Could you rewrite this for me: My name is Tom, I like chess.',
  ])('tell nothing of whoever hands them over: %s', (text) => {
    expect(facts(text)).toEqual([]);
  });

  it('come after what is told', () => {
    expect(facts('Check this out: it is sunny. I live in Porto.')).toEqual(['The user lives in Porto.']);
    expect(facts('I live in Porto. Translate this: I live in Warsaw.')).toEqual(['The user lives in Porto.']);
  });
});

describe('episodes', () => {
  it('are not made of what an assistant asks and wishes', () => {
    const said = (text: string) =>
      extract(text, {
        wants: ['episode'],
        turns: [{ speaker: null, role: 'assistant', text, start: 0, date: null }],
      }).map((one) => one.text);
    expect(said('Good to know, Ines! How can I help today?')).toEqual([]);
    expect(said("I'm sorry to hear that. Did the technician find the cause?")).toEqual([]);
    expect(said('The relay of your Miwe oven costs 85 euros. Shall I order it?')).toEqual([
      'On 4 March 2026 the assistant said: The relay of your Miwe oven costs 85 euros.',
    ]);
  });

  it.each([
    ['We met Anna on Friday.', 'We met Anna on Friday (2026-02-27).'],
    ['The review was moved to Friday.', 'The review was moved to Friday (2026-03-06).'],
    ['Lena will call on Friday.', 'Lena will call on Friday (2026-03-06).'],
    ['Jonas moved to Lisbon in May.', 'Jonas moved to Lisbon in May.'],
    ['It was cold. I like tea.', 'It was cold. Mira likes tea.'],
    ['It was cold. my brother likes tea.', "It was cold. Mira's brother likes tea."],
  ])('name the day that was or will be: %s', (text, told) => {
    const [first] = episodes(`Mira: ${text}\nTom: Good to know, thank you.`);
    expect(first!.split('said: ')[1]).toBe(told);
  });

  it('say who said what on which day, in the third person and in the words of the turn', () => {
    expect(episodes('Lena: Hey! I moved to Bonn yesterday, and my cat hates it.\nTom: Wow, nice!')).toEqual([
      "On 4 March 2026 Lena said: Lena moved to Bonn yesterday (2026-03-03), and Lena's cat hates it.",
    ]);
  });

  it('are bounded, and keep the sentences with names and numbers', () => {
    const long = `Lena: I met Prof. Okafor on 3 May 2025. ${'Some words about nothing at all follow here. '.repeat(80)}`;
    const [only] = episodes(long);
    expect(only!.length).toBeLessThan(800);
    expect(only).toContain('Okafor');
  });
});

describe('any text', () => {
  const words =
    'I my sister Anna and but then started left Siemens for Bosch works have 3 cats 1200 to from on Monday, that . ? is are moved Bonn the of "x" (y) - ; > # with said if since After adding 8:30 $5 we you it no longer quit smoking Lena: \n'.split(
      ' ',
    );

  it('is read to its end, and what is found stands where it says', () => {
    let state = 1;
    const next = (limit: number) => (state = (state * 48_271) % 2_147_483_647) % limit;
    for (let count = 0; count < 400; count += 1) {
      const text = Array.from({ length: 3 + next(50) }, () => words[next(words.length)]).join(' ');
      for (const { span } of extract(text, { wants: ['fact', 'episode'] })) {
        expect(span === null || (span.start < span.end && span.end <= text.length)).toBe(true);
      }
    }
  });
});

describe('words', () => {
  it('are never made up', () => {
    expect(thirdPersonOf('retook')).toBeNull();
    expect(thirdPersonOf('wanna')).toBeNull();
    expect(['carry', 'study', 'watch', 'go', 'live'].map(thirdPersonOf)).toEqual([
      null,
      'studies',
      'watches',
      'goes',
      'lives',
    ]);
    expect([tells('move'), tells('think')]).toEqual([true, false]);
  });
});
