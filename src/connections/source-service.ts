import type { Clock } from '../base/clock.ts';
import { MemorydError, type ValidationIssue } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { unlessAborted } from '../base/concurrency.ts';
import { setConnectionStatus, type ConnectionRow, requestSync } from '../store/connections.ts';
import type { Database, Transaction } from '../store/database.ts';
import { listSubscriptions } from '../store/hooks.ts';
import { requireConnection } from './connection-types.ts';
import { openConnectionContext } from '../source/context.ts';
import {
  ConnectorError,
  type CheckResult,
  type Connector,
  type Context,
  type JsonObject,
  type Resource,
} from '../connector/contract.ts';
import type { Credentials } from '../auth/credentials.ts';
import type { Outbound } from '../source/http/outbound.ts';
import type { HookSubscriptions } from '../inbound/hooks/subscriptions.ts';
import type { Registry } from '../connector/registry.ts';
import { createPreviews, type SourcePreview } from './previews.ts';
import { changeSelection, missPartitions } from '../store/coverage.ts';
import { listPartitions } from '../store/partitions.ts';
import { isUnselected } from '../sync/partitions.ts';

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

/** Operations that ask the source of a connection. */
export interface SourceOperations {
  /** Asks the source whether the connection works. */
  check(id: string): Promise<CheckResult[]>;
  /** Counts what filters would take, those that are stored where none are given; nothing is stored. */
  preview(id: string, filters?: JsonObject): Promise<SourcePreview>;
  /** Resources that can be chosen at the source. `unsupported_operation` for a connector without choice. */
  resources(id: string, query: ResourceQuery): Promise<ResourceList>;
  /**
   * Replaces the selection and starts a sync. `unsupported_operation` for a connector without choice.
   * Documents of what is no longer selected go unless the connection keeps what its source deletes;
   * `deleteRemoved` says otherwise for this once.
   */
  configure(
    id: string,
    selection: readonly SelectedResource[],
    options: { deleteRemoved?: boolean },
  ): Promise<Configured>;
}

/** How long a person waits for an answer of the source. */
const patienceMs = 30_000;

/** Questions to the source of a connection that somebody waits for. */
export function createSources(options: SourceServiceOptions): SourceOperations {
  const scope = createScopeService(options);

  const previews = createPreviews({
    ask: (row, question) => ask(options, row, question),
    clock: options.clock,
  });

  return {
    async preview(id, filters) {
      const row = await requireConnection(options.database, id);
      try {
        return await previews.preview(row, filters);
      } catch (error) {
        throw explained(error, options.clock.now());
      }
    },
    async check(id) {
      const row = await requireConnection(options.database, id);
      try {
        return await ask(options, row, (connector, context) => connector.check(context));
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
        const found = await ask(options, row, (connector, context) => readResources(connector, context, query));
        return { ...found, resources: found.resources.map((one) => ({ ...one, selected: chosen.has(one.id) })) };
      } catch (error) {
        throw explained(error, options.clock.now());
      }
    },
    async configure(id, selection, more) {
      const row = await requireConnection(options.database, id);
      const deleteRemoved = more.deleteRemoved ?? row.onSourceDelete === 'delete';
      await scope.setSelection(id, selection, { deleteRemoved });
      const status = await startConfigured(options, row);
      await options.hooks?.changed(id);
      const { hooks } = await options.registry.load(row.provider);
      const registered = hooks?.subscribe ? (await listSubscriptions(options.database, id)).length : null;
      return { syncStarted: status === 'active', webhooksRegistered: registered };
    },
  };
}

