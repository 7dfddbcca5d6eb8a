import { ImapFlow, type FetchMessageObject, type FetchQueryObject } from 'imapflow';
import { ConnectorError, type Context } from 'memoryd/connector';
import { defaultPort, type ImapConfig } from './config.ts';
import { toConnectorError } from './faults.ts';

const connectTimeoutMs = 20_000;
const greetingTimeoutMs = 10_000;
const silenceTimeoutMs = 60_000;

/** A mailbox opened by EXAMINE. Its facts are those of the moment of opening: see `openMailbox`. */
export interface OpenMailbox {
  exists: number;
  uidValidity: string;
}

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
      throw toConnectorError(error, serverOf(ctx.config), ctx.now());
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
  const client = new ImapFlow({
    host,
    port: ctx.config.port ?? defaultPort,
    secure,
    ...(secure ? {} : { doSTARTTLS: startTls }),
    auth: { user, ...login },
    tls: { ...(ca === undefined ? {} : { ca }) },
    logger: false,
    disableAutoIdle: true,
    connectionTimeout: connectTimeoutMs,
    greetingTimeout: greetingTimeoutMs,
    socketTimeout: silenceTimeoutMs,
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
    throw toConnectorError(error, serverOf(ctx.config), ctx.now());
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

/** Opens a mailbox read-only, so that nothing is ever marked as seen. */
export async function openMailbox(client: ImapFlow, path: string): Promise<OpenMailbox> {
  const { exists, uidValidity } = await client.mailboxOpen(path, { readOnly: true });
  return { exists, uidValidity: String(uidValidity) };
}

/** All answers of one FETCH. They are gathered first, since a command inside of the loop would wait for itself. */
export async function fetchAll(client: ImapFlow, uids: string, query: FetchQueryObject): Promise<FetchMessageObject[]> {
  const answers: FetchMessageObject[] = [];
  for await (const answer of client.fetch(uids, query, { uid: true })) answers.push(answer);
  return answers;
}

function serverOf(config: ImapConfig): string {
  return `${config.host}:${config.port ?? defaultPort}`;
}
