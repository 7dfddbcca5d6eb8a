import type { Connector, Context, Fetched, Partition, Ref } from '../connector/contract.ts';
import { crashMessage } from './crashing-database.ts';
import type { Deliver, Parts } from './framework.ts';
import { impatient } from './impatient.ts';
import { createKitClock, type KitClock } from './kit-clock.ts';
import type { Fault, SourceRequest } from './serve-source.ts';
import type { World, WorldOptions } from './world.ts';

export interface SetupOptions {
  parts: Parts;
  connector: Connector<any, any>;
  makeWorld(options: WorldOptions): Promise<World> | World;
  /** For connections that take pushes. */
  deliver: Deliver | undefined;
  /** For messages: number and title. */
  check: string;
  seed: number;
  pages: 'small' | 'full';
}

/** Hooks of a check between the framework and the connector, or before the answers of the source. */
export interface Interference {
  /** May throw in place of the call. */
  before?(call: VerbCall): void | Promise<void>;
  /** Answers what the framework gets in place of the result. */
  after?(call: VerbCall, result: any): unknown;
  request?(request: SourceRequest): Fault | undefined | void | Promise<Fault | undefined | void>;
  /** Requests wait no longer than this. */
  timeoutMs?: number;
  /** Ids that `fetchMany` leaves out. */
  leaveOut?: ReadonlySet<string>;
}

/** A new world with a connector that is watched: what a harness is made of. */
export interface Setup extends SetupOptions {
  world: World;
  clock: KitClock;
  random: Random;
  canary: string;
  /** The connector as the framework gets it. */
  watched: Connector<any, any>;
  traffic: SetupTraffic;
  /** Statements that are under way. */
  statements: { count: number };
  /** Notes for messages. */
  story: string[];
  /** Everything that was logged. */
  lines: string[];
  /** Throws `CheckFailed` with the story so far. */
  fail(message: string): never;
}

/** Requests and calls, and the moment at which the process dies. */
export interface SetupTraffic {
  calls: VerbCall[];
  /** Pages that the framework got. */
  answered: VerbCall[];
  interference: Interference;
  /**
   * Places so far in this run at which a process can die and leave something else behind than at the one before:
   * commits, and requests for tokens, which change the source. Whatever dies at a request or an answer between two of
   * them leaves what it leaves at the second one.
   */
  boundaries: number;
  /** A request or an answer; it shows in the message of a death at the boundary that follows. */
  pass(what: string): void;
  /** Comes to a place at which the process may die. */
  reachBoundary(what: string): void;
  /** Nothing was asked or answered since the boundary before the death: maybe the run had nothing left to do. */
  diedIdle: boolean;
  crashAt: number;
  /** The process died in this run: what it still does happens to nobody. */
  isDead: boolean;
  crash(): void;
  requestsBefore: number;
}

/** Where and how a check failed, as a message for the author of a connector. */
export class CheckFailed extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CheckFailed';
    // Where in the kit it was thrown says nothing to the author.
    this.stack = `${this.name}: ${message}`;
  }
}

export async function createSetup(options: SetupOptions): Promise<Setup> {
  const statements = { count: 0 };
  const far: { world?: World } = {};
  const clock = createKitClock(() => statements.count > 0 || (far.world?.traffic?.inFlight() ?? 0) > 0);
  const random = createRandom(options.seed);
  const canary = `canary-${options.seed}-${random.below(1e9).toString(36)}`;
  const world = await options.makeWorld({ clock, canary, pages: options.pages });
  far.world = world;
  const traffic: SetupTraffic = {
    calls: [],
    answered: [],
    interference: {},
    boundaries: 0,
    pass: () => undefined,
    reachBoundary: () => undefined,
    diedIdle: false,
    crashAt: Infinity,
    isDead: false,
    crash: () => undefined,
    requestsBefore: 0,
  };
  const story: string[] = [];
  const setup = { ...options, world, clock, random, canary, traffic, statements, story, lines: [] };
  return {
    ...setup,
    watched: watchWorld(world, options.connector, traffic, story),
    fail: (message) => {
      throw new CheckFailed(describe(setup, message));
    },
  };
}

const keptCalls = 10_000;

function watchWorld(
  world: World,
  connector: Connector<any, any>,
  traffic: SetupTraffic,
  story: string[],
): Connector<any, any> {
  let last: string | undefined;
  traffic.pass = (what) => void (last = what);
  traffic.reachBoundary = (what) => {
    traffic.boundaries += 1;
    if (traffic.boundaries === traffic.crashAt) {
      traffic.diedIdle = last === undefined;
      const after = last === undefined ? '' : `, after ${last}`;
      story.push(`The process was killed at point ${traffic.boundaries} of the run: ${what}${after}.`);
      traffic.crash();
    }
    last = undefined;
  };
  world.traffic?.intercept(async (request) => {
    const what = `${request.method} ${request.path}`;
    traffic.pass(what);
    if (world.oauth?.isTokenRequest(request)) traffic.reachBoundary(what);
    return traffic.interference.request?.(request);
  });
  return watchConnector(connector, {
    async before(call) {
      if (traffic.isDead) throw new Error(crashMessage);
      if (traffic.calls.push(call) > keptCalls) traffic.calls.splice(0, keptCalls / 2);
      if (!world.traffic) traffic.pass(`${call.verb} ${call.detail}`);
      await traffic.interference.before?.(call);
    },
    async after(call, result) {
      if (traffic.isDead) throw new Error(crashMessage);
      if (call.cursor !== undefined) traffic.answered.push(call);
      traffic.pass(`the answer of ${call.verb} ${call.detail}`);
      const { after } = traffic.interference;
      return after ? after(call, result) : result;
    },
    wrap(context) {
      const { timeoutMs } = traffic.interference;
      return timeoutMs === undefined ? context : impatient(context, timeoutMs, world.impatience);
    },
    leavesOut: (id) => traffic.interference.leaveOut?.has(id) ?? false,
  });
}

