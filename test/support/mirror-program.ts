import fc from 'fast-check';
import { authExpired, forbidden, rateLimited, transient } from '../../src/connect/contract.ts';
import { createCrashingDatabase } from '../../src/connect/testing/crashing-database.ts';
import { findOrphans, readMemory, type Remembered } from '../../src/connect/testing/remembered.ts';
import { createExtractor } from '../../src/engine/extract/extractor.ts';
import { createProcessor } from '../../src/engine/process.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { setConnectionStatus } from '../../src/store/connections.ts';
import type { Database } from '../../src/store/database.ts';
import { createTestClock } from './clock.ts';
import { createMirror } from './mirror.ts';
import { createSyntheticSource, type Abilities } from './synthetic-source.ts';

/** What can happen to a source and to the daemon that mirrors it. */
type Step =
  | { kind: 'put'; id: string; text: string }
  | { kind: 'describe'; id: string; note: string }
  | { kind: 'remove'; id: string }
  | { kind: 'rename'; id: string; to: string }
  | { kind: 'expire' }
  | { kind: 'wait'; ms: number }
  | { kind: 'process' }
  | { kind: 'sync'; full: boolean; trouble: Trouble | null }
  | { kind: 'hint'; ids: string[]; trouble: Trouble | null };

const troubles = [
  // The daemon: stopped in order, killed before a request is answered, right after the answer, or at a statement.
  ...['stop', 'kill', 'kill-after', 'kill-statement'],
  // One request fails, or each from there on, in all the ways there are.
  ...['fail', 'fail-on', 'bug', 'limit', 'refuse', 'forbid', 'missing'],
  // The source says that it does not show everything, forgets positions, or changes under the listing.
  ...['incomplete', 'expire', 'edit'],
] as const;

/** From the request (or statement) with this number on, or just at it. */
interface Trouble {
  at: number;
  what: (typeof troubles)[number];
}

export interface Program {
  abilities: Abilities;
  steps: Step[];
}

const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
const at = (max: number) => fc.integer({ min: 1, max });
const trouble: fc.Arbitrary<Trouble | null> = fc.option(
  fc.oneof(
    { weight: 2, arbitrary: fc.record({ at: at(15), what: fc.constantFrom(...troubles) }) },
    { weight: 1, arbitrary: fc.record({ at: at(40), what: fc.constant('kill-statement' as const) }) },
  ),
  { freq: 2 },
);
const words = fc.constantFrom('amber', 'boat', 'copper', 'drift', 'ember', 'fern');
const text = fc.array(words, { minLength: 1, maxLength: 3 }).map((chosen) => chosen.join(' '));
/** Not often: a full sync mends what an incremental one did wrong. */
const sometimes = fc.constantFrom(false, false, false, true);
const kind = <Kind extends Step['kind']>(name: Kind) => fc.constant(name);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: kind('put'), id: ids, text }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('describe'), id: ids, note: words }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('remove'), id: ids }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('rename'), id: ids, to: ids }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('expire') }) },
  // Also back: clocks are set.
  { weight: 2, arbitrary: fc.record({ kind: kind('wait'), ms: fc.constantFrom(1, 31_000, 700_000, -90_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('process') }) },
  { weight: 5, arbitrary: fc.record({ kind: kind('sync'), full: sometimes, trouble }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('hint'), ids: fc.array(ids, { maxLength: 3 }), trouble }) },
);

/** Programs of up to 20 steps over eight items. */
const program: fc.Arbitrary<Program> = fc.record({
  abilities: fc.record({ incremental: fc.boolean(), lookup: fc.boolean(), batches: fc.boolean() }),
  steps: fc.array(step, { minLength: 3, maxLength: 20 }),
});

export interface ProgramRunner {
  /** Throws when memory is not what it must be. */
  run(one: Program): Promise<void>;
  close(): Promise<void>;
}

/** Runs programs one after the other in one database, each with a source and a container of its own. */
export function createProgramRunner(database: Database, name = 'program'): ProgramRunner {
  const embedder = createHashingEmbedder({ dimensions: 8 });
  const extractor = createExtractor({ log: silentLogger });
  let count = 0;
  return {
    run: (one) => runProgram({ database, embedder, extractor, containerTag: `${name}_${++count}` }, one),
    close: () => extractor.close(),
  };
}

