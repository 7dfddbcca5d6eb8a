import type { Interference } from '../../src/connector-kit/setup.ts';
import { createParts, type Parts } from '../../src/connector-kit/framework.ts';
import { CheckFailed } from '../../src/connector-kit/setup.ts';
import { openHarness, type Harness } from '../../src/connector-kit/harness.ts';
import { differences } from '../../src/connector-kit/remembered.ts';
import type { Database } from '../../src/store/database.ts';
import { listPartitions } from '../../src/store/partitions.ts';
import type { ProgramRunner } from './mirror-program.ts';
import type { WorldConnector } from './world-connectors.ts';
import { createWorldHand, type WorldHand } from './world-hand.ts';
import { feedIsEnough, type Change, type Step, type Sync, type Trouble, type WorldProgram } from './world-steps.ts';

/** Runs programs one after the other in one database, each against a world of its own. */
export function createWorldRunner(database: Database, subject: WorldConnector): ProgramRunner<WorldProgram> {
  // Whoever opened the database closes it.
  const parts = createParts({ ...database, close: async () => {} });
  let count = 0;
  return { run: (one) => runProgram(parts, subject, ++count, one), close: () => parts.close() };
}

interface Stage {
  harness: Harness;
  hand: WorldHand;
  guard: ReturnType<typeof createGuard>;
  provider: string;
  selected: string[];
}

const finalRounds = 4;

async function runProgram(parts: Parts, subject: WorldConnector, seed: number, one: WorldProgram): Promise<void> {
  const { connector: given, world: makeWorld } = subject;
  const connector = withoutDailyListing(given);
  const harness = await openHarness({
    ...{ parts, connector, makeWorld, deliver: undefined, seed },
    ...{ check: 'of the mirror failed: memory equals the source.', pages: 'small' },
  });
  const hand = createWorldHand(harness);
  const stage: Stage = { harness, hand, provider: connector.spec.name, selected: [], guard: createGuard(harness) };
  try {
    for (const name of one.mirrored) await hand.change({ kind: 'put', name });
    if (one.mirrored.length > 0) await sync(stage, { full: false, troubles: [], killAt: null });
    for (const step of one.steps) await take(stage, step);
    await settle(stage, feedIsEnough(one));
  } finally {
    await harness.close();
  }
}

/** It would mend what the feed of changes left wrong. Programs say when everything is listed. */
function withoutDailyListing(connector: WorldConnector['connector']): WorldConnector['connector'] {
  const { schedule, ...spec } = connector.spec;
  return { ...connector, spec: { ...spec, ...(schedule && { schedule: { everyMs: schedule.everyMs } }) } };
}

async function take(stage: Stage, step: Step): Promise<void> {
  const { harness, hand } = stage;
  harness.clock.advance(1_000);
  if (step.kind === 'sync') await sync(stage, step);
  else if (step.kind === 'wait') harness.clock.advance(step.ms);
  else if (step.kind === 'expire') await harness.world.expirePositions?.();
  else if (step.kind === 'poison' || step.kind === 'cure') await hand.poison(step);
  else if (step.kind === 'select') await select(stage, step.places);
  else await change(stage, step);
}

async function select(stage: Stage, places: readonly (0 | 1)[]): Promise<void> {
  const all = (await stage.harness.world.resources?.all()) ?? [];
  const chosen = places.map((place) => all[place]!);
  stage.selected = chosen.map(({ id }) => id);
  await stage.harness.select(chosen);
}

/** What was asked for, by a process of its own. Somebody authorizes the connection again before it, if it needs that. */
async function sync(stage: Stage, { full, troubles, killAt }: Sync): Promise<void> {
  const { harness, guard } = stage;
  await harness.world.credential?.mend();
  await harness.restore();
  const stop = new AbortController();
  harness.interfere(interferenceOf(stage, troubles, () => stop.abort()));
  await guard.look(stage);
  await harness.sync({
    mode: full ? 'full' : 'incremental',
    signal: stop.signal,
    ...(killAt !== null && { crashAt: killAt }),
  });
  harness.interfere({});
  await guard.check(stage);
}