/** Which check, what was wrong, what the kit did, and how to see it again. */
function describe(setup: Pick<Setup, 'check' | 'seed' | 'story' | 'traffic' | 'world'>, message: string): string {
  const requests = setup.world.traffic?.recent().map(({ method, path }) => `${method} ${path}`);
  const calls = setup.traffic.calls.map(({ verb, detail }) => `${verb} ${detail}`.trim());
  const last = (requests ?? calls).slice(-5);
  return [
    `Check ${setup.check}`,
    `  ${message}`,
    ...setup.story.map((line) => `  ${line}`),
    ...(last.length > 0 ? [`  Last ${requests ? 'requests' : 'calls'}: ${last.join('; ')}.`] : []),
    `  The same again: seed ${setup.seed}.`,
  ].join('\n');
}

/** One call of a verb by the framework. */
interface VerbCall {
  /** Counted from 1 over all verbs of a harness. */
  number: number;
  verb: string;
  /** Its arguments: a partition and cursor, or ids. */
  detail: string;
  /** For `list` and `changes`: the partition, and the cursor as JSON. */
  partition?: string;
  cursor?: string;
  /** For `list`: which of several listings it is, from 1; absent for the first. */
  pass?: number;
  /** For `fetch`, `fetchMany` and `lookup`. */
  ids?: readonly string[];
}

interface Watcher {
  /** Replaces the connector's context. */
  wrap(context: Context<any>): Context<any>;
  /** May throw in place of the call. */
  before(call: VerbCall): void | Promise<void>;
  /** Answers what the framework gets; may throw. */
  after(call: VerbCall, result: any): unknown;
  /** Whether `fetchMany` leaves this item out, so that it is fetched alone. */
  leavesOut(id: string): boolean;
}

const paged = (verb: string, partition: Partition, from: unknown, pass = 0) => ({
  verb,
  ...(pass > 0 && { pass }),
  detail: `${partition.id} ${from === undefined ? 'from the beginning' : `from ${JSON.stringify(from)}`}`,
  partition: partition.id,
  cursor: JSON.stringify(from ?? null),
});

/** The same connector, with each call of a verb seen by the watcher. */
function watchConnector(connector: Connector<any, any>, watcher: Watcher): Connector<any, any> {
  let count = 0;

  async function seen<Result>(call: Omit<VerbCall, 'number'>, run: () => Promise<Result>): Promise<Result> {
    const numbered = { number: ++count, ...call };
    await watcher.before(numbered);
    return (await watcher.after(numbered, await run())) as Result;
  }

  async function* fetchGroup(
    fetchMany: NonNullable<Connector['fetchMany']>,
    ...[context, partition, refs]: [Context<any>, Partition, Ref[]]
  ): AsyncIterable<[string, Fetched]> {
    const ids = refs.map((ref) => ref.id);
    const call = { number: ++count, verb: 'fetchMany', detail: ids.join(', '), ids };
    await watcher.before(call);
    for await (const pair of fetchMany.call(connector, watcher.wrap(context), partition, refs)) {
      if (!watcher.leavesOut(pair[0])) yield pair;
    }
    await watcher.after(call, undefined);
  }

  const { head, changes, lookup, resources, fetchMany } = connector;
  return {
    ...connector,
    partitions: (context) =>
      seen({ verb: 'partitions', detail: '' }, () => connector.partitions(watcher.wrap(context))),
    list: (context, partition, from, pass) =>
      seen(paged('list', partition, from, pass), () => connector.list(watcher.wrap(context), partition, from, pass)),
    fetch: (context, partition, ref) =>
      seen({ verb: 'fetch', detail: ref.id, ids: [ref.id] }, () =>
        connector.fetch(watcher.wrap(context), partition, ref),
      ),
    ...(head && {
      head: (context, partition) =>
        seen({ verb: 'head', detail: partition.id }, () => head.call(connector, watcher.wrap(context), partition)),
    }),
    ...(changes && {
      changes: (context, partition, from) =>
        seen(paged('changes', partition, from), () => changes.call(connector, watcher.wrap(context), partition, from)),
    }),
    ...(lookup && {
      lookup: (context, partition, ids) =>
        seen({ verb: 'lookup', detail: ids.join(', '), ids }, () =>
          lookup.call(connector, watcher.wrap(context), partition, ids),
        ),
    }),
    ...(resources && {
      resources: (context, parent, page) =>
        seen({ verb: 'resources', detail: parent ?? '' }, () =>
          resources.call(connector, watcher.wrap(context), parent, page),
        ),
    }),
    ...(fetchMany && { fetchMany: (context, partition, refs) => fetchGroup(fetchMany, context, partition, refs) }),
  };
}

/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** From 0 up to, and without, `limit`. */
  below(limit: number): number;
  pick<Value>(values: readonly Value[]): Value;
  chance(share: number): boolean;
}

/** Mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  return {
    below: (limit) => Math.floor(next() * limit),
    pick: (values) => values[Math.floor(next() * values.length)]!,
    chance: (share) => next() < share,
  };
}
