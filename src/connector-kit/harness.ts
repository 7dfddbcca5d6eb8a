import type { RequestedSync } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { sql } from '../store/sql.ts';
import type { SyncRunRow } from '../store/sync-runs.ts';
import type { Context, RawHook, Resource } from '../connector/contract.ts';
import { customIdOf } from '../sync/check-item.ts';
import type { RunSettings } from '../sync/run.ts';
import { createCrashingDatabase, type CrashingDatabase } from './crashing-database.ts';
import { createFramework, type Framework } from './framework.ts';
import { differences, findOrphans, readMemory, type Remembered } from './remembered.ts';
import { createSetup, type Interference, type Setup, type SetupOptions } from './setup.ts';

export interface HarnessOptions extends SetupOptions {
  settings?: Partial<RunSettings> | undefined;
}

export interface SyncOptions extends Partial<RequestedSync> {
  signal?: AbortSignal;
  /** The process dies at this point, counted from 1 in this run. */
  crashAt?: number;
  /** It may also die while it processes what the run brought. Default true. */
  crashesInProcessing?: boolean;
  /** Nobody asks for a sync: what was interrupted goes on by itself. */
  resume?: boolean;
}

export interface Synced {
  /** Null when the process died. */
  run: SyncRunRow | null;
}

export interface ConnectionState {
  status: string;
  statusReason: string | null;
  nextSyncAt: Date | null;
}

export interface LedgerItem {
  state: string;
  error: string | null;
  nextTry: Date | null;
}

/** One connection to a new world, with a hand on everything that happens between the two. */
export interface Harness extends Pick<
  Setup,
  'world' | 'clock' | 'random' | 'canary' | 'connector' | 'traffic' | 'lines' | 'fail'
> {
  readonly database: Database;
  connectionId(): string;
  containerTag(): string;
  interfere(interference: Interference): void;
  /** Forgets calls and requests until now. */
  forget(): void;
  /** Requests since the last `forget`; calls of verbs when the world shows no requests. */
  requests(): number;
  callsOf(verb: string): number;
  sync(options?: SyncOptions): Promise<Synced>;
  /** A sync that must complete. */
  syncWell(options?: SyncOptions): Promise<SyncRunRow>;
  /** Syncs until all that was put off is done: failed items, held sweeps, what a dead process left. */
  recover(): Promise<void>;
  /** A new connection to the same world, into a container of its own. */
  reconnect(): Promise<void>;
  /** Creates `note-1` to `note-<count>` and answers these names. */
  populate(count: number): Promise<string[]>;
  /** The same before a sync that must complete. */
  populateAndSync(count: number): Promise<string[]>;
  /** Creates an item with a text that no item ever had before. */
  create(name: string): Promise<void>;
  /** Gives an item a text that no item ever had before. */
  edit(name: string): Promise<void>;
  memory(): Promise<Map<string, Remembered>>;
  remembered(name: string): Promise<Remembered | undefined>;
  connection(): Promise<ConnectionState>;
  /** How memory differs from the world, one sentence each; empty when it does not. */
  differences(): Promise<string[]>;
  /** The check fails unless memory equals the world. */
  expectMirror(when: string): Promise<void>;
  /** The same after a sync that must complete. */
  syncAndCompare(when: string, options?: SyncOptions): Promise<void>;
  expect(holds: boolean, message: string): void;
  /** Adds to the message of a failed check: which fault at which request. */
  note(text: string): void;
  /** How many notes there are. */
  notes(): number;
  /** Forgets the notes after the first ones. */
  forgetNotes(kept: number): void;
  /** The row of the ledger. */
  item(name: string): Promise<LedgerItem | undefined>;
  /** Runs a verb outside of a sync. */
  withContext<Result>(run: (context: Context<any>) => Promise<Result>): Promise<Result>;
  /** Takes every interference away, and authorizes the connection anew if it needs that. */
  restore(): Promise<void>;
  /** The user selects these resources; none: everything. */
  select(resources: readonly Resource[]): Promise<void>;
  /** Hands a report of the source to the daemon. */
  report(raw: RawHook): Promise<{ status: number; asked: boolean }>;
  close(): Promise<void>;
}

