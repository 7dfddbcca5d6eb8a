import Type from 'typebox';
import { readScope } from '../../account/access.ts';
import { nullable, timestamp } from '../../api/schemas/shared.ts';
import type { Connection } from '../../connections/connections.ts';
import { namespaceInput } from '../schemas.ts';
import { joined, section } from '../text.ts';
import { defineTool } from '../tool.ts';

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
