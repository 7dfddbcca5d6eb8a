import { countFailures, heldSweepsOf } from '../store/connection-standing.ts';
import { listConnections, type ConnectionRow } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { isPending } from '../store/partitions.ts';
import type { Connection, ConnectionPages, StandingConnection } from './connection-types.ts';
import type { Counts } from './counts.ts';

interface Options {
  database: Database;
  counts: Pick<Counts, 'documentsOf'>;
  toConnections(rows: readonly ConnectionRow[]): Promise<Connection[]>;
}

/** Pages of connections. What they cost depends little on how many connections are on them. */
export function createConnectionPages({ database, counts, toConnections }: Options): ConnectionPages {
  async function withStanding(connections: readonly Connection[]): Promise<StandingConnection[]> {
    const ids = connections.map(({ id }) => id);
    const [documents, failed, sweeps] = await Promise.all([
      counts.documentsOf(ids),
      countFailures(database, ids),
      heldSweepsOf(database, ids),
    ]);
    const failures = new Map(failed.map((one) => [one.connectionId, one.failed]));
    const held = Map.groupBy(sweeps, (one) => one.connectionId);
    return connections.map((connection) => ({
      ...connection,
      standing: {
        waiting: documents.get(connection.id)?.waiting ?? 0,
        failed: failures.get(connection.id) ?? 0,
        heldDeletes: (held.get(connection.id) ?? []).reduce(
          (sum, { heldSweep }) => sum + (isPending(heldSweep) ? heldSweep.count : 0),
          0,
        ),
      },
    }));
  }

  return {
    async page(scope, { provider, order, before, limit }) {
      const range = order === 'newest' ? { before, limit } : {};
      const rows = await listConnections(database, scope.containerTags, { provider, ...range });
      const connections = await withStanding(await toConnections(rows));
      if (order === 'newest') return connections;
      return connections.toSorted((one, other) => urgencyOf(one) - urgencyOf(other)).slice(0, limit);
    },
  };
}

/** The smaller, the sooner somebody wants to see it. */
function urgencyOf({ status, lastRun, problems, standing }: StandingConnection): number {
  if (status === 'needs_reauth' || status === 'needs_configuration') return 0;
  const isRunning = lastRun?.status === 'running';
  if (status === 'active' && lastRun?.status === 'failed') return 0;
  if (standing.heldDeletes > 0 || standing.failed > 0 || problems.length > 0) return 1;
  return isRunning || (status === 'active' && standing.waiting > 0) ? 2 : 3;
}
