import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { createCrashingDatabase } from '../support/crashing-database.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

/** What can happen to a source and to the daemon that mirrors it. */
type Step =
  | { kind: 'put'; id: string; text: string }
  | { kind: 'remove'; id: string }
  | { kind: 'rename'; id: string; to: string }
  | { kind: 'expire' }
  | { kind: 'wait'; ms: number }
  | { kind: 'sync'; full: boolean; trouble: Trouble | null }
  | { kind: 'hint'; ids: string[]; trouble: Trouble | null };

/** At the given request of the run, something happens. */
type Trouble = { at: number; what: 'fail' | 'stop' | 'kill' | 'incomplete' | 'missing' | 'edit' };

const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
const trouble = fc.option(
  fc.record({
    at: fc.integer({ min: 1, max: 12 }),
    what: fc.constantFrom<Trouble['what']>('fail', 'stop', 'kill', 'incomplete', 'missing', 'edit'),
  }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('put' as const), id: ids, text: fc.string({ maxLength: 8 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('remove' as const), id: ids }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('rename' as const), id: ids, to: ids }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('expire' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 31_000, 700_000) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('sync' as const), full: fc.boolean(), trouble }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('hint' as const), ids: fc.array(ids, { maxLength: 3 }), trouble }),
  },
);
const program = fc.record({
  incremental: fc.boolean(),
  lookup: fc.boolean(),
  steps: fc.array(step, { minLength: 3, maxLength: 25 }),
});

let opened: TestDatabase;
beforeAll(async () => {
  opened = await openTestDatabase('pglite');
}, 60_000);
afterAll(() => opened.close());

let programs = 0;

it('whatever happens meanwhile, after the last successful sync memory equals the source', async () => {
  const numRuns = Number(process.env['MIRROR_PROGRAMS'] ?? 60);
  const seed = process.env['MIRROR_SEED'];
  await fc.assert(
    fc.asyncProperty(program, (one) => runProgram(one)),
    { numRuns, endOnFailure: process.env['MIRROR_SHRINK'] === undefined, ...(seed ? { seed: Number(seed) } : {}) },
  );
}, 600_000);

async function runProgram({ incremental, lookup, steps }: { incremental: boolean; lookup: boolean; steps: Step[] }) {
  const clock = createTestClock();
  const source = createSyntheticSource({ pageSize: 2 });
  const connector = source.connector({ incremental, lookup });
  const containerTag = `program_${++programs}`;
  const mirror = await createMirror({ database: opened.database, clock, connector, containerTag });

  async function sync(request: Parameters<typeof mirror.sync>[0], what: Trouble | null): Promise<void> {
    const process = createCrashingDatabase(opened.database);
    const stop = new AbortController();
    let seen = 0;
    source.intercept(() => {
      if (what === null || ++seen < what.at) return;
      if (what.what === 'fail' && seen === what.at) throw source.fail();
      if (what.what === 'stop') stop.abort();
      if (what.what === 'kill') process.crash();
      if (what.what === 'incomplete') source.incomplete = 'for a while';
      if (what.what === 'missing') source.missing = true;
      if (what.what === 'edit' && seen === what.at) source.put('c', `edited ${seen}`);
    });
    await mirror.sync(request, stop.signal, process).catch((error: unknown) => {
      if (what?.what !== 'kill') throw error;
      clock.advance(61_000);
    });
    source.intercept(() => {});
    source.incomplete = undefined;
    source.missing = false;
  }

  async function take(one: Step): Promise<void> {
    clock.advance(1_000);
    if (one.kind === 'put') source.put(one.id, one.text);
    if (one.kind === 'remove') source.remove(one.id);
    if (one.kind === 'rename') source.rename(one.id, one.to);
    if (one.kind === 'expire') source.expirePositions();
    if (one.kind === 'wait') clock.advance(one.ms);
    if (one.kind === 'sync') await sync({ mode: one.full ? 'full' : 'incremental' }, one.trouble);
    if (one.kind === 'hint') await sync({ trigger: 'event', hints: { all: one.ids } }, one.trouble);
  }

  for (const one of steps) await take(one);
  // Failed items are due within a day; a held sweep is released by a second listing minutes later.
  for (let round = 0; round < 3; round++) {
    clock.advance(26 * 3_600_000);
    await sync({ mode: 'full' }, null);
  }
  expect(await mirror.texts()).toEqual(source.texts());
  const items = await mirror.items();
  expect(items.map((item) => [item.ext_id, item.state])).toEqual(
    [...source.texts().keys()].sort().map((id) => [id, 'done']),
  );
  const orphans = await opened.database.query(sql`
    select id from documents where container_tag = ${containerTag}
      and id not in (select document_id from sync_items where document_id is not null)`);
  expect(orphans).toEqual([]);
}
