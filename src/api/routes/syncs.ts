import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import { requireSomeWrite, requireWrite, type Caller } from '../../account/access.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Connection, ConnectionProgress, SyncRun } from '../../connections/connection-types.ts';
import type { Connections } from '../../connections/connection-service.ts';
import {
  findConnection,
  matchingConnections,
  requireKnown,
  callerOf,
  type Api,
  type RouteContext,
} from '../request.ts';
import { connectionParams, providerParams, tagsBody } from '../schemas/connections.ts';
import * as schemas from '../schemas/sync-runs.ts';
import { progressView, syncRunView } from '../views.ts';
import { Readable } from 'node:stream';

const tags = ['Connections'];

/** Sections 19.13, 19.17 and 19.18 of the API, and the progress of a connection. */
export function syncRoutes(app: Api, context: RouteContext): void {
  syncRoute(app, context);
  importRoute(app, context);
  runRoutes(app, context);
  cancelRoutes(app, context);
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
        const runs = await services.connections.runs(id, { limit, before });
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
  }
}

function cancelRoutes(app: Api, { services }: RouteContext): void {
  for (const { path, name } of runPaths) {
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

/** Each open stream looks at the database twice a second. */
const maxStreams = 200;

/** The progress of a sync run as it happens. */
export function runEventRoutes(app: Api, { services, clock }: RouteContext): void {
  const streams = new Set<AbortController>();
  app.addHook('preClose', async () => {
    for (const stream of streams) stream.abort();
  });

  app.get(
    '/v3/connections/:connectionId/runs/:runId/events',
    {
      // The answer to HEAD would be a stream that nobody reads.
      exposeHeadRoute: false,
      schema: {
        operationId: 'streamRunEvents',
        summary: 'Follow a sync run',
        description:
          'Server-sent events until the run is over. With Last-Event-ID the stream goes on where it broke off; 204 says that nothing is left to tell.',
        tags: ['Connections'],
        params: schemas.runParams,
        querystring: schemas.runEventsQuery,
        headers: schemas.runEventsHeaders,
        response: { 200: schemas.runEventsAnswer },
      },
    },
    async (request, reply) => {
      const { connectionId, runId } = request.params;
      const { connections } = services;
      const { id } = await findConnection(connections, connectionId, callerOf(request));
      if (!(await connections.run(id, runId))) throw new MemorydError('not_found', 'Sync run not found');
      const lastEventId = request.headers['last-event-id'];
      if (lastEventId === endId) return nothingLeft(reply);
      if (streams.size >= maxStreams) throw new MemorydError('unavailable', 'Too many runs are being followed');
      const stream = new AbortController();
      streams.add(stream);
      reply.raw.once('close', () => {
        streams.delete(stream);
        stream.abort();
      });
      const { until = 'run' } = request.query;
      const { signal } = stream;
      return sendEvents(reply, runEvents({ connections, connectionId: id, runId, until, lastEventId, clock, signal }));
    },
  );
}

/** Tells an EventSource to stop coming back. */
function nothingLeft(reply: FastifyReply): FastifyReply {
  return reply.code(204).send();
}

interface RunEventsOptions {
  connections: Pick<Connections, 'run' | 'progress'>;
  connectionId: string;
  runId: string;
  /** The stream ends with the run, or once the run's documents can be found as well. */
  until: 'run' | 'documents';
  /** The last event that the client has seen. */
  lastEventId: string | undefined;
  clock: Clock;
  signal: AbortSignal;
}

/** The id of the last event of a stream; a client that comes back with it has seen everything. */
const endId = 'end';

const lookEveryMs = 500;

/** Items and documents are counted less often than the run is looked at: that reads many rows. */
const countEveryMs = 1_000;

/** Nor does counting take more than a tenth of the time. */
const countRestShare = 9;

const heartbeatEveryMs = 15_000;

const comeBackAfterMs = 2_000;

/**
 * The progress of a run as server-sent events: `progress` whenever it has moved, and `end` as the
 * last one. An event's id stands for what it says, so that a client that comes back is not told the
 * same again, by whichever process it reaches. Ends without `end` when the signal aborts or the
 * connection is gone.
 */
async function* runEvents(options: RunEventsOptions): AsyncGenerator<string> {
  const { clock, signal } = options;
  const look = createLook(options);
  let seenId = options.lastEventId;
  let sentMs = clock.now().getTime();
  yield retryText(comeBackAfterMs);
  while (!signal.aborted) {
    const view = await look();
    if (view === null) return;
    const data = progressView(view);
    if (isOver(view, options.until)) return yield eventText({ event: 'end', id: endId, data });
    const id = createHash('sha256').update(JSON.stringify(data)).digest('base64url').slice(0, 16);
    const nowMs = clock.now().getTime();
    if (id !== seenId || nowMs - sentMs >= heartbeatEveryMs) {
      yield id === seenId ? heartbeatText : eventText({ event: 'progress', id, data });
      seenId = id;
      sentMs = nowMs;
    }
    await clock.sleep(lookEveryMs, signal);
  }
}

function createLook({ connections, connectionId, runId, clock }: RunEventsOptions) {
  let counted: ConnectionProgress | null = null;
  let countAgainMs = -Infinity;
  let wasRunning = true;
  return async (): Promise<ConnectionProgress | null> => {
    const run = await connections.run(connectionId, runId);
    if (!run) return null;
    const isRunning = run.status === 'running';
    const nowMs = clock.now().getTime();
    // What a run has done last is counted after its end.
    if (counted === null || nowMs >= countAgainMs || (wasRunning && !isRunning)) {
      counted = await connections.progress(connectionId);
      const doneMs = clock.now().getTime();
      countAgainMs = Math.max(nowMs + countEveryMs, doneMs + (doneMs - nowMs) * countRestShare);
    }
    wasRunning = isRunning;
    return { ...counted, run };
  };
}

function isOver({ run, documents }: ConnectionProgress, until: RunEventsOptions['until']): boolean {
  if (run === null || run.status === 'running') return false;
  return until === 'run' || run.status === 'failed' || documents.waiting === 0;
}

/** One server-sent event (HTML Living Standard, section 9.2). */
interface ServerEvent {
  event: string;
  /** Sent back by a client as `Last-Event-ID` when it reconnects. */
  id: string;
  /** Sent as JSON, which has no line breaks. */
  data: unknown;
}

function eventText({ event, id, data }: ServerEvent): string {
  return `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Keeps connections open that would be closed when nothing is sent. */
export const heartbeatText = ': heartbeat\n\n';

/** How long a client waits before it comes back after a break. */
export function retryText(ms: number): string {
  return `retry: ${ms}\n\n`;
}

/** Sends the texts as they come. `no-transform` and `x-accel-buffering` keep proxies from gathering them. */
export function sendEvents(reply: FastifyReply, texts: AsyncIterable<string>): FastifyReply {
  return reply
    .type('text/event-stream; charset=utf-8')
    .header('cache-control', 'no-cache, no-transform')
    .header('x-accel-buffering', 'no')
    .send(Readable.from(texts, { objectMode: false }));
}
