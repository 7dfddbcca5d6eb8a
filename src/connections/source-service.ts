import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { unlessAborted } from '../base/unless-aborted.ts';
import { setConnectionStatus, type ConnectionRow } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { listSubscriptions } from '../store/hooks.ts';
import type { Configured } from './connections.ts';
import { openConnectionContext } from '../source/connection-context.ts';
import {
  ConnectorError,
  type CheckResult,
  type Connector,
  type Context,
  type Resource,
} from '../connector/contract.ts';
import type { Credentials } from '../auth/credentials.ts';
import type { Outbound } from '../source/http/outbound.ts';
import type { HookSubscriptions } from '../inbound/hooks/subscriptions.ts';
import type { Registry } from '../connector/registry.ts';
import { requireConnection } from './require-connection.ts';
import { noResources, type ResourceList, type ResourceQuery, type SelectedResource } from './resources.ts';
import { createScopeService } from './scope-service.ts';

export interface SourceServiceOptions {
  database: Database;
  registry: Registry;
  credentials: Credentials;
  /** Absent: connectors cannot send requests. */
  outbound?: Outbound | undefined;
  hooks?: Pick<HookSubscriptions, 'changed'>;
  clock: Clock;
  log: Logger;
  /** Wakes a worker for the connection. */
  wake(connectionId: string): Promise<void>;
  /** Called when a connection begins to be active. */
  changed(): Promise<void>;
}

export interface Sources {
  check(id: string): Promise<CheckResult[]>;
  resources(id: string, query: ResourceQuery): Promise<ResourceList>;
  configure(
    id: string,
    selection: readonly SelectedResource[],
    options: { deleteRemoved?: boolean },
  ): Promise<Configured>;
}

/** How long a person waits for an answer of the source. */
const patienceMs = 30_000;

/** Questions to the source of a connection that somebody waits for. */
export function createSources(options: SourceServiceOptions): Sources {
  const scope = createScopeService(options);

  async function ask<Answer>(
    row: ConnectionRow,
    question: (connector: Connector<any, any>, context: Context<any>) => Promise<Answer>,
  ): Promise<Answer> {
    const connector = await options.registry.load(row.provider);
    const signal = AbortSignal.timeout(patienceMs);
    const opened = await openConnectionContext(options, { connection: row, connector, signal });
    try {
      return await unlessAborted(question(opened.connector, opened.context), signal);
    } finally {
      await opened.dispose();
    }
  }

  /** A selection may be just what was missing. Answers the status from now on. */
  async function startConfigured({ id, status }: ConnectionRow): Promise<string> {
    if (status !== 'needs_configuration') return status;
    await setConnectionStatus(options.database, id, { status: 'active', reason: null, now: options.clock.now() });
    await options.changed();
    await options.wake(id);
    return 'active';
  }

  return {
    async check(id) {
      const row = await requireConnection(options.database, id);
      try {
        return await ask(row, (connector, context) => connector.check(context));
      } catch (error) {
        // A probe that breaks down is no proof of anything.
        const detail = ConnectorError.is(error) ? error.message : 'The source did not answer as expected.';
        return [{ name: 'check', title: 'The source answers', status: 'unknown', detail }];
      }
    },
    async resources(id, query) {
      const row = await requireConnection(options.database, id);
      const { resources } = await options.registry.load(row.provider);
      if (!resources) throw noResources(row.provider);
      const chosen = new Set(row.selection.map((resource) => String(resource.id)));
      try {
        const found = await ask(row, (connector, context) => readResources(connector, context, query));
        return { ...found, resources: found.resources.map((one) => ({ ...one, selected: chosen.has(one.id) })) };
      } catch (error) {
        throw explained(error, options.clock.now());
      }
    },
    async configure(id, selection, more) {
      const row = await requireConnection(options.database, id);
      const deleteRemoved = more.deleteRemoved ?? row.onSourceDelete === 'delete';
      await scope.setSelection(id, selection, { deleteRemoved });
      const status = await startConfigured(row);
      await options.hooks?.changed(id);
      const { hooks } = await options.registry.load(row.provider);
      const registered = hooks?.subscribe ? (await listSubscriptions(options.database, id)).length : null;
      return { syncStarted: status === 'active', webhooksRegistered: registered };
    },
  };
}

/** Pages of the source are read until there are enough; more than this many are not worth the wait. */
const maxSourcePages = 200;

async function readResources(
  connector: Connector<any, any>,
  context: Context<any>,
  { parent, page, perPage }: ResourceQuery,
): Promise<{ resources: Resource[]; total: number | null }> {
  const found: Resource[] = [];
  let total: number | null = null;
  let next: string | undefined;
  for (let pages = 0; pages < maxSourcePages; pages++) {
    const answer = await connector.resources!(context, parent, next);
    found.push(...answer.resources);
    next = answer.next;
    total = answer.total ?? (next === undefined ? found.length : total);
    if (next === undefined || found.length >= page * perPage) break;
  }
  return { resources: found.slice((page - 1) * perPage, page * perPage), total };
}

/** A failure of the source in the words of the API. */
function explained(error: unknown, now: Date): MemorydError {
  if (MemorydError.is(error)) return error;
  if (!ConnectorError.is(error)) return new MemorydError('unavailable', 'The source did not answer', { cause: error });
  const details = { details: error.remedy ? `${error.message} ${error.remedy}` : error.message, cause: error };
  switch (error.kind) {
    case 'auth_expired':
      return new MemorydError('invalid_request', 'Connection has no usable refresh token', details);
    case 'bad_config':
    case 'forbidden':
    case 'source_missing':
      return new MemorydError('invalid_request', 'The source refused to list its resources', details);
    case 'gone':
      return new MemorydError('not_found', 'Resource not found', details);
    case 'rate_limited': {
      const retryAfterMs = Math.max(1_000, (error.retryAt?.getTime() ?? 0) - now.getTime());
      return new MemorydError('unavailable', 'The source allows no more requests for now', {
        ...details,
        retryAfterMs,
      });
    }
    default:
      return new MemorydError('unavailable', 'The source did not answer', details);
  }
}
