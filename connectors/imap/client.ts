import type { LookupFunction } from 'node:net';
import { ImapFlow } from 'imapflow';
import { ConnectorError, type Context, type HostAddress } from 'memoryd/connector';
import { defaultPort, defaultTimeoutSeconds, type ImapConfig } from './config.ts';
import { isLimit, isSilence, isTransient, toConnectorError } from './faults.ts';
import { countRemovals } from './requests.ts';

const connectTimeoutMs = 20_000;
const greetingTimeoutMs = 10_000;
/** With a new connection each. Silence is not tried again. */
const maxAttempts = 3;

/** The run's one connection. It is made again when it broke. */
export interface Mail {
  /**
   * Runs `work` with the connection, again when that breaks: it must be safe to repeat. Never from
   * inside of another `work`.
   */
  use<Value>(work: (client: ImapFlow) => Promise<Value>): Promise<Value>;
}

interface Held {
  client?: ImapFlow;
  /** After it the server is not asked again in this run: each time would take as long. */
  silence?: Error;
}

/** The mail session of a run; calls take turns, since a connection has one mailbox open at a time. */
export function openMail(ctx: Context<ImapConfig>): Promise<Mail> {
  const held: Held = {};
  return ctx.session(
    'mail',
    async () => createMail(ctx, held),
    async () => closeClient(held.client),
  );
}

function createMail(ctx: Context<ImapConfig>, held: Held): Mail {
  let turn: Promise<unknown> = Promise.resolve();
  async function attemptWork<Value>(work: (client: ImapFlow) => Promise<Value>): Promise<Value> {
    ctx.signal.throwIfAborted();
    if (held.silence !== undefined) throw held.silence;
    if (!held.client?.usable) {
      held.client?.close();
      held.client = await connect(ctx);
    }
    const { client } = held;
    const abort = () => client.close();
    ctx.signal.addEventListener('abort', abort, { once: true });
    try {
      return await work(client);
    } catch (error) {
      ctx.signal.throwIfAborted();
      const judged = toConnectorError(throttles.get(client) ?? error, serverOf(ctx.config), ctx.now());
      // A server that wants to be left alone is not even told goodbye.
      if (isLimit(judged)) client.close();
      throw judged;
    } finally {
      ctx.signal.removeEventListener('abort', abort);
    }
  }

  async function run<Value>(work: (client: ImapFlow) => Promise<Value>): Promise<Value> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await attemptWork(work);
      } catch (error) {
        ctx.signal.throwIfAborted();
        const isSilent = isSilence(error) || (held.client !== undefined && silent.has(held.client));
        if (isSilent && error instanceof Error) held.silence = error;
        if (attempt === maxAttempts || held.silence || !isTransient(error) || !isBroken(held.client)) throw error;
      }
    }
  }

  return {
    use(work) {
      const result = turn.then(() => run(work));
      turn = result.catch(() => {});
      return result;
    },
  };
}

/** Connections whose server said nothing for too long. */
const silent = new WeakSet<ImapFlow>();

/** Whether the connection ended on the way: with another one the same may succeed. */
function isBroken(client: ImapFlow | undefined): boolean {
  return client !== undefined && !client.usable;
}

/** Requests of servers to slow down; see `throttleListener`. */
const throttles = new WeakMap<ImapFlow, unknown>();

/**
 * The vendor's client waits inside of the command when the server asks to slow down, for up to minutes.
 * It tells so only to its logger. A worker does not wait; the run is parked instead.
 */
function throttleListener(heard: (error: unknown) => void) {
  const ignore = () => {};
  const warn = (entry: { throttleDelay?: number; err?: unknown }) => {
    if (typeof entry.throttleDelay === 'number') heard(entry.err);
  };
  return { trace: ignore, debug: ignore, info: ignore, warn, error: ignore };
}

/** Logs in. The vendor's client leaves its socket open when that fails, so it is closed here. */
export async function connect(ctx: Context<ImapConfig>): Promise<ImapFlow> {
  const password = await passwordOf(ctx);
  if (password !== undefined) return attempt(ctx, { pass: password });
  const token = await ctx.token();
  try {
    return await attempt(ctx, { accessToken: token });
  } catch (error) {
    if (!ConnectorError.is(error) || error.kind !== 'auth_expired') throw error;
    return attempt(ctx, { accessToken: await ctx.token(token) });
  }
}

async function passwordOf(ctx: Context<ImapConfig>): Promise<string | undefined> {
  try {
    return await ctx.secret('password');
  } catch (error) {
    if (ConnectorError.is(error) && error.kind === 'bad_config') return undefined;
    throw error;
  }
}

async function attempt(ctx: Context<ImapConfig>, login: { pass: string } | { accessToken: string }): Promise<ImapFlow> {
  ctx.signal.throwIfAborted();
  const { host, user, ca, secure = true, startTls = true } = ctx.config;
  const addresses = await ctx.addresses(host);
  const silenceMs = (ctx.config.timeoutSeconds ?? defaultTimeoutSeconds) * 1_000;
  const client = new ImapFlow({
    host,
    port: ctx.config.port ?? defaultPort,
    secure,
    ...(secure ? {} : { doSTARTTLS: startTls }),
    auth: { user, ...login },
    // The name stays, for the certificate; the way leads to what was checked.
    tls: { lookup: lookupOf(addresses), ...(ca === undefined ? {} : { ca }) },
    logger: throttleListener((error) => {
      throttles.set(client, error);
      // The wait begins after this call, and ends with the connection.
      queueMicrotask(() => client.close());
    }),
    disableAutoIdle: true,
    // QRESYNC is enabled when it is needed, and nothing else: see compare.ts.
    disableAutoEnable: true,
    connectionTimeout: Math.min(connectTimeoutMs, silenceMs),
    greetingTimeout: Math.min(greetingTimeoutMs, silenceMs),
    socketTimeout: silenceMs,
  });
  // Without a listener an error of the socket ends the process; the command that waits gets it too.
  client.on('error', (error: { code?: string }) => {
    if (error.code === 'ETIMEOUT') silent.add(client);
  });
  countRemovals(client);
  const abort = () => client.close();
  ctx.signal.addEventListener('abort', abort, { once: true });
  try {
    await client.connect();
    return client;
  } catch (error) {
    client.close();
    ctx.signal.throwIfAborted();
    throw toConnectorError(throttles.get(client) ?? error, serverOf(ctx.config), ctx.now());
  } finally {
    ctx.signal.removeEventListener('abort', abort);
  }
}

/** Answers with addresses that are known already. */
function lookupOf(addresses: readonly HostAddress[]): LookupFunction {
  return (host, { all, family }, callback) => {
    const fitting = addresses.filter((one) => (family !== 4 && family !== 6 ? true : one.family === family));
    const [first] = fitting;
    if (all === true) return callback(null, fitting);
    if (first) return callback(null, first.address, first.family);
    return callback(Object.assign(new Error(`${host} has no such address`), { code: 'ENOTFOUND' }), '', 0);
  };
}

export async function closeClient(client: ImapFlow | undefined): Promise<void> {
  if (client === undefined) return;
  try {
    if (client.usable) await client.logout();
  } finally {
    client.close();
  }
}

function serverOf(config: ImapConfig): string {
  return `${config.host}:${config.port ?? defaultPort}`;
}
