import { silentLogger } from '../../src/base/log.ts';
import { authExpired, forbidden, rateLimited, transient } from '../../src/connector/contract.ts';
import { runSync } from '../../src/sync/runner.ts';
import { findOrphans, readMemory, type Remembered } from '../../src/connector-kit/remembered.ts';
import { createTextWork } from '../../src/engine/text/text-work.ts';
import { createProcessor } from '../../src/engine/process.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { setConnectionStatus, type RequestedSync } from '../../src/store/connections.ts';
import type { Database } from '../../src/store/database.ts';
import { createTestClock, type TestClock } from './clock.ts';
import { createModelProcess, type ModelProcess } from './mirror-process.ts';
import {
  changesAreEnough,
  type Change,
  type Freeze,
  type Program,
  type Step,
  type Sync,
  type Trouble,
} from './mirror-steps.ts';
import { createMirror } from './mirror.ts';
import { createSyntheticSource, type Abilities, type RequestHooks } from './synthetic-source.ts';

export interface ProgramRunner<Of = Program> {
  /** Throws when memory is not what it must be. */
  run(one: Of): Promise<void>;
  close(): Promise<void>;
}

/** Runs programs one after the other in one database, each with a source and a container of its own. */
export function createProgramRunner(database: Database, name = 'program'): ProgramRunner {
  const embedder = createHashingEmbedder({ dimensions: 8 });
  const textWork = createTextWork({ log: silentLogger });
  let count = 0;
  return {
    run: (one) => runProgram({ database, embedder, textWork, containerTag: `${name}_${++count}` }, one),
    close: () => textWork.close(),
  };
}

interface Stage {
  database: Database;
  embedder: ReturnType<typeof createHashingEmbedder>;
  textWork: ReturnType<typeof createTextWork>;
  containerTag: string;
}

const finalRounds = 4;

async function runProgram(stage: Stage, one: Program): Promise<void> {
  const { database, textWork, containerTag } = stage;
  const { abilities, steps } = one;
  const clock = createTestClock();
  const source = createSyntheticSource({ pageSize: 2 });
  const connector = source.connector(abilities);
  const mirror = await createMirror({ database, clock, connector, containerTag, runner: { extractor: textWork } });
  const processor = createProcessor({ ...stage, clock, log: silentLogger });
  const world: ModelWorld = { clock, source, guard: createGuard(source), abilities, mirror, database };
  const remembered = async () => byId(await readMemory(database, containerTag), connector.spec.name);
  const drain = () => processor.drain(new AbortController().signal);

  async function sync(asked: Sync, freeze: Freeze | null): Promise<void> {
    await mirror.request(requestOf(asked, abilities));
    await runProcess(world, asked.troubles, freeze);
    world.guard.check(await remembered());
  }

  async function take(step: Step): Promise<void> {
    clock.advance(1_000);
    if (step.kind === 'sync') await sync(step, step.freeze);
    else if (step.kind === 'expire') source.expirePositions();
    else if (step.kind === 'wait') clock.advance(step.ms);
    else if (step.kind === 'process') await drain();
    else if (step.kind === 'report') await mirror.request(reportOf(step.ids, abilities));
    else change(world, step);
  }

  for (const id of one.mirrored) source.put(id, `words of ${id}`);
  if (one.mirrored.length > 0) await sync({ full: false, troubles: [] }, null);
  for (const step of steps) await take(step);
  let wrong: string[] = [];
  const followed = changesAreEnough(one);
  // Failed items are due within a day; a held sweep is released by a second listing minutes later.
  for (let round = 0; round < finalRounds; round++) {
    clock.advance(26 * 3_600_000);
    const held = (await mirror.partitions()).some((partition) => partition['held_sweep'] !== null);
    await sync({ full: !followed || held, troubles: [] }, null);
    await drain();
    wrong = [...differencesOf(source, await remembered()), ...(await findOrphans(database, containerTag))];
    wrong.push(...(await unsettled(mirror)));
    if (wrong.length === 0) return;
  }
  throw new Error(`After the last sync:\n  ${wrong.join('\n  ')}`);
}

interface ModelWorld {
  clock: TestClock;
  source: Source;
  guard: ReturnType<typeof createGuard>;
  abilities: Abilities;
  mirror: Awaited<ReturnType<typeof createMirror>>;
  database: Database;
}

function requestOf({ full, hints }: Sync, abilities: Abilities): RequestedSync {
  if (hints) return reportOf(hints, abilities);
  return { mode: full ? 'full' : 'incremental', trigger: 'manual' };
}

/** Hints go to the partitions that have the ids; those without any are told nothing. */
function reportOf(ids: readonly string[], { partitions = 1 }: Abilities): RequestedSync {
  const ofPart = (index: number) => ids.filter((id) => id.charCodeAt(0) % partitions === index);
  const parts = Array.from({ length: partitions }, (_, index) => [`part-${index}`, ofPart(index)] as const);
  const hints = partitions === 1 ? { all: [...ids] } : Object.fromEntries(parts.filter(([, own]) => own.length > 0));
  return { mode: 'incremental', trigger: 'event', hints };
}

function change({ source, guard }: Pick<ModelWorld, 'source' | 'guard'>, one: Change): void {
  guard.touch(one.id);
  if (one.kind === 'rename') guard.touch(one.to);
  if (one.kind === 'put') source.put(one.id, one.text);
  if (one.kind === 'describe') source.describe(one.id, one.note);
  if (one.kind === 'remove') source.remove(one.id);
  if (one.kind === 'rename') source.rename(one.id, one.to);
  if (one.kind === 'return') source.reappear(one.id);
}

