import { present } from '../../base/collections.ts';
import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { unlessAborted } from '../../base/concurrency.ts';
import { findConnection, type ConnectionRow } from '../../store/connections.ts';
import type { Database, Transaction } from '../../store/database.ts';
import {
  connectionsWithHooksDue,
  deleteSubscriptions,
  ensureRegistration,
  findRegistration,
  listSubscriptions,
  putSubscriptions,
  touchRegistration,
  updateRegistration,
  type HookRegistrationRow,
  type HookSubscriptionRow,
} from '../../store/hooks.ts';
import { isLeaseLost, whileHeld, type HeldLease } from '../../store/leases.ts';
import {
  ConnectorError,
  type Connector,
  type Context,
  type HookSubscription,
  type Hooks,
} from '../../connector/contract.ts';
import type { Registry } from '../../connector/registry.ts';
import type { Vault } from '../../auth/vault.ts';

export interface HookSubscriptionOptions {
  database: Database;
  registry: Registry;
  clock: Clock;
  log: Logger;
  vault: Vault;
  /** Where sources reach this installation, without a slash at the end; null: they do not. */
  publicUrl: string | null;
  openContext: OpenContext;
}

/** Opens the context in which a connector talks to its source about hooks. */
export type OpenContext = (
  connector: Connector<any, any>,
  connection: ConnectionRow,
  signal: AbortSignal,
) => Promise<{ connector: Connector<any, any>; context: Context<any>; dispose(): Promise<void> }>;

export interface HookSubscriptions {
  /** The secret that the source signs the hooks of a connection with; null when it has none. */
  secretOf(connectionId: string): Promise<string | null>;
  /**
   * Subscribes, renews and replaces what is due. One connection's failure does not keep the others. Throws
   * `lease_lost` when another process does that by now; nothing is stored then.
   */
  reconcile(signal: AbortSignal, lease: HeldLease): Promise<void>;
  /** The selection of the connection changed. */
  changed(connectionId: string): Promise<void>;
  /** Tells the source to stop, before the connection goes. Failures are logged: subscriptions end by themselves. */
  cancel(connection: ConnectionRow): Promise<void>;
}

/** Runs a transaction, with proof of a lease where others may have taken the work over. */
type Write = (work: (tx: Transaction) => Promise<void>) => Promise<void>;

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const perRound = 50;
const patienceMs = 30_000;
/** How long a registration without expiry is left alone. */
const recheckMs = dayMs;

