import { expect, it } from 'vitest';
import { wrongKeysOf } from '../../../console/src/wrong-keys-of.ts';

const now = new Date('2026-03-02T12:00:00.000Z');
const event = (at: string, address: string | null, count = 1) => ({ at: `2026-03-${at}:00.000Z`, address, count });

it('tells the wrong keys of the last day that nobody looked at, and from where they were', () => {
  const events = [
    event('02T11:00', '10.0.0.5', 4),
    event('02T10:00', '10.0.0.9'),
    event('02T09:00', '10.0.0.5'),
    event('02T08:00', null),
    event('01T11:00', '10.0.0.1', 100),
  ];
  expect(wrongKeysOf(events, { now, seenUntil: '' })).toEqual({ count: 7, addresses: ['10.0.0.5', '10.0.0.9'] });
  const seenUntil = event('02T09:00', null).at;
  expect(wrongKeysOf(events, { now, seenUntil })).toEqual({ count: 5, addresses: ['10.0.0.5', '10.0.0.9'] });
  expect(wrongKeysOf(events, { now: new Date('2026-03-03T12:00:00Z'), seenUntil: '' }).count).toBe(0);
});
