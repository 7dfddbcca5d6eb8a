import { requireWrite } from '../../account/access.ts';
import { MemorydError } from '../../base/errors.ts';
import type { RetriedState } from '../../connections/connection-types.ts';
import type { FailureCause, PendingDeletes } from '../../connections/item-service.ts';
import { findConnection, callerOf, type Api, type RouteContext } from '../request.ts';
import { connectionParams } from '../schemas/connections.ts';
import * as schemas from '../schemas/items.ts';
import { progressAnswer } from '../schemas/sync-runs.ts';
import { progressView } from '../views.ts';

const tags = ['Connections'];
const failedStates: RetriedState[] = ['failed', 'dead'];

/** The items between a source and its documents: what became of them, and what can be done about it. */
export function itemRoutes(app: Api, context: RouteContext): void {
  listRoute(app, context);
  failuresRoute(app, context);
  retryRoutes(app, context);
  pendingDeletesRoute(app, context);
  decisionRoutes(app, context);
}

function listRoute(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/connections/:connectionId/items',
    {
      schema: {
        operationId: 'listItems',
        summary: 'List the items of a connection',
        description: 'Items of the source and their state, with the reason why an item failed or was skipped.',
        tags,
        params: connectionParams,
        querystring: schemas.itemsQuery,
        response: { 200: schemas.itemsAnswer },
      },
    },
    async (request) => {
      const { state = [], class: errorClasses = [], q: text, limit = 100, cursor } = request.query;
      const { id } = await findConnection(services.connections, request.params.connectionId, callerOf(request));
      const more = { text, cursor };
      const query = { states: state, errorClasses, limit, ...more };
      const { entries, next } = await services.connections.items(id, query);
      return { items: entries, next };
    },
  );
}

function failuresRoute(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/connections/:connectionId/failures',
    {
      schema: {
        operationId: 'listFailures',
        summary: 'Why items of a connection failed or were skipped',
        description: 'Counted by reason, with what can be done; `listItems` has the items by state and class.',
        tags,
        params: connectionParams,
        response: { 200: schemas.failuresAnswer },
      },
    },
    async (request) => {
      const { id } = await findConnection(services.connections, request.params.connectionId, callerOf(request));
      return { causes: (await services.connections.failures(id)).map(failureView) };
    },
  );
}

function retryRoutes(app: Api, { services }: RouteContext): void {
  app.post(
    '/v3/connections/:connectionId/items/retry',
    {
      schema: {
        operationId: 'retryItems',
        summary: 'Try failed or skipped items again now',
        description: 'With fresh attempts. A paused connection does it when it is resumed.',
        tags,
        params: connectionParams,
        body: schemas.retryItemsBody,
        response: { 200: schemas.retryItemsAnswer },
      },
    },
    async (request) => {
      const { state = failedStates, class: errorClass = [] } = request.body;
      const caller = callerOf(request);
      const { id, containerTag } = await findConnection(services.connections, request.params.connectionId, caller);
      requireWrite(caller, containerTag);
      const selection = { states: [state].flat(), errorClasses: [errorClass].flat() };
      return { retried: await services.connections.retryItems(id, selection) };
    },
  );

  app.post(
    '/v3/connections/:connectionId/items/:itemId/retry',
    {
      schema: {
        operationId: 'retryItem',
        summary: 'Read an item again now',
        description: 'Whatever its state is; one whose document was deleted here comes back.',
        tags,
        params: schemas.itemParams,
        response: { 200: schemas.retryItemAnswer },
      },
    },
    async (request) => {
      const { connectionId, itemId } = request.params;
      const caller = callerOf(request);
      const { id, containerTag } = await findConnection(services.connections, connectionId, caller);
      requireWrite(caller, containerTag);
      const item = await services.connections.retryItem(id, itemId);
      if (!item) throw new MemorydError('not_found', 'Item not found');
      return item;
    },
  );
}

function pendingDeletesRoute(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/connections/:connectionId/pending-deletes',
    {
      schema: {
        operationId: 'listPendingDeletes',
        summary: 'List the deletions that are held',
        description:
          'A listing that shows far fewer items than before deletes nothing until it is confirmed or seen again.',
        tags,
        params: connectionParams,
        querystring: schemas.pendingDeletesQuery,
        response: { 200: schemas.pendingDeletesAnswer },
      },
    },
    async (request) => {
      const { limit = 100, cursor } = request.query;
      const { id } = await findConnection(services.connections, request.params.connectionId, callerOf(request));
      const page = { limit, cursor };
      return pendingDeletesView(await services.connections.pendingDeletes(id, page));
    },
  );
}

const decisions = {
  confirm: 'Delete the documents whose deletion is held',
  reject: 'Keep the documents whose deletion is held, until other items go missing too',
} as const;

/** Answers to a brake that holds deletions: let them happen, or forget them until the next listing. */
function decisionRoutes(app: Api, { services }: RouteContext): void {
  for (const decision of ['confirm', 'reject'] as const) {
    app.post(
      `/v3/connections/:connectionId/pending-deletes/${decision}`,
      {
        schema: {
          operationId: `${decision}PendingDeletes`,
          summary: decisions[decision],
          tags,
          params: connectionParams,
          response: { 200: progressAnswer },
        },
      },
      async (request) => {
        const caller = callerOf(request);
        const { id, containerTag } = await findConnection(services.connections, request.params.connectionId, caller);
        requireWrite(caller, containerTag);
        await services.connections.resolveHeldSweep(id, decision);
        return progressView(await services.connections.progress(id));
      },
    );
  }
}

function failureView({ errorClass, error, ...cause }: FailureCause) {
  return { ...cause, class: errorClass, message: error };
}

function pendingDeletesView({ partitions, items }: PendingDeletes) {
  return {
    count: partitions.reduce((sum, { count, confirmed }) => sum + (confirmed ? 0 : count), 0),
    partitions,
    items: items.entries,
    next: items.next,
  };
}
