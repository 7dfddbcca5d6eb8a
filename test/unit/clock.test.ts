import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';

test('a sleep until a time that is over ends at once, without a warning of Node', async () => {
  const warnings: Error[] = [];
  const heard = (warning: Error) => warnings.push(warning);
  process.on('warning', heard);
  await systemClock.sleep(-1_000);
  await systemClock.sleep(1);
  process.off('warning', heard);
  expect(warnings).toEqual([]);
});
