import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { findConnection, requestSync, maxHintedIds, type RequestedSync } from '../../store/connections.ts';
import type { Database, Queryable } from '../../store/database.ts';
import { connectionsOfAccount, connectionsOfPartitions, recordDelivery } from '../../store/hooks.ts';
import { ConnectorError, type Connector, type HookResult, type RawHook, type Hint } from '../../connector/contract.ts';
import type { Registry } from '../../connector/registry.ts';
import { type SharedHook, type SharedHooks, createSharedHooks } from './shared-hooks.ts';
import type { Encryption } from '../../base/encryption.ts';
import { openConnectionContext } from '../../source/context.ts';
import type { Credentials } from '../../auth/credentials.ts';
import type { Outbound } from '../../source/http/outbound.ts';
import { createVault } from '../../auth/vault.ts';
import { createHookSubscriptions, type HookSubscriptions } from './subscriptions.ts';

export interface HookReceiverOptions {
  database: Database;
  registry: Registry;
  clock: Clock;
  log: Logger;
  /** The secret of a connection's hooks; null when it has none. */
  secretOf(connectionId: string): Promise<string | null>;
  /** The hooks that serve all connections of a provider. */
  shared: SharedHooks;
  /** Wakes a worker for the connection. */
  wake(connectionId: string): Promise<void>;
}

export interface HookAddress {
  provider: string;
  /** Null: the hook of the provider, which names the connections by their account, or else by their partitions. */
  connectionId: string | null;
}

interface IncomingHook extends HookAddress {
  raw: RawHook;
}

/** An address that hooks may be sent to. */
export interface OpenHook {
  /** No hook is larger. */
  maxBodyBytes: number;
  /**
   * Takes what a source sent: checks the signature, forgets repetitions, and asks for a sync that
   * serves the hints of a moment together. Throws `unauthorized` for a wrong signature,
   * `invalid_request` for what the connector cannot read, `unavailable` when that takes too long.
   */
  receive(raw: RawHook): Promise<HookAnswer>;
}

export interface HookAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export interface HookReceiver {
  /**
   * Looks an address up, before anything that was sent there is read. Throws `not_found` for a provider or
   * connection that is not there or has no hooks, `unavailable` when that takes too long. With `receive` it
   * takes a second at the most.
   */
  open(address: HookAddress): Promise<OpenHook>;
  /**
   * The one hook of a provider whose source makes the secret by itself. Throws `unsupported_operation` for others.
   */
  shared(provider: string): Promise<SharedHook>;
  /** Takes the secret that the source offers, and that somebody has seen. Throws as `shared`, and `conflict`. */
  accept(provider: string, secret: string): Promise<SharedHook>;
  /** Forgets what was offered and taken. Throws as `shared`. */
  forget(provider: string): Promise<SharedHook>;
  close(): Promise<void>;
}

/** How long checking a request may take, and how long the answer waits for its hints to be stored. */
const patienceMs = 300;
const defaultGatherMs = 3_000;
const longestGatherMs = 10 * 60_000;
const maxAnswerLength = 64 * 1024;
const defaultBodyBytes = 256 * 1024;
const mostBodyBytes = 4 * 1024 * 1024;
const soundSecret = /^[\x21-\x7e]{8,200}$/;

export function createHookReceiver(options: HookReceiverOptions): HookReceiver {
  const addressing = createAddressing(options);
  const hurry = createHurry(options);

  async function receive(found: Addressee, hook: IncomingHook): Promise<HookAnswer> {
    const result = await hurry.inTime(addressing.check(found, hook.raw));
    if ('respond' in result) return handshakeAnswer(result.respond);
    const gatherMs = gatherMsOf(found.connector);
    const storing = store(options, hook, { connector: found.connector, result, gatherMs }).then((ids) => {
      for (const id of ids) hurry.wakeAfter(gatherMs, id);
    });
    hurry.keep(storing);
    await hurry.soon(storing, undefined);
    return { status: 202, headers: { 'content-type': 'application/json; charset=utf-8' }, body: '{"received":true}' };
  }

  return {
    async open(address) {
      const found = await hurry.inTime(addressing.addressee(address));
      const maxBodyBytes = Math.min(found.connector.hooks?.maxBodyBytes ?? defaultBodyBytes, mostBodyBytes);
      return { maxBodyBytes, receive: (raw) => receive(found, { ...address, raw }) };
    },
    async shared(provider) {
      await addressing.requireOffering(provider);
      return options.shared.show(provider);
    },
    async accept(provider, secret) {
      await addressing.requireOffering(provider);
      await options.shared.accept(provider, secret);
      return options.shared.show(provider);
    },
    async forget(provider) {
      await addressing.requireOffering(provider);
      await options.shared.forget(provider);
      return options.shared.show(provider);
    },
    close: () => hurry.close(),
  };
}

/** Whom a hook is for, and what it must be signed with. */
interface Addressee {
  connector: Connector<any, any>;
  /** Null: the source is yet to offer it. */
  secret: string | null;
}

