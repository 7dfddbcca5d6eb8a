import type { FastifyRequest } from 'fastify';
import { requireSomeWrite, requireWrite } from '../../account/access.ts';
import type { Caller } from '../../account/caller.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Connection, SyncRun } from '../../connections/connections.ts';
import { findConnection, matchingConnections, requireKnown } from '../connection-lookup.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { connectionParams, providerParams, tagsBody } from '../schemas/connections.ts';
import * as schemas from '../schemas/sync-runs.ts';
import { progressView, syncRunView } from '../views/sync-runs.ts';

const tags = ['Connections'];

/** Sections 19.13, 19.17 and 19.18 of the API, and the progress of a connection. */
export function syncRoutes(app: Api, context: RouteContext): void {
  syncRoute(app, context);
  importRoute(app, context);
  runRoutes(app, context);
  cancelRoute(app, context);
  progressRoute(app, context);
}

function syncRoute(app: Api, { services }: RouteContext): void {
  app.post(
    '/v3/connections/:connectionId/sync',
    {
      schema: {
        operationId: 'syncConnection',
        summary: 'Sync a connection now',
        tags,
        params: connectionParams,
        body: schemas.syncBody,
        response: { 202: schemas.syncRunRef },
      },
    },
    async (request, reply) => {
      const { mode = 'incremental', restoreDeleted = false, dryRun = false } = request.body;
      const caller = callerOf(request);
      requireSomeWrite(caller);
      const connection = await findConnection(services.connections, request.params.connectionId, caller);
      requireWrite(caller, connection.containerTag);
      if (restoreDeleted && dryRun) {
        throw new MemorydError('invalid_request', 'restoreDeleted and dryRun exclude each other');
      }
      const wanted = { mode, trigger: 'manual', restoreDeleted, dryRun } as const;
      const run = await services.connections.requestSync(connection.id, wanted);
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
        params: providerParams,
        body: tagsBody,
        response: { 202: schemas.importAnswer },
      },
    },
    async (request, reply) => {
      const { provider } = request.params;
      const caller = callerOf(request);
      await requireKnown(services.connections, provider);
      requireSomeWrite(caller);
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

/** Text unless the caller asks for JSON and not for text. */
function wantsJson(request: FastifyRequest<any, any, any, any, any, any, any>): boolean {
  const accept = request.headers.accept ?? '';
  return accept.includes('application/json') && !accept.includes('text/plain');
}

/** Two paths of the same thing: the one of the published interface, and the short one beside it. */
const runPaths = [
  { path: 'sync-runs', name: 'SyncRun' },
  { path: 'runs', name: 'Run' },
];

function runRoutes(app: Api, { services }: RouteContext): void {
  for (const { path, name } of runPaths) {
    app.get(
      `/v3/connections/:connectionId/${path}`,
      {
        schema: {
          operationId: `list${name}s`,
          summary: 'List the sync runs of a connection',
          description: 'Newest first.',
          tags,
          params: connectionParams,
          querystring: schemas.runsQuery,
          response: { 200: schemas.syncRunsAnswer },
        },
      },
      async (request) => {
        const { limit = 50, before } = request.query;
        const { id } = await findConnection(services.connections, request.params.connectionId, callerOf(request));
        const runs = await services.connections.runs(id, { limit, ...(before !== undefined && { before }) });
        return runs.map(syncRunView);
      },
    );

    app.get(
      `/v3/connections/:connectionId/${path}/:runId`,
      {
        schema: {
          operationId: `get${name}`,
          summary: 'Get a sync run',
          tags,
          params: schemas.runParams,
          response: { 200: schemas.syncRunRef },
        },
      },
      async (request) => {
        const { connectionId, runId } = request.params;
        const { id } = await findConnection(services.connections, connectionId, callerOf(request));
        const run = await services.connections.run(id, runId);
        if (!run) throw new MemorydError('not_found', 'Sync run not found');
        return syncRunView(run);
      },
    );

    app.post(
      `/v3/connections/:connectionId/${path}/:runId/cancel`,
      {
        schema: {
          operationId: `cancel${name}`,
          summary: 'Cancel a sync run',
          description: 'What it has stored stays. The next run goes on from there.',
          tags,
          params: schemas.runParams,
          response: { 200: schemas.syncRunRef },
        },
      },
      async (request) => {
        const { connectionId, runId } = request.params;
        return cancel(services, { connectionId, runId, caller: callerOf(request) });
      },
    );
  }
}

function cancelRoute(app: Api, { services }: RouteContext): void {
  app.post(
    '/v3/connections/:connectionId/cancel',
    {
      schema: {
        operationId: 'cancelSync',
        summary: 'Cancel the sync run of a connection',
        description: 'What it has stored stays. The next run goes on from there.',
        tags,
        params: connectionParams,
        response: { 200: schemas.syncRunRef },
      },
    },
    async (request) => cancel(services, { connectionId: request.params.connectionId, caller: callerOf(request) }),
  );
}

async function cancel(
  { connections }: RouteContext['services'],
  wanted: { connectionId: string; runId?: string; caller: Caller },
): Promise<schemas.SyncRunAnswer> {
  requireSomeWrite(wanted.caller);
  const { id, containerTag } = await findConnection(connections, wanted.connectionId, wanted.caller);
  requireWrite(wanted.caller, containerTag);
  return syncRunView(await connections.cancelRun(id, wanted.runId));
}

function progressRoute(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/connections/:connectionId/progress',
    {
      schema: {
        operationId: 'getConnectionProgress',
        summary: 'Get the progress of a connection',
        description: 'From what the source shows to what search finds: the latest run, items and documents by state.',
        tags,
        params: connectionParams,
        response: { 200: schemas.progressAnswer },
      },
    },
    async (request) => {
      const connection = await findConnection(services.connections, request.params.connectionId, callerOf(request));
      return progressView(await services.connections.progress(connection.id));
    },
  );
}
