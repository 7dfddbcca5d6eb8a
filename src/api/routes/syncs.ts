import type { FastifyRequest } from 'fastify';
import { requireWrite } from '../../account/access.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Connection, SyncRun } from '../../connect/connections.ts';
import { findConnection, matchingConnections } from '../connection-lookup.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import * as schemas from '../schemas/connections.ts';
import { progressView, syncRunView } from '../views/connections.ts';

const tags = ['Connections'];

/** Sections 19.13, 19.17 and 19.18 of the API, and the progress of a connection. */
export function syncRoutes(app: Api, context: RouteContext): void {
  syncRoute(app, context);
  importRoute(app, context);
  progressRoutes(app, context);
  heldDeleteRoutes(app, context);
}

/** Answers to a brake that holds deletions: let them happen, or forget them until the next listing. */
function heldDeleteRoutes(app: Api, { services }: RouteContext): void {
  for (const decision of ['confirm', 'reject'] as const) {
    app.post(
      `/v3/connections/:connectionId/pending-deletes/${decision}`,
      {
        schema: {
          operationId: `${decision}PendingDeletes`,
          summary:
            decision === 'confirm'
              ? 'Delete the documents whose deletion is held'
              : 'Keep the documents whose deletion is held, until a later listing misses them again',
          tags,
          params: schemas.connectionParams,
          response: { 200: schemas.progressAnswer },
        },
      },
      async (request) => {
        const caller = callerOf(request);
        const connection = await findConnection(services.connections, request.params.connectionId, caller);
        requireWrite(caller, connection.containerTag);
        await services.connections.resolveHeldSweep(connection.id, decision);
        return progressView(await services.connections.progress(connection.id));
      },
    );
  }
}

function syncRoute(app: Api, { services }: RouteContext): void {
  app.post(
    '/v3/connections/:connectionId/sync',
    {
      schema: {
        operationId: 'syncConnection',
        summary: 'Sync a connection now',
        tags,
        params: schemas.connectionParams,
        body: schemas.syncBody,
        response: { 202: schemas.syncRunRef },
      },
    },
    async (request, reply) => {
      const { mode = 'incremental', restoreDeleted = false } = request.body;
      const caller = callerOf(request);
      const connection = await findConnection(services.connections, request.params.connectionId, caller);
      requireWrite(caller, connection.containerTag);
      if (restoreDeleted) throw new MemorydError('unsupported_operation', 'restoreDeleted is not possible yet');
      requireSyncable(connection);
      const run = await services.connections.requestSync(connection.id, { mode, trigger: 'manual' });
      return reply.code(202).send(syncRunView(run));
    },
  );
}

function importRoute(app: Api, { services }: RouteContext): void {
  app.post(
    '/v3/connections/:provider/import',
    {
      schema: {
        operationId: 'importConnections',
        summary: 'Sync the connections of a provider now',
        description: 'All active ones in the containers. One that syncs already runs again afterwards.',
        tags,
        params: schemas.providerParams,
        body: schemas.tagsBody,
        response: { 202: schemas.importAnswer },
      },
    },
    async (request, reply) => {
      const { provider } = request.params;
      const caller = callerOf(request);
      const matching = await matchingConnections(services.connections, provider, { caller, tags: request.body });
      for (const { containerTag } of matching) requireWrite(caller, containerTag);
      const active = matching.filter(({ status }) => status === 'active');
      const runs = (await Promise.all(active.map(startImport))).filter((run) => run !== null);
      reply.code(202);
      if (!wantsJson(request)) return reply.type('text/plain; charset=utf-8').send('Importing connections...');
      const started = runs.map((run) => ({ connectionId: run.connectionId, runId: run.id }));
      return reply.send({ message: 'Importing connections...', provider, runs: started });
    },
  );

  async function startImport({ id }: Connection): Promise<SyncRun | null> {
    try {
      return await services.connections.requestSync(id, { mode: 'incremental', trigger: 'manual' });
    } catch (error) {
      if (MemorydError.is(error) && error.code === 'conflict') return null;
      throw error;
    }
  }
}

/** Section 19.18: a sync that cannot work is refused now instead of failing later. */
function requireSyncable({ status, statusReason }: Connection): void {
  if (status !== 'needs_reauth' && status !== 'needs_configuration') return;
  throw new MemorydError('conflict', `The connection is ${status}`, {
    shouldRetry: false,
    ...(statusReason !== null && { details: statusReason }),
  });
}

/** Text unless the caller asks for JSON and not for text. */
function wantsJson(request: FastifyRequest<any, any, any, any, any, any, any>): boolean {
  const accept = request.headers.accept ?? '';
  return accept.includes('application/json') && !accept.includes('text/plain');
}

function progressRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/connections/:connectionId/sync-runs',
    {
      schema: {
        operationId: 'listSyncRuns',
        summary: 'List the sync runs of a connection',
        description: 'Newest first.',
        tags,
        params: schemas.connectionParams,
        querystring: schemas.runsQuery,
        response: { 200: schemas.syncRunsAnswer },
      },
    },
    async (request) => {
      const { limit = 50, before } = request.query;
      const connection = await findConnection(services.connections, request.params.connectionId, callerOf(request));
      const runs = await services.connections.runs(connection.id, { limit, ...(before !== undefined && { before }) });
      return runs.map(syncRunView);
    },
  );

  app.get(
    '/v3/connections/:connectionId/progress',
    {
      schema: {
        operationId: 'getConnectionProgress',
        summary: 'Get the progress of a connection',
        description: 'From what the source shows to what search finds: the latest run, items and documents by state.',
        tags,
        params: schemas.connectionParams,
        response: { 200: schemas.progressAnswer },
      },
    },
    async (request) => {
      const connection = await findConnection(services.connections, request.params.connectionId, callerOf(request));
      return progressView(await services.connections.progress(connection.id));
    },
  );
}
