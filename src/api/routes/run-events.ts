import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { progressView } from '../views/sync-runs.ts';
import type { ConnectionProgress, Connections } from '../../connections/connections.ts';
import type { Clock } from '../../base/clock.ts';
import { MemorydError } from '../../base/errors.ts';
import { findConnection } from '../connection-lookup.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { eventText, heartbeatText, retryText, sendEvents } from '../event-stream.ts';
import * as schemas from '../schemas/sync-runs.ts';

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
  let countedMs = -Infinity;
  let wasRunning = true;
  return async (): Promise<ConnectionProgress | null> => {
    const run = await connections.run(connectionId, runId);
    if (!run) return null;
    const isRunning = run.status === 'running';
    const nowMs = clock.now().getTime();
    // What a run has done last is counted after its end.
    if (counted === null || nowMs - countedMs >= countEveryMs || (wasRunning && !isRunning)) {
      counted = await connections.progress(connectionId);
      countedMs = nowMs;
    }
    wasRunning = isRunning;
    return { ...counted, run };
  };
}

function isOver({ run, documents }: ConnectionProgress, until: RunEventsOptions['until']): boolean {
  if (run === null || run.status === 'running') return false;
  return until === 'run' || run.status === 'failed' || documents.waiting === 0;
}