/** Longer than the leases of connections and items. */
const frozenMs = 61_000;

/** What was asked for, by a process of its own. One that is frozen goes on when another one has taken over. */
async function runProcess(world: ModelWorld, troubles: readonly Trouble[], freeze: Freeze | null): Promise<void> {
  const { clock, source, mirror, database, abilities } = world;
  // Somebody authorizes the connection again before the next sync.
  await setConnectionStatus(database, mirror.id, { status: 'active', reason: null, now: clock.now() });
  const stop = new AbortController();
  let statements = 0;
  const answers = { answer: 0, content: 0 };
  let read: string | undefined;
  let mayFreeze = freeze !== null;
  const isFrozenAt = (where: Freeze['where'], number: number) =>
    mayFreeze && freeze?.where === where && freeze.at === number;
  const killAt = Math.min(...troubles.map(({ what, at }) => (what === 'kill-statement' ? at : Infinity)));
  const process = createModelProcess(database, (self) => {
    statements += 1;
    if (statements === killAt) self.database.crash();
    if (isFrozenAt('statement', statements)) self.freeze();
  });
  const faults = hooksOf(world, troubles, { process, stop: () => stop.abort() });
  const hooks: RequestHooks = {
    async before(request) {
      await process.pass();
      await faults.before?.(request);
    },
    async after(request) {
      await faults.after?.(request);
      const content = contentOf(request);
      answers.answer += 1;
      if (content !== undefined) answers.content += 1;
      read = content ?? read;
      const isNow = isFrozenAt('answer', answers.answer) || isFrozenAt('content', answers.content);
      if (isNow && (freeze?.where === 'answer' || content !== undefined)) process.freeze();
      await process.pass();
    },
  };
  const connector = source.connector(abilities, hooks);
  const running = runSync(
    { ...mirror.runner(process.database), connector: async () => connector },
    mirror.id,
    stop.signal,
  );
  const ended = running.catch((error: unknown) => {
    if (!process.database.crashed) throw error;
    clock.advance(frozenMs);
  });
  if (freeze) {
    await process.quiet();
    mayFreeze = false;
    if (process.isFrozen()) await takeOver(world, freeze, read);
    process.thaw();
  }
  await ended;
  endFaults(source);
}

/** The id in a request for the content of one item, or the first of several. */
const contentOf = (request: string) => /^fetch (\w)/.exec(request)?.[1];

async function takeOver(
  world: ModelWorld,
  { changes, other, read: fate }: Freeze,
  read: string | undefined,
): Promise<void> {
  if (fate === 'edited' && read !== undefined) change(world, { kind: 'put', id: read, text: `edited ${read}` });
  if (fate === 'removed' && read !== undefined) change(world, { kind: 'remove', id: read });
  for (const one of changes) change(world, one);
  world.clock.advance(frozenMs);
  if (other === null) return;
  await world.mirror.request(requestOf(other, world.abilities));
  await runProcess(world, other.troubles, null);
}

type Source = ReturnType<typeof createSyntheticSource>;

/** Lets things happen at the requests of a process. */
function hooksOf(
  world: ModelWorld,
  troubles: readonly Trouble[],
  { process, stop }: { process: ModelProcess; stop(): void },
): Required<RequestHooks> {
  const { source, clock, mirror, abilities } = world;
  const errors: Partial<Record<Trouble['what'], () => Error>> = {
    fail: () => transient('the source failed'),
    'fail-on': () => transient('the source fails'),
    bug: () => new TypeError('undefined is not a function'),
    limit: () => rateLimited('too many requests', new Date(clock.now().getTime() + 120_000)),
    refuse: () => authExpired('not authorized any more'),
    forbid: () => forbidden('not allowed'),
  };
  const once: readonly Trouble['what'][] = ['fail', 'bug'];
  const used = new Set<Trouble['what']>();
  let begun = 0;
  let made = 0;

  async function meet({ what, at }: Trouble, number: number): Promise<void> {
    if (number < at) return;
    const error = errors[what];
    if (error && (number === at || !once.includes(what))) throw error();
    if (what === 'stop') stop();
    if (what === 'kill') process.database.crash();
    if (what === 'kill-after') queueMicrotask(() => process.database.crash());
    if (what === 'incomplete') hide(source);
    if (what === 'missing') source.missing = true;
    if (what === 'leave-out' && abilities.partial) source.leavesOut = leavingOut();
    if (number !== at) return;
    if (what === 'expire') source.expirePositions();
    if (what === 'edit') change(world, { kind: 'put', id: 'c', text: `edited ${number}` });
    if (what === 'report') await mirror.request(reportOf(['b', 'c'], abilities));
  }

  return {
    async before() {
      begun += 1;
      const number = begun;
      for (const one of troubles) await meet(one, number);
    },
    async after(request) {
      made += 1;
      const number = made;
      const late = troubles.find(({ what, at }) => what.startsWith('late') && number >= at && !used.has(what));
      const id = contentOf(request);
      if (late === undefined || id === undefined) return;
      used.add(late.what);
      const isEdit = late.what === 'late-edit';
      change(world, isEdit ? { kind: 'put', id, text: `late ${number}` } : { kind: 'remove', id });
      await process.quiet();
    },
  };
}

function endFaults(source: Source): void {
  source.incomplete = undefined;
  source.hidden.clear();
  source.leavesOut = () => false;
  source.missing = false;
}

/** Every third item that is asked about, so that each listing leaves out others. */
function leavingOut(): () => boolean {
  let asked = 0;
  return () => ++asked % 3 === 0;
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
