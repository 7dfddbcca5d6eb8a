import { requireWrite } from '../../account/access.ts';
import { findConnection } from '../connection-lookup.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { readPush } from '../push-input.ts';
import { connectionParams } from '../schemas/connections.ts';
import * as schemas from '../schemas/push.ts';

const tags = ['Push'];

/** A connection of the provider `push` takes its items from its callers instead of a source. */
export function pushRoutes(app: Api, { services, config }: RouteContext): void {
  app.post(
    '/v3/connections/:connectionId/push',
    {
      config: { sensitive: true },
      bodyLimit: config.limits.maxBatchBodyBytes,
      schema: {
        operationId: 'pushItems',
        summary: 'Push items into a connection',
        description:
          'Items go through the same ledger as those of any source: an unchanged rev costs nothing, an equal content is not processed again, and what is gone is removed, unless that is too much at once. A bad entry fails alone; the answer is 200 even when every entry failed.',
        tags,
        params: connectionParams,
        body: schemas.pushBody,
        response: { 200: schemas.pushAnswer },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const connection = await findConnection(services.connections, request.params.connectionId, caller);
      requireWrite(caller, connection.containerTag);
      return services.push.push(connection.id, readPush(request.body, config.limits.maxTextBytes));
    },
  );

  app.get(
    '/v3/connections/:connectionId/push',
    {
      schema: {
        operationId: 'getPushState',
        summary: 'Get how far the last snapshot is',
        description: 'Tells a script that was interrupted with which page to go on.',
        tags,
        params: connectionParams,
        response: { 200: schemas.pushStateAnswer },
      },
    },
    async (request) => {
      const connection = await findConnection(services.connections, request.params.connectionId, callerOf(request));
      const { snapshot } = await services.push.state(connection.id);
      if (!snapshot) return { snapshot: null };
      const { startedAt, updatedAt, ...rest } = snapshot;
      return { snapshot: { ...rest, startedAt: startedAt.toISOString(), updatedAt: updatedAt.toISOString() } };
    },
  );
}
