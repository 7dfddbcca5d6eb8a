import { describe, expect, it } from 'vitest';
import { filterForm, filtersOf } from '../../../console/src/filter-form.ts';
import { intervalOf, scheduleWords, sentSchedule, standard } from '../../../console/src/schedules.ts';

describe('filters in a form', () => {
  it('are what they were, with those that the form does not know', () => {
    const filters = { include: ['*.md', 'docs/'], maxBytes: 2_500_000, labels: ['work'], updatedSince: '2026-01-02' };
    const form = filterForm(filters);
    expect(form).toEqual({ include: '*.md\ndocs/', exclude: '', maxMegabytes: '2.5', updatedSince: '2026-01-02' });
    expect(filtersOf(form, filters)).toEqual(filters);
    expect(filtersOf(form)).not.toHaveProperty('labels');
  });

  it('keep the time of a day, until another day is chosen', () => {
    const filters = { updatedSince: '2026-01-02T08:00:00Z' };
    const form = filterForm(filters);
    expect(filtersOf(form, filters)).toEqual(filters);
    expect(filtersOf({ ...form, updatedSince: '2026-02-03' }, filters)).toEqual({ updatedSince: '2026-02-03' });
    expect(filtersOf({ ...form, updatedSince: '' }, filters)).toEqual({});
  });

  it('leave out what is empty', () => {
    const empty = filterForm({});
    expect(filtersOf(empty)).toEqual({});
    expect(filtersOf({ ...empty, include: ' \n drafts/ \n', maxMegabytes: ' ' })).toEqual({ include: ['drafts/'] });
  });
});

describe('schedules', () => {
  it.each([
    ['4h', 'Every 4 hours'],
    ['1d', 'Every day'],
    ['0 */4 * * *', 'Every 4 hours'],
    ['90m', 'Every 90 minutes'],
    ['0 6 * * * Europe/Berlin', 'Every morning at 6'],
    ['0 6 * * * UTC', '0 6 * * * UTC'],
    [null, 'Only when I ask for it'],
  ])('%s is %s', (schedule, words) => {
    expect(scheduleWords(schedule, 'Europe/Berlin')).toBe(words);
  });

  it('are sent as the API takes them', () => {
    expect([standard, 'manual', ' 10m'].map(sentSchedule)).toEqual([{}, { schedule: null }, { schedule: '10m' }]);
  });
});

describe('the interval of a source', () => {
  it('is told in the largest unit that has no rest', () => {
    expect(intervalOf(undefined)).toBeUndefined();
    expect([4 * 3_600_000, 90 * 60_000, 60_000, 90_000].map(intervalOf)).toEqual(['4h', '90m', '1m', '90s']);
  });
});