/** Longer than any lease. */
const leasesEndMs = 61 * 60_000;
/** Longer than the pause of a failed item. */
const pausesEndMs = 26 * 3_600_000;

export async function openHarness(options: HarnessOptions): Promise<Harness> {
  const setup = await createSetup(options);
  const { world, traffic, connector, parts } = setup;
  const link = await createLink(setup, options.settings ?? {});
  let texts = 0;
  const text = (name: string) => `${name}, text ${++texts}: ${someWords(setup)}.`;
  const memory = () => readMemory(parts.database, link.containerTag());
  const differ = async () => [
    ...differences(connector.spec.name, await world.expected(link.selected()), await memory()),
    ...(await findOrphans(parts.database, link.containerTag())),
  ];
  async function populate(count: number): Promise<string[]> {
    const names = Array.from({ length: count }, (_, index) => `note-${index + 1}`);
    for (const name of names) await world.create(name, text(name));
    return names;
  }
  async function expectMirror(when: string): Promise<void> {
    const found = await differ();
    if (found.length > 0) setup.fail([`${when}, memory differs from the source:`, ...found].join('\n    '));
  }
  return {
    ...setup,
    ...link,
    database: parts.database,
    interfere: (interference) => void (traffic.interference = interference),
    ...countsOf(setup),
    populate,
    async populateAndSync(count) {
      const names = await populate(count);
      await link.syncWell();
      return names;
    },
    create: async (name) => world.create(name, text(name)),
    edit: async (name) => world.edit(name, text(name)),
    memory,
    remembered: async (name) => (await memory()).get(customIdOf(connector.spec.name, world.idOf(name))),
    differences: differ,
    expectMirror,
    async syncAndCompare(when, options) {
      await link.syncWell(options);
      await expectMirror(when);
    },
    expect(holds, message) {
      if (!holds) setup.fail(message);
    },
    note: (line) => void setup.story.push(line),
    notes: () => setup.story.length,
    forgetNotes: (kept) => void setup.story.splice(kept),
    async item(name) {
      const [item] = await parts.database.query<LedgerItem>(sql`
        select state, error, next_try as "nextTry" from sync_items
        where connection_id = ${link.connectionId()} and ext_id = ${world.idOf(name)}`);
      return item;
    },
  };
}

function countsOf({ world, traffic }: Setup): Pick<Harness, 'forget' | 'requests' | 'callsOf'> {
  return {
    forget() {
      traffic.calls.length = 0;
      traffic.answered.length = 0;
      traffic.requestsBefore = world.traffic?.count() ?? 0;
    },
    requests: () => (world.traffic ? world.traffic.count() - traffic.requestsBefore : traffic.calls.length),
    callsOf: (verb) => traffic.calls.filter((call) => call.verb === verb).length,
  };
}

let containers = 0;

/** The connection, and the process that syncs it. */
interface Link {
  containerTag: string;
  connectionId: string;
  selected: readonly Resource[];
  process: CrashingDatabase;
  framework: Framework;
}

