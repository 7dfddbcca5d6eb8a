import { beforeEach, describe, expect, test } from 'vitest';
import { createBackupSchedule } from '../../src/backups.ts';
import { MemorydError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let clock: TestClock;
/** Of each backup that is there, the oldest first. */
let made: Date[];
let kept: (number | null)[];
let trouble: Error | null;

beforeEach(() => {
  clock = createTestClock('2026-03-01T09:00:00.000Z');
  made = [];
  kept = [];
  trouble = null;
});

function open(schedule: string) {
  const make = async (keep: number | null) => {
    if (trouble) throw trouble;
    kept.push(keep);
    made.push(clock.now());
    return { name: 'backup', at: clock.now(), path: '/backups/backup', bytes: 1 };
  };
  const backups = { make, lastAt: async () => made.at(-1) ?? null };
  return createBackupSchedule({ backups, schedule, keep: 7, clock, log: silentLogger })!;
}

const at = (time: string) => new Date(`2026-03-${time}.000Z`);

describe('backups at a time of day', () => {
  test('begin at once, and go on at their time', async () => {
    const backups = open('0 3 * * * Europe/Berlin');
    await backups.runDue();
    expect(made).toEqual([at('01T09:00:00')]);
    expect(await backups.state()).toEqual({
      ...{ schedule: '0 3 * * * Europe/Berlin', keep: 7, failure: null, isOverdue: false },
      lastAt: at('01T09:00:00'),
      nextAt: at('02T02:00:00'),
    });
    clock.advance(17 * hourMs - 1);
    await backups.runDue();
    expect(made).toHaveLength(1);
    clock.advance(1);
    await backups.runDue();
    clock.advance(dayMs);
    await backups.runDue();
    expect(made.slice(1)).toEqual([at('02T02:00:00'), at('03T02:00:00')]);
    expect(kept).toEqual([7, 7, 7]);
  });

  test('that came while the daemon was off are made when it starts', async () => {
    made = [at('01T09:00:00')];
    clock.advance(3 * dayMs);
    const backups = open('0 3 * * *');
    expect(await backups.state()).toMatchObject({ isOverdue: true, nextAt: at('02T03:00:00') });
    await backups.runDue();
    expect(made).toHaveLength(2);
    expect(await backups.state()).toMatchObject({ isOverdue: false, nextAt: at('05T03:00:00') });
  });
});

test('a backup on demand counts, and an interval begins with it', async () => {
  const backups = open('1d');
  made.push(clock.now());
  clock.advance(dayMs - 1);
  await backups.runDue();
  expect(made).toHaveLength(1);
  clock.advance(1);
  await backups.runDue();
  expect(made).toHaveLength(2);
});

test('one that fails is told, and tried again after an hour', async () => {
  const backups = open('0 9 * * *');
  trouble = new MemorydError('disk_full', 'The disk is full.');
  await backups.runDue();
  const failure = { at: at('01T09:00:00'), reason: 'The disk is full.' };
  const nextAt = at('01T10:00:00');
  expect(await backups.state()).toMatchObject({ lastAt: null, failure, nextAt, isOverdue: false });
  trouble = null;
  clock.advance(hourMs - 1);
  await backups.runDue();
  expect(made).toEqual([]);
  clock.advance(2);
  expect(await backups.state()).toMatchObject({ isOverdue: true });
  await backups.runDue();
  expect(made).toHaveLength(1);
  expect(await backups.state()).toMatchObject({ failure: null, isOverdue: false });
});

test('one that is made on demand at this moment is no failure, and what others say stays in the log', async () => {
  const backups = open('1d');
  trouble = new MemorydError('conflict', 'A backup is being made already.');
  await backups.runDue();
  expect(await backups.state()).toMatchObject({ failure: null });
  trouble = new Error('EACCES: open');
  await backups.runDue();
  expect(await backups.state()).toMatchObject({ failure: { reason: 'See the log of the daemon.' } });
});

test('without a schedule none is made by itself', () => {
  expect(open('manual')).toBeNull();
});
