import type { Clock } from '../base/clock.ts';
import { MemorydError, type ValidationIssue } from '../base/errors.ts';
import { requestSync } from '../store/connections.ts';
import type { Database, Transaction } from '../store/database.ts';
import { changeSelection, missPartitions } from '../store/partition-scope.ts';
import { listPartitions } from '../store/partitions.ts';
import type { Resource } from '../connector/contract.ts';
import type { Registry } from '../connector/registry.ts';
import { requireConnection } from './require-connection.ts';
import { noResources } from './resources.ts';
import { isUnselected } from '../sync/selection.ts';

export interface ScopeServiceOptions {
  database: Database;
  registry: Registry;
  clock: Clock;
  /** Wakes a worker for the connection. */
  wake(connectionId: string): Promise<void>;
}

/** What callers change about what a connection mirrors. */
export interface ScopeService {
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
        await requestSync(tx, id, { mode: 'incremental', trigger: 'manual' }, now);
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
  return new MemorydError('validation_failed', 'What is to be mirrored is not valid.', { issues });
}
