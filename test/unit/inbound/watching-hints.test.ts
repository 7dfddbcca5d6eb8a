import { expect, test } from 'vitest';
import type { Hint } from '../../../src/connector/contract.ts';
import { createHintGathering } from '../../../src/inbound/watching.ts';
import type { RequestedSync } from '../../../src/store/connections.ts';
import { createTestClock } from '../../support/clock.ts';

const debounceMs = 250;

function open({ canLookUp = true } = {}) {
  const clock = createTestClock();
  const startMs = clock.now().getTime();
  const stop = new AbortController();
  const asked: { atMs: number; sync: RequestedSync; late: string | null }[] = [];
  const hint = createHintGathering({
    clock,
    debounceMs,
    canLookUp,
    signal: stop.signal,
    request: async (sync, late) => void asked.push({ atMs: clock.now().getTime() - startMs, sync, late }),
    failed: (error) => {
      throw error;
    },
  });
  return {
    asked,
    hint,
    stop,
    /** Moves the time on in steps, so that everybody who wakes has their turn; before each step `act` is called. */
    async pass(ms: number, act: () => void = () => {}) {
      for (let passed = 0; passed < ms; passed += 50) {
        act();
        clock.advance(50);
        await new Promise(setImmediate);
      }
    },
    setBack: (ms: number) => clock.advance(-ms),
  };
}

const changed = (...ids: string[]): Hint => ({ partition: '/notes', ids });
const idsOf = (asked: { sync: RequestedSync }[]) => asked.map(({ sync }) => sync.hints?.['/notes']);

test('hints that come within a moment are one request', async () => {
  const { hint, pass, asked } = open();
  hint(changed('a'));
  hint(changed('b', 'a'));
  await pass(1_000);
  expect(idsOf(asked)).toEqual([['a', 'b']]);
  expect(asked[0]!.atMs).toBe(debounceMs);
});

test('a file that never rests is asked for ever more rarely, and others at once', async () => {
  const { hint, pass, asked } = open();
  await pass(60_000, () => hint(changed('log')));
  expect(asked.length).toBeLessThan(15);
  const before = asked.length;
  hint(changed('note'));
  await pass(debounceMs);
  expect(idsOf(asked.slice(before))).toEqual([['note']]);
});

test('the last change of a file that never rested is asked for within ten seconds', async () => {
  const { hint, pass, asked } = open();
  await pass(60_000, () => hint(changed('log')));
  const before = asked.length;
  hint(changed('log'));
  await pass(10_000 + debounceMs);
  expect(idsOf(asked.slice(before))).toEqual([['log']]);
});

test('a file that rested is asked for at once again', async () => {
  const { hint, pass, asked } = open();
  await pass(60_000, () => hint(changed('log')));
  await pass(40_000);
  const before = asked.length;
  hint(changed('log'));
  await pass(debounceMs);
  expect(asked).toHaveLength(before + 1);
});

test('a source that hints at everything without end is listed ever more rarely', async () => {
  const { hint, pass, asked } = open({ canLookUp: false });
  await pass(60_000, () => hint({ late: 'It is polled.' }));
  expect(asked.length).toBeLessThan(15);
  expect(asked.at(-1)).toMatchObject({ sync: { mode: 'incremental', trigger: 'event' }, late: 'It is polled.' });
  expect(asked.at(-1)!.sync.hints).toBeUndefined();
});

test('a clock that is set back delays nothing', async () => {
  const { hint, pass, asked, setBack } = open();
  await pass(60_000, () => hint(changed('log')));
  await pass(10_000 + debounceMs);
  setBack(3_600_000);
  const before = asked.length;
  hint(changed('log'));
  await pass(debounceMs);
  expect(asked).toHaveLength(before + 1);
});

test('nothing is asked for once watching has ended', async () => {
  const { hint, pass, asked, stop } = open();
  await pass(2_000, () => hint(changed('log')));
  const before = asked.length;
  hint(changed('log', 'note'));
  stop.abort();
  await pass(20_000);
  expect(asked).toHaveLength(before);
});