/** Finds out whom a hook is for, and whether its source signed it. */
function createAddressing({ database, registry, log, shared, secretOf }: HookReceiverOptions) {
  async function connectorOf(provider: string): Promise<Connector<any, any> | null> {
    if (!registry.names().includes(provider)) return null;
    return registry.load(provider).catch(() => null);
  }

  async function secretFor(
    { hooks }: Connector<any, any>,
    { provider, connectionId }: HookAddress,
  ): Promise<string | null> {
    if (connectionId === null) return shared.secretOf(provider, { isOffered: hooks?.offered !== undefined });
    if (!/^\w{1,64}$/.test(connectionId)) return null;
    const connection = await findConnection(database, connectionId);
    if (connection?.provider !== provider || connection.status === 'deleting') return null;
    return secretOf(connectionId);
  }

  /** Whoever sends it, it is only shown: it counts when somebody has compared it with what the source shows. */
  async function takeOffer({ spec, hooks }: Connector<any, any>, raw: RawHook): Promise<HookResult> {
    const secret = hooks?.offered?.(raw);
    if (typeof secret !== 'string' || !soundSecret.test(secret)) throw noHook();
    await shared.offer(spec.name, secret);
    log.info({ provider: spec.name }, 'a source offers a secret for its hooks');
    return { respond: { status: 200 } };
  }

  return {
    /** The connector, the secret that the request must be signed with, and whose hook it is. */
    async addressee({ provider, connectionId }: HookAddress): Promise<Addressee> {
      const connector = await connectorOf(provider);
      const secret = connector?.hooks ? await secretFor(connector, { provider, connectionId }) : null;
      if (connector && secret !== null) return { connector, secret };
      if (connector?.hooks?.offered && connectionId === null) return { connector, secret };
      throw noHook();
    },
    async check({ connector, secret }: Addressee, raw: RawHook): Promise<HookResult> {
      if (secret === null) return takeOffer(connector, raw);
      try {
        return await connector.hooks!.receive(raw, secret);
      } catch (error) {
        throw refusal(error);
      }
    },
    async requireOffering(provider: string): Promise<void> {
      const connector = await connectorOf(provider);
      if (connector?.hooks?.offered) return;
      throw new MemorydError('unsupported_operation', 'Its source does not make the secret of its hooks by itself');
    },
  };
}

/** Answers sources within the time that they wait; what takes longer goes on in the background. */
function createHurry({ clock, log, wake }: HookReceiverOptions) {
  const stop = new AbortController();
  const background = new Set<Promise<void>>();
  const gathering = new Set<string>();

  function keep(work: Promise<unknown>): void {
    const kept: Promise<void> = work
      .then(() => {})
      .catch((error: unknown) => log.warn({ err: error }, 'hook lost, the next listing finds the change'))
      .finally(() => background.delete(kept));
    background.add(kept);
  }

  /** The result of the work, or `late` when it takes longer than a source likes to wait. */
  async function soon<Value, Late>(work: Promise<Value>, late: Late): Promise<Value | Late> {
    const settled = new AbortController();
    const timer = clock.sleep(patienceMs, AbortSignal.any([stop.signal, settled.signal])).then(() => late);
    try {
      return await Promise.race([work, timer]);
    } finally {
      settled.abort();
    }
  }

  return {
    keep,
    soon,
    /** The result of the work. Throws `unavailable` when it takes longer than a source likes to wait. */
    async inTime<Value>(work: Promise<Value>): Promise<Value> {
      work.catch(() => {});
      const done = await soon(
        work.then((value) => ({ value })),
        null,
      );
      if (!done) throw new MemorydError('unavailable', 'The hook could not be checked in time; send it again');
      return done.value;
    },
    /** The first hint of a connection starts its time; those that come meanwhile are served with it. */
    wakeAfter(ms: number, id: string): void {
      if (gathering.has(id)) return;
      gathering.add(id);
      keep(
        clock
          .sleep(ms, stop.signal)
          .then(() => gathering.delete(id))
          .then(() => (stop.signal.aborted ? undefined : wake(id))),
      );
    },
    async close(): Promise<void> {
      stop.abort();
      await Promise.all(background);
    },
  };
}

function gatherMsOf({ hooks }: Connector<any, any>): number {
  return Math.min(Math.max(hooks?.gatherMs ?? defaultGatherMs, 0), longestGatherMs);
}

/** Stores what the hook says, unless it is a repetition. Answers the connections that it concerns. */
async function store(
  { database, clock }: HookReceiverOptions,
  hook: IncomingHook,
  { connector, result, gatherMs }: { connector: Connector<any, any>; result: Hints; gatherMs: number },
): Promise<string[]> {
  const scope = hook.connectionId ?? hook.provider;
  const request = requestFor(connector, result.hints);
  return database.transaction(async (tx) => {
    const now = clock.now();
    const isNew = await recordDelivery(tx, { scope, deliveryId: deliveryIdOf(hook.raw, result), now });
    if (!isNew || result.hints.length === 0) return [];
    const at = new Date(now.getTime() + gatherMs);
    const named = await addressed(tx, hook, result);
    for (const id of named) await requestSync(tx, id, request, { now, at });
    return named;
  });
}

