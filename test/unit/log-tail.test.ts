import { expect, it } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { createLogTail } from '../../src/base/log-tail.ts';
import { createTestClock } from '../support/clock.ts';

function createTail() {
  const clock = createTestClock();
  const lines: string[] = [];
  const log = createLogger('info', { write: (line) => void lines.push(line) });
  return { clock, lines, ...createLogTail(log, clock) };
}

it('keeps warnings and errors, newest first, and counts equal ones', () => {
  const { log, warnings, clock, lines } = createTail();
  const firstAt = clock.now();
  log.info('a run began');
  log.warn({ connectionId: 'one' }, 'a partition waits');
  log.error('the queue is gone');
  clock.advance(1_000);
  log.warn({ connectionId: 'one' }, 'a partition waits');
  log.warn({ connectionId: 'two' }, 'a partition waits');
  expect(lines).toHaveLength(5);
  expect(warnings()).toEqual([
    expect.objectContaining({ message: 'a partition waits', count: 1, fields: { connectionId: 'two' } }),
    {
      level: 'warn',
      message: 'a partition waits',
      fields: { connectionId: 'one' },
      count: 2,
      firstAt,
      lastAt: clock.now(),
    },
    expect.objectContaining({ level: 'error', message: 'the queue is gone' }),
  ]);
});

it('keeps of an error its code, and of texts what names parts of memoryd', () => {
  const { log, warnings } = createTail();
  const err = Object.assign(new Error('secret'), { code: 'ECONNREFUSED' });
  const fields = { err, provider: 'imap', title: 'secret', url: 'secret', items: 3, deep: { x: 'secret' } };
  log.child({ part: 'secret' }).warn(fields, 'odd');
  expect(warnings()).toMatchObject([{ message: 'odd', fields: { code: 'ECONNREFUSED', provider: 'imap', items: 3 } }]);
  expect(JSON.stringify(warnings())).not.toContain('secret');
});

it('keeps a bounded number', () => {
  const { log, warnings } = createTail();
  for (let index = 0; index < 300; index++) log.warn({ connectionId: String(index) }, 'a partition waits');
  expect(warnings()).toHaveLength(100);
  expect(warnings()[0]!.fields).toEqual({ connectionId: '299' });
});
