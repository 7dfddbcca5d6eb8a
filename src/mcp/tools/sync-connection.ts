import Type from 'typebox';
import { requireWrite } from '../../account/access.ts';
import { findConnection } from '../../api/connection-lookup.ts';
import { documentIdParameter } from '../../api/schemas/shared.ts';
import { describedAs } from '../schemas.ts';
import { defineTool } from '../tool.ts';

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