async function addressed(tx: Queryable, hook: IncomingHook, result: Hints): Promise<string[]> {
  if (hook.connectionId !== null) return [hook.connectionId];
  if (result.connection !== undefined) return connectionsOfAccount(tx, hook.provider, result.connection);
  const partitions = result.hints.flatMap(({ partition }) => (partition === undefined ? [] : [partition]));
  return partitions.length === 0 ? [] : connectionsOfPartitions(tx, hook.provider, partitions);
}

type Hints = Extract<HookResult, { hints: unknown }>;

/** Nobody learns from outside which connections there are: every address without a hook looks alike. */
const noHook = () => new MemorydError('not_found', 'There is no hook at this address');

/** A connector's error about a request concerns that request alone and needs no attention. */
function refusal(error: unknown): MemorydError {
  const unsigned = ConnectorError.is(error) && ['forbidden', 'auth_expired'].includes(error.kind);
  return unsigned
    ? new MemorydError('unauthorized', 'The signature is not valid')
    : new MemorydError('invalid_request', 'The hook cannot be read', { cause: error });
}

/** A handshake echoes what was sent, so that it is never anything that a browser would run. */
function handshakeAnswer({
  status,
  headers = {},
  body = '',
}: Extract<HookResult, { respond: unknown }>['respond']): HookAnswer {
  const isSound = Number.isInteger(status) && status >= 200 && status <= 299 && body.length <= maxAnswerLength;
  if (!isSound) throw new MemorydError('invalid_request', 'The hook cannot be answered');
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const isJson = own.some(([name, value]) => name === 'content-type' && /^application\/json\b/i.test(value));
  return {
    status,
    body,
    headers: {
      ...Object.fromEntries(own.filter(([name, value]) => /^x-[a-z0-9-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value))),
      'content-type': isJson ? 'application/json; charset=utf-8' : 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
    },
  };
}

/** Headers that name the delivery or the state of things, and not the way of the request through proxies. */
const telling = /^x-(?!forwarded|real-ip|request-id|cloud-trace|amzn|envoy|vercel|b3|cdn)/;

/** The source's id of this request, else a digest that is the same when the request is repeated. */
function deliveryIdOf(raw: RawHook, result: Extract<HookResult, { hints: unknown }>): string {
  if (result.deliveryId !== undefined && result.deliveryId !== '') return `id:${digest([result.deliveryId])}`;
  const headers = Object.entries(raw.headers)
    .filter(([name]) => telling.test(name))
    .toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `hash:${digest([raw.method, raw.path, JSON.stringify(raw.query), JSON.stringify(headers), raw.body])}`;
}

function digest(parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest('base64url');
}

/** The sync that serves some hints: a look at just the named ids when the connector can do that, else at everything. */
export function requestFor(connector: Connector<any, any>, hints: readonly Hint[]): RequestedSync {
  const everything = { mode: 'incremental', trigger: 'event' } as const;
  if (!connector.lookup) return everything;
  const gathered = new Map<string, Set<string>>();
  for (const { partition, ids } of hints) {
    if (partition === undefined || ids === undefined) return everything;
    const known = gathered.get(partition) ?? new Set();
    for (const id of ids) known.add(id);
    if (known.size > maxHintedIds) return everything;
    gathered.set(partition, known);
  }
  return { ...everything, hints: Object.fromEntries([...gathered].map(([name, ids]) => [name, [...ids]])) };
}

export interface HooksOptions {
  database: Database;
  registry: Registry;
  credentials: Credentials;
  /** Absent: connectors cannot send requests. */
  outbound?: Outbound | undefined;
  encryption: Encryption;
  clock: Clock;
  log: Logger;
  /** Where sources reach this installation; null: they do not. */
  publicUrl: string | null;
  /** Secrets of hooks that serve all connections of a provider. */
  sharedSecrets: Readonly<Record<string, string>>;
  /** Wakes a worker for a connection. */
  wake(connectionId: string): Promise<void>;
}

/** Everything about what sources send by themselves. */
export function createHooks(options: HooksOptions): { receiver: HookReceiver; subscriptions: HookSubscriptions } {
  const { database, clock } = options;
  const vault = createVault(options.encryption);
  const publicUrl = options.publicUrl?.replace(/\/+$/, '') ?? null;
  const subscriptions = createHookSubscriptions({
    ...options,
    vault,
    publicUrl,
    openContext: (connector, connection, signal) => openConnectionContext(options, { connector, connection, signal }),
  });
  const receiver = createHookReceiver({
    ...options,
    secretOf: (id) => subscriptions.secretOf(id),
    shared: createSharedHooks({ database, vault, clock, publicUrl, configured: options.sharedSecrets }),
  });
  return { receiver, subscriptions };
}
