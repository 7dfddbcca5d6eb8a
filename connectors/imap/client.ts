import { ImapFlow } from 'imapflow';
import { ConnectorError, type Context } from 'memoryd/connector';
import { defaultPort, defaultTimeoutSeconds, type ImapConfig } from './config.ts';
import { toConnectorError } from './faults.ts';

const connectTimeoutMs = 20_000;
const greetingTimeoutMs = 10_000;

/** The run's one connection. It is made again when it broke. */
export interface Mail {
  /** Runs `work` with the connection. Never from inside of another `work`. */
  use<Value>(work: (client: ImapFlow) => Promise<Value>): Promise<Value>;
}

/** The mail session of a run; calls take turns, since a connection has one mailbox open at a time. */
export function openMail(ctx: Context<ImapConfig>): Promise<Mail> {
  const held: { client?: ImapFlow } = {};
  return ctx.session(
    'mail',
    async () => createMail(ctx, held),
    async () => closeClient(held.client),
  );
}

function createMail(ctx: Context<ImapConfig>, held: { client?: ImapFlow }): Mail {
  let turn: Promise<unknown> = Promise.resolve();
  async function run<Value>(work: (client: ImapFlow) => Promise<Value>): Promise<Value> {
    ctx.signal.throwIfAborted();
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
      throw toConnectorError(throttles.get(client) ?? error, serverOf(ctx.config), ctx.now());
    } finally {
      ctx.signal.removeEventListener('abort', abort);
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

/** What servers said about slowing down; see `throttleListener`. */
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
  const silenceMs = (ctx.config.timeoutSeconds ?? defaultTimeoutSeconds) * 1_000;
  const client = new ImapFlow({
    host,
    port: ctx.config.port ?? defaultPort,
    secure,
    ...(secure ? {} : { doSTARTTLS: startTls }),
    auth: { user, ...login },
    tls: { ...(ca === undefined ? {} : { ca }) },
    logger: throttleListener((error) => {
      throttles.set(client, error);
      client.close();
    }),
    disableAutoIdle: true,
    connectionTimeout: Math.min(connectTimeoutMs, silenceMs),
    greetingTimeout: Math.min(greetingTimeoutMs, silenceMs),
    socketTimeout: silenceMs,
  });
  // Without a listener an error of the socket ends the process; the command that waits gets it too.
  client.on('error', () => {});
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
