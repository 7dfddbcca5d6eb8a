import type { FastifyReply } from 'fastify';
import { MemorydError } from '../../base/errors.ts';
import { findConnection } from '../connection-lookup.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { sendEvents } from '../event-stream.ts';
import { endId, runEvents } from '../run-events.ts';
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
