import Type from 'typebox';
import { readScope, requireWrite } from '../../account/access.ts';
import { nullable, timestamp, documentIdParameter } from '../../api/schemas/shared.ts';
import type { Connection } from '../../connections/connection-types.ts';
import { namespaceInput, describedAs } from '../schemas.ts';
import { joined, section } from '../text.ts';
import { defineTool } from '../tool.ts';
import { findConnection } from '../../api/request.ts';

export const syncConnection = defineTool(
  {
    name: 'syncConnection',
    title: 'Sync a connection',
    description: `Mirrors the changes of a source now.
When: the user says that a source has changed and the change is not found yet. Sources sync by themselves otherwise.
Answers: that the sync began; it goes on in the background.
Next: listConnections shows how far it is.`,
    effect: 'starts work',
    input: Type.Object({
      connectionId: describedAs(documentIdParameter, 'Id of the connection, as listConnections shows it.'),
    }),
    output: Type.Object({ connectionId: Type.String(), runId: Type.String(), status: Type.String() }),
  },
  async ({ connectionId }, { services, caller }) => {
    const connection = await findConnection(services.connections, connectionId, caller);
    requireWrite(caller, connection.containerTag);
    const run = await services.connections.requestSync(connection.id, { mode: 'incremental', trigger: 'manual' });
    return {
      text: `The sync of ${connection.provider} has started (run ${run.id}).`,
      structured: { connectionId: connection.id, runId: run.id, status: run.status },
    };
  },
);

const nullableTime = nullable(timestamp);

export const listConnections = defineTool(
  {
    name: 'listConnections',
    title: 'List connections',
    description: `Lists the sources that are mirrored into memory, and how far each is.
When: the user asks what is connected, or something that a source should hold is not found.
Answers: id, provider, namespace, status with its reason, number of documents, and the time of the last sync.
Next: syncConnection syncs one now.`,
    effect: 'reads',
    input: Type.Object({
      ...namespaceInput('Only those of this one. Default: of every one that the key may read.'),
    }),
    output: Type.Object({
      connections: Type.Array(
        Type.Object({
          id: Type.String(),
          provider: Type.String(),
          containerTag: Type.String(),
          status: Type.String(),
          statusReason: nullable(Type.String()),
          documentCount: Type.Integer(),
          lastSyncedAt: nullableTime,
          nextSyncAt: nullableTime,
          createdAt: timestamp,
        }),
      ),
      count: Type.Integer(),
    }),
  },
  async ({ containerTag: named }, { services, caller }) => {
    const scope = readScope(caller, named === undefined ? [] : [named]);
    const connections = (await services.connections.list(scope)).map(connectionOf);
    const lines = connections.map(
      ({ id, provider, status, statusReason, documentCount }) =>
        `${provider} (id ${id}): ${status}, ${documentCount} documents${statusReason ? `; ${statusReason}` : ''}`,
    );
    return {
      text: joined(section('Connections', lines), 'No source is connected.'),
      structured: { connections, count: connections.length },
    };
  },
);

function connectionOf(connection: Connection) {
  const { id, provider, containerTag: tag, status, statusReason, documentCount } = connection;
  return {
    ...{ id, provider, status, statusReason, documentCount },
    containerTag: tag,
    lastSyncedAt: connection.lastSyncedAt?.toISOString() ?? null,
    nextSyncAt: connection.nextSyncAt?.toISOString() ?? null,
    createdAt: connection.createdAt.toISOString(),
  };
}