/** The connection and its syncs. */
async function createLink(setup: Setup, settings: Partial<RunSettings>) {
  const { world, clock, traffic, parts } = setup;
  const link = await connect(setup, settings);

  async function sync(options: SyncOptions = {}): Promise<Synced> {
    const synced = await syncOnce(setup, link, options);
    if (link.process.crashed) {
      clock.advance(leasesEndMs);
      Object.assign(link, newProcess(setup, settings, link.containerTag));
    }
    return synced;
  }

  async function syncWell(options: SyncOptions = {}): Promise<SyncRunRow> {
    const { run } = await sync(options);
    if (run?.status === 'completed') return run;
    return setup.fail(`A sync without any trouble did not complete: ${run?.error ?? 'there is no run'}.`);
  }

  return {
    sync,
    syncWell,
    connectionId: () => link.connectionId,
    containerTag: () => link.containerTag,
    selected: () => link.selected.map(({ id }) => id),
    withContext: <Result>(run: (context: Context<any>) => Promise<Result>) =>
      clock.during(link.framework.withContext(link.connectionId, run)),
    async restore() {
      traffic.interference = {};
      await link.framework.reauthorize(link.connectionId);
    },
    // Time stands still: an endpoint has a moment for its answer, however busy this machine is.
    report: (raw: RawHook) => link.framework.report(link.connectionId, raw),
    close: async () => {
      await link.framework.close().catch(() => {});
      await world.close();
    },
    async select(resources: readonly Resource[]) {
      link.selected = resources;
      await link.framework.select(link.connectionId, resources);
    },
    async recover() {
      for (let round = 0; round < 3; round++) {
        clock.advance(pausesEndMs);
        await syncWell({ mode: 'full' });
      }
    },
    reconnect: async () => void Object.assign(link, await connect(setup, settings)),
    async connection() {
      const [row] = await parts.database.query<ConnectionState>(sql`
        select status, status_reason as "statusReason", next_sync_at as "nextSyncAt"
        from connections where id = ${link.connectionId}`);
      return row ?? setup.fail(`The connection ${link.connectionId} is gone.`);
    },
  };
}

/** A new connection into a container of its own. */
async function connect(setup: Setup, settings: Partial<RunSettings>): Promise<Link> {
  const containerTag = `check-${++containers}`;
  const process = newProcess(setup, settings, containerTag);
  return { containerTag, selected: [], ...process, connectionId: await process.framework.connect() };
}

/** Nothing that an old one held in its memory is left. */
function newProcess(
  setup: Setup,
  settings: Partial<RunSettings>,
  containerTag: string,
): Pick<Link, 'process' | 'framework'> {
  const { world, clock, traffic, parts } = setup;
  const process = createCrashingDatabase(parts.database, {
    statement: (change) => void (setup.statements.count += change),
    commit: () => traffic.reachBoundary('a commit of the database'),
  });
  const framework = createFramework({
    ...{ parts, clock, world, containerTag, process },
    connector: setup.watched,
    deliver: setup.deliver,
    // Checks remove an item in each of many rounds, all of which fall on one day.
    settings: { claimSize: 4, brakeWindowMs: 0, tickMs: 2_000, ...settings },
    write: (line) => void setup.lines.push(line),
  });
  return { process, framework };
}

async function syncOnce(
  { traffic }: Setup,
  { process, framework, connectionId }: Link,
  { signal, crashAt = Infinity, crashesInProcessing = true, resume, ...request }: SyncOptions,
): Promise<Synced> {
  const stop = new AbortController();
  const crash = () => {
    traffic.isDead = true;
    process.crash();
    stop.abort();
  };
  Object.assign(traffic, { boundaries: 0, crashAt, isDead: false, crash });
  const full: RequestedSync = { mode: 'incremental', trigger: 'manual', ...request };
  try {
    const signals = AbortSignal.any([stop.signal, ...(signal ? [signal] : [])]);
    await framework.sync(connectionId, resume ? null : full, signals);
    if (!crashesInProcessing) traffic.crashAt = Infinity;
    const run = await framework.process(connectionId);
    return { run: process.crashed ? null : run };
  } catch (error) {
    if (!process.crashed) throw error;
    return { run: null };
  } finally {
    Object.assign(traffic, { crashAt: Infinity, isDead: false });
  }
}

const vocabulary = ['amber', 'boat', 'copper', 'drift', 'ember', 'fern', 'gravel', 'harbour', 'iris', 'juniper'];

function someWords({ random }: Setup): string {
  return Array.from({ length: 6 }, () => random.pick(vocabulary)).join(' ');
}