interface Stage {
  database: Database;
  embedder: ReturnType<typeof createHashingEmbedder>;
  extractor: ReturnType<typeof createExtractor>;
  containerTag: string;
}

const finalRounds = 4;

async function runProgram(stage: Stage, { abilities, steps }: Program): Promise<void> {
  const { database, extractor, containerTag } = stage;
  const clock = createTestClock();
  const source = createSyntheticSource({ pageSize: 2 });
  const connector = source.connector(abilities);
  const mirror = await createMirror({ database, clock, connector, containerTag, runner: { extractor } });
  const processor = createProcessor({ ...stage, clock, log: silentLogger });
  const guard = createGuard(source);

  async function sync(request: Parameters<typeof mirror.sync>[0], what: Trouble | null): Promise<void> {
    let statements = what?.what === 'kill-statement' ? what.at : Infinity;
    const process = createCrashingDatabase(database, (change) => {
      if (change === 1 && --statements === 0) process.crash();
    });
    const stop = new AbortController();
    // Somebody authorizes the connection again before the next sync.
    await setConnectionStatus(database, mirror.id, { status: 'active', reason: null, now: clock.now() });
    const end = interfere(source, what, {
      now: () => clock.now(),
      stop: () => stop.abort(),
      kill: () => process.crash(),
      edited: guard.touch,
    });
    await mirror.sync(request, stop.signal, process).catch((error: unknown) => {
      if (!process.crashed) throw error;
      clock.advance(61_000);
    });
    end();
    guard.check(await remembered());
  }

  const remembered = async () => byId(await readMemory(database, containerTag), connector.spec.name);
  const drain = () => processor.drain(new AbortController().signal);

  async function take(one: Step): Promise<void> {
    clock.advance(1_000);
    if ('id' in one) guard.touch(one.id);
    if (one.kind === 'rename') guard.touch(one.to);
    if (one.kind === 'put') source.put(one.id, one.text);
    if (one.kind === 'describe') source.describe(one.id, one.note);
    if (one.kind === 'remove') source.remove(one.id);
    if (one.kind === 'rename') source.rename(one.id, one.to);
    if (one.kind === 'expire') source.expirePositions();
    if (one.kind === 'wait') clock.advance(one.ms);
    if (one.kind === 'process') await drain();
    if (one.kind === 'sync') await sync({ mode: one.full ? 'full' : 'incremental' }, one.trouble);
    if (one.kind === 'hint') await sync({ trigger: 'event', hints: { all: one.ids } }, one.trouble);
  }

  for (const one of steps) await take(one);
  let wrong: string[] = [];
  const followed = changesAreEnough(abilities, steps);
  // Failed items are due within a day; a held sweep is released by a second listing minutes later.
  for (let round = 0; round < finalRounds; round++) {
    clock.advance(26 * 3_600_000);
    const held = (await mirror.partitions()).some((partition) => partition['held_sweep'] !== null);
    await sync({ mode: followed && !held ? 'incremental' : 'full' }, null);
    await drain();
    wrong = [...differencesOf(source, await remembered()), ...(await findOrphans(database, containerTag))];
    wrong.push(...(await unsettled(mirror)));
    if (wrong.length === 0) return;
  }
  throw new Error(`After the last sync:\n  ${wrong.join('\n  ')}`);
}

/**
 * Whether the feed of changes alone must lead to the right memory. After a position that expired, what
 * a listing missed meanwhile is only found by the next complete one.
 */
function changesAreEnough({ incremental = false }: Abilities, steps: readonly Step[]): boolean {
  const hides = (what: Trouble['what'] | undefined) => what === 'incomplete' || what === 'expire';
  return incremental && !steps.some((one) => one.kind === 'expire' || ('trouble' in one && hides(one.trouble?.what)));
}

type Source = ReturnType<typeof createSyntheticSource>;

