import { afterEach, describe, expect, it } from 'vitest';
import type { Ref } from '../../src/connector/contract.ts';
import { createCrashingDatabase } from '../support/crashing-database.ts';
import { createTestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { pageOf, scriptedConnector } from '../support/scripted-connector.ts';

const never = new AbortController().signal;

describe.each(engines)('an item that ends workers, on %s', (engine) => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  it('is tried alone in the end, so that its neighbours come in without a failure, and then no more', async () => {
    opened = await openTestDatabase(engine);
    const clock = createTestClock();
    let crash = () => {};
    const connector = scriptedConnector({
      list: () => pageOf('a', 'b', 'bad', 'c'),
      async fetch(_partition, ref: Ref) {
        if (ref.id === 'bad') crash();
        return { text: ref.id };
      },
    });
    const mirror = await createMirror({ ...opened, clock, connector });
    let crashes = 0;
    for (; crashes < 30; crashes++) {
      const process = createCrashingDatabase(opened.database);
      crash = () => process.crash();
      await mirror.request();
      await mirror.run(never, process).catch(() => {});
      if (!process.crashed) break;
      clock.advance(61_000);
      if (crashes < 3) continue;
      // By now they are in, without a single failure held against them.
      const others = (await mirror.items()).filter((item) => item.ext_id !== 'bad');
      expect(others).toMatchObject([{ state: 'done' }, { state: 'done' }, { state: 'done' }]);
      expect(others.map((item) => item.attempts)).toEqual([0, 0, 0]);
    }
    expect(crashes).toBe(10);
    const [bad] = (await mirror.items()).filter((item) => item.ext_id === 'bad');
    expect(bad).toMatchObject({ state: 'failed', error_class: 'lost_worker', attempts: 1 });
    expect([...(await mirror.texts()).keys()]).toEqual(['a', 'b', 'c']);
  });
});