/** Lets things happen at the requests of a sync. */
function interferenceOf(stage: Stage, troubles: readonly Trouble[], stop: () => void): Interference {
  const { harness } = stage;
  let requests = 0;
  let listed = 0;

  async function meet(trouble: Trouble, number: number) {
    const { what, at } = trouble;
    if (what === 'fail-on' && number >= at) return { status: 500 };
    if (number !== at) return undefined;
    if (what === 'fail') return { status: 500 };
    if (what === 'reset' || what === 'truncate') return what;
    if (what === 'limit') return harness.world.limit?.(120) ?? { status: 429, headers: { 'retry-after': '120' } };
    if (what === 'stop') stop();
    if (what === 'refuse') await harness.world.credential?.break('refused');
    if (what === 'expire') await harness.world.expirePositions?.();
    if (what === 'change') await change(stage, trouble.change);
    return undefined;
  }

  const leavesOut = harness.connector.spec.listing === 'partial' && troubles.some(({ what }) => what === 'leave-out');
  return {
    async request() {
      requests += 1;
      const number = requests;
      for (const one of troubles) {
        const fault = await meet(one, number);
        if (fault !== undefined) return fault;
      }
      return undefined;
    },
    // Every third item that is listed, so that each listing leaves out others.
    ...(leavesOut && {
      after: (call, page: any) =>
        call.verb === 'list' ? { ...page, refs: page.refs.filter(() => ++listed % 3 !== 0) } : page,
    }),
  };
}

/** Failed items are due within a day; a held sweep is released by a second listing. */
async function settle(stage: Stage, feedOnly: boolean): Promise<void> {
  const { harness, hand } = stage;
  await hand.cure();
  for (let round = 1; ; round++) {
    harness.clock.advance(26 * 3_600_000);
    const full = !feedOnly || (await isHeld(harness));
    await sync(stage, { full, troubles: [], killAt: null });
    try {
      return await harness.expectMirror('After the last sync');
    } catch (error) {
      if (!(error instanceof CheckFailed) || round === finalRounds) throw error;
    }
  }
}

async function isHeld(harness: Harness): Promise<boolean> {
  const partitions = await listPartitions(harness.database, harness.connectionId());
  return partitions.some(({ heldSweep }) => heldSweep !== null);
}

/** What memory holds as it is at the source, and must hold, stays there, whatever happens to a sync. */
function createGuard(harness: Harness) {
  let mirrored = new Set<string>();
  const touched = new Set<string>();

  /** The ids of what must be there and is. */
  async function mirroredNow({ provider, selected }: Stage): Promise<Set<string>> {
    const memory = await harness.memory();
    const held = [...(await harness.world.expected(selected))].filter(([id, item]) => {
      const one = memory.get(`${provider}:${id}`);
      return one && differences(provider, new Map([[id, item]]), new Map([[one.customId, one]])).length === 0;
    });
    return new Set(held.map(([id]) => id));
  }

  return {
    async look(stage: Stage): Promise<void> {
      mirrored = await mirroredNow(stage);
      touched.clear();
    },
    touch: (id: string | undefined) => void (id !== undefined && touched.add(id)),
    async check(stage: Stage): Promise<void> {
      const now = await mirroredNow(stage);
      const expected = await harness.world.expected(stage.selected);
      const lost = [...mirrored].filter((id) => !touched.has(id) && expected.has(id) && !now.has(id));
      harness.expect(lost.length === 0, `Memory lost ${lost.join(', ')}, which did not change.`);
    },
  };
}

/** A change at the source, after which nothing is known of what memory holds of the item. */
async function change({ hand, guard }: Stage, one: Change): Promise<void> {
  if ('name' in one) guard.touch(hand.idOf(one.name));
  await hand.change(one);
  if ('name' in one) guard.touch(hand.idOf(one.name));
}