/** Lets something happen at a request of the run; answers what ends it. */
function interfere(
  source: Source,
  what: Trouble | null,
  daemon: { now(): Date; stop(): void; kill(): void; edited(id: string): void },
): () => void {
  let seen = 0;
  const errors: Partial<Record<Trouble['what'], () => Error>> = {
    fail: () => transient('the source failed'),
    'fail-on': () => transient('the source fails'),
    bug: () => new TypeError('undefined is not a function'),
    limit: () => rateLimited('too many requests', new Date(daemon.now().getTime() + 120_000)),
    refuse: () => authExpired('not authorized any more'),
    forbid: () => forbidden('not allowed'),
  };
  const once: readonly Trouble['what'][] = ['fail', 'bug'];
  source.intercept(() => {
    seen += 1;
    if (what === null || seen < what.at) return;
    const error = errors[what.what];
    if (error && (seen === what.at || !once.includes(what.what))) throw error();
    if (what.what === 'stop') daemon.stop();
    if (what.what === 'kill') daemon.kill();
    if (what.what === 'kill-after') queueMicrotask(daemon.kill);
    if (what.what === 'incomplete') hide(source);
    if (what.what === 'missing') source.missing = true;
    if (what.what === 'expire' && seen === what.at) source.expirePositions();
    if (what.what !== 'edit' || seen !== what.at) return;
    daemon.edited('c');
    source.put('c', `edited ${seen}`);
  });
  return () => {
    source.intercept(() => {});
    source.incomplete = undefined;
    source.hidden.clear();
    source.missing = false;
  };
}

function hide(source: Source): void {
  source.incomplete = 'for a while';
  for (const id of ['a', 'c', 'e']) source.hidden.add(id);
}

type Memory = ReadonlyMap<string, Remembered>;

function byId(memory: ReadonlyMap<string, Remembered>, provider: string): Memory {
  return new Map([...memory].map(([customId, one]) => [customId.slice(provider.length + 1), one]));
}

/** What was mirrored once and not changed since must stay in memory, whatever happens to a sync. */
function createGuard(source: Source) {
  let mirrored = new Set<string>();
  return {
    touch: (id: string) => void mirrored.delete(id),
    check(memory: Memory): void {
      const texts = source.texts();
      const isMirrored = (id: string) => memory.get(id)?.text === texts.get(id);
      const lost = [...mirrored].filter((id) => !isMirrored(id));
      if (lost.length > 0) throw new Error(`Memory lost ${lost.join(', ')}, which did not change at the source.`);
      mirrored = new Set([...texts.keys()].filter(isMirrored));
    },
  };
}

/** Ids, texts, titles, paths and metadata, and chunks that hold just the text. */
function differencesOf(source: Source, memory: Memory): string[] {
  const expected = source.documents();
  const wrong: string[] = [];
  for (const [id, { text, ...fields }] of expected) {
    const one = memory.get(id);
    if (!one) wrong.push(`${id} is missing.`);
    else {
      const { title, path, metadata } = one;
      const found = { text: one.text, title, path, metadata: { note: metadata['note'] } };
      if (JSON.stringify(found) !== JSON.stringify({ text, ...fields })) {
        wrong.push(`${id} is ${JSON.stringify(found)} and must be ${JSON.stringify({ text, ...fields })}.`);
      }
      const chunks = one.chunks.map((chunk) => chunk.content).join(' ');
      if (one.status !== 'done' || chunks !== text) wrong.push(`${id} is ${one.status}, its chunks hold "${chunks}".`);
    }
  }
  for (const id of memory.keys()) if (!expected.has(id)) wrong.push(`${id} is there and must not be.`);
  return wrong;
}

async function unsettled(mirror: Awaited<ReturnType<typeof createMirror>>): Promise<string[]> {
  const items = await mirror.items();
  return items
    .filter((item) => item['state'] !== 'done' && item['state'] !== 'gone')
    .map((item) => `The item ${item['ext_id']} is ${item['state']}.`);
}

/** Checks programs of one seed. Throws what failed, with what is needed to see it again. */
export async function checkPrograms(
  runner: ProgramRunner,
  options: {
    programs: number;
    seed: number;
    path?: string;
    shrink: boolean;
    replay(seed: number, path: string): string;
  },
): Promise<void> {
  const { programs, seed, path, shrink } = options;
  const result = await fc.check(
    fc.asyncProperty(program, (one) => runner.run(one)),
    { numRuns: programs, seed, endOnFailure: !shrink, ...(path === undefined ? {} : { path }) },
  );
  if (!result.failed) return;
  const [counterexample] = result.counterexample ?? [];
  const reason = result.errorInstance instanceof Error ? result.errorInstance.message : String(result.errorInstance);
  throw new Error(
    [
      `Program ${result.numRuns} of seed ${seed} failed: ${reason}`,
      `The program: ${JSON.stringify(counterexample)}`,
      `See it again: ${options.replay(seed, result.counterexamplePath ?? '')}`,
    ].join('\n'),
    { cause: result.errorInstance },
  );
}
