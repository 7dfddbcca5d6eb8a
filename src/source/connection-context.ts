import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { ConnectionRow } from '../store/connections.ts';
import type { Queryable } from '../store/database.ts';
import { readRecords } from '../store/partition-records.ts';
import { createContext } from './context.ts';
import type { Connector, Context, Resource } from '../connector/contract.ts';
import type { Credentials, OpenedCredentials } from '../auth/credentials.ts';
import type { Outbound } from './http/outbound.ts';
import { guardConnector } from '../auth/redaction.ts';

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
export interface ConnectionContext {
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
  const opened = await options.credentials?.open(connection, connector.spec, signal);
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
    opened: OpenedCredentials | undefined;
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
    ...(opened ? { authorization: opened.authorization } : {}),
    ...(opened?.clientId ? { application: opened.clientId } : {}),
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