/** Keeps the subscriptions of active connections as they should be, by looking at what is and mending it. */
export function createHookSubscriptions(options: HookSubscriptionOptions): HookSubscriptions {
  const { database, clock, log, vault, publicUrl } = options;

  async function reconcileOne(id: string, write: Write, signal: AbortSignal): Promise<void> {
    const connection = await findConnection(database, id);
    if (connection?.status !== 'active') return;
    const now = clock.now();
    const secret = { value: randomBytes(32).toString('base64url') };
    const sealed = vault.seal('hook secret', id, secret);
    const registration = await ensureRegistration(database, { connectionId: id, secret: sealed, now });
    try {
      await mend(options, { connection, registration, write }, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (isLeaseLost(error)) throw error;
      await postpone(options, { connection, registration, write }, error);
    }
  }

  return {
    async secretOf(connectionId) {
      const registration = await findRegistration(database, connectionId);
      return registration && openSecret(vault, registration);
    },
    async reconcile(signal, lease) {
      if (publicUrl === null) return;
      const providers = await providersWithHooks(options.registry);
      if (providers.length === 0) return;
      const due = await connectionsWithHooksDue(database, providers, { now: clock.now(), limit: perRound });
      for (const id of due) {
        if (signal.aborted) return;
        await reconcileOne(id, (work) => whileHeld(database, lease, work), signal);
      }
    },
    changed: (connectionId) => touchRegistration(database, connectionId, clock.now()),
    async cancel(connection) {
      const present = await listSubscriptions(database, connection.id);
      if (present.length === 0) return;
      const never = new AbortController().signal;
      const write: Write = (work) => database.transaction(work);
      await withTalk(options, { connection, secret: '', write }, never, (talk) => drop(talk, present)).catch(
        (error: unknown) =>
          log.warn({ err: error, connectionId: connection.id }, 'hooks could not be cancelled at the source'),
      );
    },
  };
}

async function providersWithHooks(registry: Registry): Promise<string[]> {
  const loaded = await Promise.all(registry.names().map((name) => registry.load(name).catch(() => null)));
  return loaded.flatMap((connector) => (connector?.hooks?.subscribe ? [connector.spec.name] : []));
}

function openSecret(vault: Vault, { connectionId, secret }: HookRegistrationRow): string {
  return vault.open('hook secret', connectionId, secret)['value'] as string;
}

/** A connection whose subscriptions are looked at. */
interface Registered {
  connection: ConnectionRow;
  registration: HookRegistrationRow;
  write: Write;
}

async function mend(
  options: HookSubscriptionOptions,
  { connection, registration, write }: Registered,
  signal: AbortSignal,
): Promise<void> {
  const { database, clock, vault } = options;
  const now = clock.now();
  const target = targetOf(connection, addressOf(options, connection));
  const secret = openSecret(vault, registration);
  const present = await listSubscriptions(database, connection.id);
  const alive = present.filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
  const fits = registration.target === target && alive.length === present.length && present.length > 0;
  await withTalk(options, { connection, secret, write }, signal, (talk) =>
    fits ? renewDue(talk, alive) : replaceAll(talk, present),
  );
  const renewals = (await listSubscriptions(database, connection.id)).flatMap((one) => renewAt(one) ?? []);
  const next = Math.min(now.getTime() + recheckMs, ...renewals.map((date) => date.getTime()));
  const nextTry = new Date(Math.max(next, now.getTime() + minuteMs));
  const change = { target, failures: 0, problem: null, nextTry, now };
  await write((tx) => updateRegistration(tx, connection.id, change));
}

async function postpone(
  { clock, log }: HookSubscriptionOptions,
  { connection, registration, write }: Registered,
  error: unknown,
): Promise<void> {
  const now = clock.now();
  const failures = registration.failures + 1;
  const pauseMs = Math.min(5 * minuteMs * 2 ** Math.min(failures - 1, 10), 6 * 60 * minuteMs);
  const problem = ConnectorError.is(error) ? error.message : 'Unexpected failure; see the log.';
  const { provider, id } = connection;
  log.warn({ err: error, connectionId: id, provider }, 'hooks could not be set up, changes arrive by schedule');
  const nextTry = new Date(now.getTime() + pauseMs);
  const change = { target: registration.target, failures, problem, nextTry, now };
  await write((tx) => updateRegistration(tx, id, change));
}

/** One conversation with a source about the hooks of a connection. */
interface Talk extends Pick<HookSubscriptionOptions, 'database' | 'clock' | 'log'> {
  connectionId: string;
  hooks: Hooks<any>;
  context: Context<any>;
  url: string;
  secret: string;
  write: Write;
}

async function withTalk(
  options: HookSubscriptionOptions,
  { connection, secret, write }: { connection: ConnectionRow; secret: string; write: Write },
  signal: AbortSignal,
  work: (talk: Talk) => Promise<void>,
): Promise<void> {
  const { database, clock, log, registry } = options;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  const opened = await options.openContext(await registry.load(connection.provider), connection, limited);
  const told = { connectionId: connection.id, url: addressOf(options, connection), secret, write };
  const talk = { database, clock, log, hooks: opened.connector.hooks!, context: opened.context, ...told };
  try {
    await unlessAborted(work(talk), limited);
  } finally {
    await opened.dispose();
  }
}

/** New subscriptions are there before the old ones go, so that nothing is missed between them. */
async function replaceAll(talk: Talk, old: readonly HookSubscriptionRow[]): Promise<void> {
  const made = await talk.hooks.subscribe!(talk.context, talk.url, talk.secret);
  await store(talk, made);
  const stale = old.filter((one) => !made.some(({ id }) => id === one.id));
  await drop(talk, stale);
}

async function renewDue(talk: Talk, present: readonly HookSubscriptionRow[]): Promise<void> {
  const now = talk.clock.now();
  const due = present.filter((one) => (renewAt(one) ?? Infinity) <= now);
  if (due.length === 0) return;
  if (!talk.hooks.renew) return replaceAll(talk, present);
  for (const one of due) {
    const renewed = await talk.hooks.renew(talk.context, toSubscription(one), talk.url, talk.secret);
    await store(talk, [renewed]);
    if (renewed.id !== one.id) await drop(talk, [one]);
  }
}

async function store(talk: Talk, made: readonly HookSubscription[]): Promise<void> {
  const rows = made.map((one) => ({ id: one.id, expiresAt: dateOf(one.expiresAt), state: one.state ?? null }));
  try {
    await talk.write((tx) => putSubscriptions(tx, talk.connectionId, rows, talk.clock.now()));
  } catch (error) {
    if (isLeaseLost(error)) await forsake(talk, made);
    throw error;
  }
}

/** Ends unused subscriptions at the source, unless a later one is the same. */
async function forsake(talk: Talk, made: readonly HookSubscription[]): Promise<void> {
  const kept = await listSubscriptions(talk.database, talk.connectionId);
  const idle = made.filter((one) => !kept.some((row) => row.id === one.id));
  await cancelAtSource(talk, idle);
}

async function drop(talk: Talk, old: readonly HookSubscriptionRow[]): Promise<void> {
  await cancelAtSource(talk, old.map(toSubscription));
  const ids = old.map((one) => one.id);
  await talk.write((tx) => deleteSubscriptions(tx, talk.connectionId, ids));
}

/** Best effort: what the source keeps sends hooks until it expires, which do no harm. */
async function cancelAtSource(
  { hooks, context, log, connectionId }: Talk,
  old: readonly HookSubscription[],
): Promise<void> {
  for (const one of old) {
    await hooks.cancel?.(context, one).catch((error: unknown) => {
      context.signal.throwIfAborted();
      log.warn({ err: error, connectionId }, 'a hook could not be cancelled at the source');
    });
  }
}

function addressOf({ publicUrl }: HookSubscriptionOptions, { provider, id }: ConnectionRow): string {
  return `${publicUrl}/v3/hooks/${provider}/${id}`;
}

/** Three quarters of its life after it was made, and at least a day before its end when it lives longer than four. */
function renewAt({ createdAt, expiresAt }: HookSubscriptionRow): Date | null {
  if (expiresAt === null) return null;
  const lifeMs = expiresAt.getTime() - createdAt.getTime();
  return new Date(expiresAt.getTime() - Math.min(lifeMs / 4, dayMs));
}

function targetOf({ selection }: ConnectionRow, url: string): string {
  return hash('sha256', JSON.stringify([url, selection]), 'base64url');
}

function toSubscription({ id, expiresAt, state }: HookSubscriptionRow): HookSubscription {
  return {
    id,
    ...present({ expiresAt: expiresAt?.toISOString() }),
    ...(state && { state: state as NonNullable<HookSubscription['state']> }),
  };
}

function dateOf(text: string | undefined): Date | null {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? null : new Date(time);
}
