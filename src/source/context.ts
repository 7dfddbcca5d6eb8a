import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { compileGlob, GlobProblem, type PathMatcher } from '../base/glob.ts';
import type { Logger } from '../base/log.ts';
import { type Authorization, noSecret, noToken } from '../auth/authorization.ts';
import { badConfig, type Connector, type Context, type Json, type Resource, type Http } from '../connector/contract.ts';
import type { Outbound } from './http/outbound.ts';
import { MemorydError } from '../base/errors.ts';
import type { ConnectionRow } from '../store/connections.ts';
import type { Queryable } from '../store/database.ts';
import { readRecords } from '../store/partitions.ts';
import type { Credentials, OpenedCredentials } from '../auth/credentials.ts';
import { guardConnector } from '../auth/redaction.ts';

interface ContextOptions {
  connector: Connector<any, any>;
  /** With its secrets filled in. */
  config: Record<string, unknown>;
  /** Absent: nothing to authorize. */
  authorization?: Authorization | undefined;
  /** The OAuth client whose limits its requests count against. */
  application?: string | undefined;
  /** Sends its requests. Absent: none can be sent. */
  outbound?: Outbound | undefined;
  /** Null before there is a connection. */
  connectionId: string | null;
  selection: readonly Resource[];
  /** Reads records that pages of a partition stored, by a prefix of their names. Absent: none are stored. */
  records?: (partitionId: string, prefix: string) => Promise<Record<string, Json>>;
  clock: Clock;
  log: Logger;
  signal: AbortSignal;
}

interface Session {
  value: Promise<unknown>;
  dispose?: ((value: any) => Promise<void>) | undefined;
}

/** Opens a connector's context for one run. */
export function createContext(options: ContextOptions): { context: Context<any>; dispose(): Promise<void> } {
  const sessions = new Map<string, Session>();
  const folders: string[] = [];
  const { connector, log } = options;
  const name = connector.spec.name;
  const authorization = options.authorization ?? noAuthorization(name);
  const source = options.outbound?.open({
    spec: connector.spec,
    config: options.config,
    connectionId: options.connectionId,
    application: options.application,
    authorization: connector.spec.auth.length > 0 ? authorization : null,
    signal: options.signal,
  });
  const context: Context<any> = {
    config: options.config,
    selection: options.selection,
    http: source?.http ?? noHttp(name),
    addresses: source?.addresses ?? refuseAs(name),
    ownFolders: source?.ownFolders ?? [],
    glob: compileConfigGlob,
    log: {
      debug: (fields, message) => log.debug({ provider: name, ...fields }, message),
      info: (fields, message) => log.info({ provider: name, ...fields }, message),
      warn: (fields, message) => log.warn({ provider: name, ...fields }, message),
    },
    signal: options.signal,
    now: () => source?.now() ?? options.clock.now(),
    token: (refused) => authorization.token(refused),
    secret: (secretName) => authorization.secret(secretName),
    async session(key, make, dispose) {
      let entry = sessions.get(key);
      if (!entry) {
        entry = { value: make(), dispose };
        sessions.set(key, entry);
        entry.value.catch(() => sessions.delete(key));
      }
      return (await entry.value) as Awaited<ReturnType<typeof make>>;
    },
    async temporaryFolder() {
      const folder = await mkdtemp(join(tmpdir(), `memoryd-${name}-`));
      folders.push(folder);
      return folder;
    },
    records: async ({ id }, prefix = '') => (await options.records?.(id, prefix)) ?? {},
  };

  async function dispose(): Promise<void> {
    await connector.close?.(context);
    for (const { value, dispose: release } of sessions.values()) {
      const held = await value.catch(() => undefined);
      if (held !== undefined) await release?.(held);
    }
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  }

  return { context, dispose };
}

/** `Context.glob`: a mistake in a pattern is one of the settings that it stands in. */
export function compileConfigGlob(pattern: string): PathMatcher {
  try {
    return compileGlob(pattern);
  } catch (error) {
    if (!(error instanceof GlobProblem)) throw error;
    throw badConfig(`The pattern ${pattern.slice(0, 200)} ${error.message}.`, 'Change the pattern.');
  }
}

const refuseAs = (provider: string) => async (): Promise<never> => {
  throw new MemorydError('internal', `This context of the connector ${provider} was made without HTTP.`);
};

/** The authorization of a connection without credentials. */
function noAuthorization(provider: string): Authorization {
  return {
    headers: async () => ({}),
    renew: async () => false,
    token: async () => {
      throw noToken(provider);
    },
    secret: async (name) => {
      throw noSecret(name);
    },
  };
}

/** The `ctx.http` of a context that was made without the means to send anything. */
function noHttp(provider: string): Http {
  const refuse = refuseAs(provider);
  return { get: refuse, post: refuse, request: refuse, fetch: refuse };
}

export interface ConnectionContextOptions {
  /** Absent: no connection has any. */
  credentials?: Credentials | undefined;
  /** Absent: connectors cannot send requests. */
  outbound?: Outbound | undefined;
  /** Where `records` of pages are. Absent: there are none. */
  database?: Queryable;
  clock: Clock;
  log: Logger;
}

/** A connector with everything it needs of one connection. */
interface ConnectionContext {
  /** The connector as it may be used: nothing that it answers or throws shows a secret of the connection. */
  connector: Connector<any, any>;
  context: Context<any>;
  dispose(): Promise<void>;
}

/** Opens the credentials of a connection and makes the context that its connector works with. */
export async function openConnectionContext(
  options: ConnectionContextOptions,
  work: { connection: ConnectionRow; connector: Connector<any, any>; signal: AbortSignal },
): Promise<ConnectionContext> {
  const { connection, connector, signal } = work;
  const opened = (await options.credentials?.open(connection, connector.spec, signal)) ?? null;
  const { id: connectionId, config, selection } = connection;
  return contextOver(options, { ...work, connectionId, config, opened, selection });
}

/** The same over credentials that are opened already, or over none. */
export function contextOver(
  { outbound, database, clock, log }: ConnectionContextOptions,
  work: {
    /** Null before there is a connection. */
    connectionId: string | null;
    connector: Connector<any, any>;
    config: Record<string, unknown>;
    /** Null: there are none. */
    opened: OpenedCredentials | null;
    selection: readonly Record<string, unknown>[];
    signal: AbortSignal;
  },
): ConnectionContext {
  const { connector, connectionId, config, opened, signal } = work;
  const { context, dispose } = createContext({
    connector,
    connectionId,
    outbound,
    config: { ...config, ...opened?.secrets },
    selection: work.selection as unknown as Resource[],
    ...(database && connectionId !== null
      ? { records: (partitionId, prefix) => readRecords(database, { connectionId, partitionId }, prefix) }
      : {}),
    clock,
    log: opened ? redactedLog(log, opened) : log,
    signal,
    authorization: opened?.authorization,
    application: opened?.clientId ?? undefined,
  });
  return { connector: opened ? guardConnector(connector, opened.redaction) : connector, context, dispose };
}

/** A connector's own lines pass through here, and may quote what it was given. */
function redactedLog(log: Logger, { redaction }: OpenedCredentials): Logger {
  const level = (name: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message?: string) =>
    log[name](redaction.value(fields), message === undefined ? undefined : redaction.text(message));
  const levels = { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') };
  return Object.assign(Object.create(log) as Logger, levels);
}
