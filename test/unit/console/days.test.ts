import { expect, it } from 'vitest';
import { dayOf, daysAfter, daysBetween } from '../../../console/src/days.ts';

it('counts days over months, leap days and changes of the clock', () => {
  expect(dayOf(new Date(2026, 2, 1, 0, 30))).toBe('2026-03-01');
  expect(daysBetween('2024-02-28', '2024-03-01')).toBe(2);
  expect(daysBetween('2026-10-24', '2026-10-26')).toBe(2);
  expect(daysAfter('2026-03-28', 2)).toBe('2026-03-30');
  expect(daysAfter('2026-12-31', 1)).toBe('2027-01-01');
  expect(daysBetween('2026-11-24', '2026-11-20')).toBe(-4);
});
