import { describe, expect, it } from 'vitest';
import { MemorydError } from '../../../src/base/errors.ts';
import { pausesMsOf } from '../../../src/base/redrive-pauses.ts';
import { nextAttempt } from '../../../src/engine/document-leases.ts';

const now = new Date('2026-03-01T09:30:00.000Z');
const away = new MemorydError('embed_failed', 'The model is away.');

describe('the pauses before a failed document is processed again', () => {
  const pausesMs = (redrivesMs?: number[]) =>
    [0, 1, 2, 3, 4, 5].map((redrives) => {
      const { status, nextAttemptAt: at } = nextAttempt(away, { attempts: 2, redrives }, now, redrivesMs);
      expect(status).toBe('failed');
      return at && at.getTime() - now.getTime();
    });

  it('are 1 and 5 and 30 minutes, 2 and 12 hours, and then no more', () => {
    expect(pausesMs()).toEqual([60_000, 300_000, 1_800_000, 7_200_000, 43_200_000, null]);
  });

  it('can be chosen', () => {
    expect(pausesMs(pausesMsOf(['10s', '1d']))).toEqual([10_000, 86_400_000, null, null, null, null]);
    expect(pausesMs([])).toEqual([null, null, null, null, null, null]);
  });
});