async function ask<Answer>(
  options: SourceServiceOptions,
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
async function startConfigured(options: SourceServiceOptions, { id, status }: ConnectionRow): Promise<string> {
  if (status !== 'needs_configuration') return status;
  await setConnectionStatus(options.database, id, { status: 'active', reason: null, now: options.clock.now() });
  await options.changed();
  await options.wake(id);
  return 'active';
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
      return new MemorydError('invalid_request', 'The source refused to list its content', details);
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

interface ScopeServiceOptions {
  database: Database;
  registry: Registry;
  clock: Clock;
  /** Wakes a worker for the connection. */
  wake(connectionId: string): Promise<void>;
}

/** Changes to the part of a source that a connection mirrors. */
interface ScopeService {
  /**
   * Stores the complete new selection (empty is everything) with the request for a sync, which adds what
   * comes in. What is no longer selected loses its documents by it, or with `deleteRemoved: false` keeps
   * them as they are. A connection that is not active does that when it is again.
   *
   * Throws `not_found`, `unsupported_operation` for a connector without choice and `validation_failed`,
   * with field, problem and remedy, for what are no resources.
   */
  setSelection(connectionId: string, resources: unknown, options: { deleteRemoved: boolean }): Promise<void>;
}

export function createScopeService({ database, registry, clock, wake }: ScopeServiceOptions): ScopeService {
  return {
    async setSelection(id, resources, { deleteRemoved }) {
      const { provider } = await requireConnection(database, id);
      const connector = await registry.load(provider);
      if (!connector.resources) throw noResources(provider);
      const selection = parseSelection(resources);
      const now = clock.now();
      await database.transaction(async (tx) => {
        await changeSelection(tx, id, selection, now);
        await unselect(tx, id, selection, { deleteRemoved, now });
        await requestSync(tx, id, { mode: 'incremental', trigger: 'manual' }, { now });
      });
      await wake(id);
    },
  };
}

/**
 * Says of partitions that are not selected any more what becomes of their documents. With an empty
 * selection it is said of all: those that the connector shows nevertheless come back with the next sync.
 */
async function unselect(
  tx: Transaction,
  connectionId: string,
  selection: readonly Resource[],
  { deleteRemoved, now }: { deleteRemoved: boolean; now: Date },
): Promise<void> {
  const chosen = selection.map(({ id }) => ({ id }));
  const rows = await listPartitions(tx, connectionId);
  const left = rows.filter((row) => (chosen.length === 0 ? row.resource !== null : isUnselected(chosen, row)));
  const ids = left.map((row) => row.id);
  if (ids.length === 0) return;
  const reason = deleteRemoved
    ? 'It is no longer selected; the next sync removes its documents.'
    : 'It is no longer selected; its documents stay as they are.';
  await missPartitions(tx, connectionId, ids, { reason, removeAt: deleteRemoved ? now : null, now });
}

const maxResources = 10_000;

/** Ids may be numbers, as some sources have them; what else is known of a resource is kept for the connector. */
function parseSelection(input: unknown): Resource[] {
  if (!Array.isArray(input) || input.length > maxResources) {
    const remedy = `Give a list of at most ${maxResources} resources, each with its id.`;
    throw invalid([{ path: ['resources'], message: `is not a list of resources. ${remedy}` }]);
  }
  const issues = input.flatMap((one: unknown, index): ValidationIssue[] =>
    idOf(one) === null ? [{ path: ['resources', index, 'id'], message: `is missing or not an id. ${idRemedy}` }] : [],
  );
  if (issues.length > 0) throw invalid(issues);
  const byId = new Map(input.map((one: object) => [idOf(one)!, one]));
  return Array.from(byId, ([id, one]) => ({ name: id, ...one, id }));
}

const idRemedy = 'Give the id that the list of resources shows.';

function idOf(resource: unknown): string | null {
  if (typeof resource !== 'object' || resource === null) return null;
  const { id } = resource as { id?: unknown };
  if (typeof id === 'number') return Number.isFinite(id) ? String(id) : null;
  return typeof id === 'string' && id !== '' && id.length <= 500 ? id : null;
}

function invalid(issues: ValidationIssue[]): MemorydError {
  return new MemorydError('validation_failed', 'The selection to mirror is not valid.', { issues });
}

/** The effect of a new selection. */
export interface Configured {
  /** False for a connection that is paused. */
  syncStarted: boolean;
  /** Null for a source that does not report changes by itself. */
  webhooksRegistered: number | null;
}

export interface ResourceQuery {
  /** Id of the resource to look into; absent: the top level. */
  parent?: string | undefined;
  /** 1-based. */
  page: number;
  perPage: number;
}

export interface ResourceList {
  resources: (Resource & { selected: boolean })[];
  /** Null when the source does not tell. */
  total: number | null;
}

/** A resource as a caller chooses it; what else was listed of it is kept for the connector. */
export interface SelectedResource extends Record<string, unknown> {
  id: string | number;
}

function noResources(provider: string): MemorydError {
  return new MemorydError('unsupported_operation', `Connections to ${provider} have no resources to choose from`);
}
