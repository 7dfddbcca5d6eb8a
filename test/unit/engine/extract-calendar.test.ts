import { expect, it } from 'vitest';
import { convert } from '../../../src/engine/extract/convert.ts';
import { toSource } from '../../../src/engine/text/text-worker.ts';

const read = (text: string) =>
  convert(toSource({ kind: 'file', bytes: Buffer.from(text.replaceAll('\n', '\r\n')), name: 'family.ics' }));
const calendar = (...lines: string[]) => ['BEGIN:VCALENDAR', 'VERSION:2.0', ...lines, 'END:VCALENDAR', ''].join('\n');
const event = (...lines: string[]) => calendar('BEGIN:VEVENT', 'UID:0@x', ...lines, 'END:VEVENT');

it('a calendar is its events, each with its time in words, place, text and people', async () => {
  const found = await read(
    calendar(
      'X-WR-CALNAME:Family',
      'BEGIN:VEVENT',
      'DTSTART:20260414T150000Z',
      'DTEND:20260414T160000Z',
      'SUMMARY:Orthodontist\\, Clara',
      'LOCATION:Bahnhofstr. 3',
      'DESCRIPTION:bring the old\n  retainer\\nand the card',
      'ATTENDEE;CN="Mira: at work";ROLE=X:mailto:mira@example.org',
      'BEGIN:VALARM',
      'DESCRIPTION:an alarm',
      'END:VALARM',
      'END:VEVENT',
      'BEGIN:VTODO',
      'SUMMARY:Pay the rent',
      'DUE;VALUE=DATE:20260501',
      'END:VTODO',
    ),
  );
  expect(found).toMatchObject({ title: 'Family', format: 'markdown' });
  expect(found.text.split('\n\n')).toEqual([
    ...['# Family', '## Orthodontist, Clara'],
    'Tuesday, 14 April 2026, 15:00 to 16:00 UTC; Bahnhofstr. 3',
    ...['bring the old retainer\nand the card', 'Mira: at work'],
    ...['## Pay the rent', 'due Friday, 1 May 2026'],
  ]);
});

it.each([
  [['DTSTART;VALUE=DATE:20260619'], 'Friday, 19 June 2026'],
  [['DTSTART;VALUE=DATE:20260619', 'DTEND;VALUE=DATE:20260620'], 'Friday, 19 June 2026'],
  [['DTSTART;VALUE=DATE:20260619', 'DTEND;VALUE=DATE:20260703'], 'Friday, 19 June 2026 to Thursday, 2 July 2026'],
  [['DTSTART;VALUE=DATE:20260619', 'DUE;VALUE=DATE:20260703'], 'Friday, 19 June 2026, due Friday, 3 July 2026'],
  [['DTSTART;TZID=Europe/Berlin:20260619T180000'], 'Friday, 19 June 2026, 18:00 Europe/Berlin'],
  [['DTSTART:20260619T180000', 'RRULE:FREQ=WEEKLY;COUNT=4'], 'Friday, 19 June 2026, 18:00; repeated weekly'],
  [['DTSTART:20260619T180000Z', 'DURATION:PT1H30M'], 'Friday, 19 June 2026, 18:00 to 19:30 UTC'],
  [['DURATION:P1W', 'DTSTART;VALUE=DATE:20260619'], 'Friday, 19 June 2026 to Thursday, 25 June 2026'],
  [['DTSTART:20260619T230000', 'DURATION:P1DT2H'], 'Friday, 19 June 2026, 23:00 to Sunday, 21 June 2026, 01:00'],
  [['DTSTART:20260619T180000', 'DURATION:-PT1H'], 'Friday, 19 June 2026, 18:00'],
  [
    ['DTSTART:20260619T180000Z', 'DTEND:20260620T020000Z'],
    'Friday, 19 June 2026, 18:00 UTC to Saturday, 20 June 2026, 02:00 UTC',
  ],
])('%j is %s', async (lines, when) => {
  expect((await read(event(...lines, 'SUMMARY:Fair'))).text).toBe(`## Fair\n\n${when}`);
});

it('what is no date, or no event, is left out', async () => {
  expect((await read(event('DTSTART:20261341T990000Z', 'no field', 'SUMMARY:'))).text).toBe('## Without a title');
});

it('a calendar without events stays as it is', async () => {
  expect((await read(calendar('BEGIN:VFREEBUSY', 'END:VFREEBUSY'))).text).toContain('BEGIN:VFREEBUSY');
});
