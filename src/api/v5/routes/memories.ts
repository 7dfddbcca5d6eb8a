import { readScope, requireWrite } from '../../../account/access.ts';
import { MemorydError } from '../../../base/errors.ts';
import { callerOf, type Api, type RouteContext } from '../../context.ts';
import { matchingLimit, matchingThreshold } from '../../schemas/memories.ts';
import * as schemas from '../schemas/memories.ts';
import { namespaceParams } from '../schemas/shared.ts';
import { includedView, memoryView } from '../views/memories.ts';
import { aggregatedPrefix } from '../views/search.ts';

const tags = ['Namespaces'];

export function namespaceMemoryRoutes(app: Api, context: RouteContext): void {
  getRoute(app, context);
  forgetRoutes(app, context);
}

function getRoute(app: Api, { services, clock }: RouteContext): void {
  app.get(
    '/ns/:namespace/memories/:id',
    {
      schema: {
        operationId: 'getNamespaceMemory',
        summary: 'Get a memory of a namespace',
        description:
          'Any version, forgotten or not. `include` adds what stands beside it, at most three versions away, and where it comes from.',
        tags,
        params: schemas.memoryParams,
        querystring: schemas.memoryQuery,
        response: { 200: schemas.memoryAnswer },
      },
    },
    async (request) => {
      const { namespace, id } = request.params;
      readScope(callerOf(request), [namespace]);
      const { include = [], relatedLimit = 10 } = request.query;
      const wanted = { related: include.includes('related'), documents: include.includes('documents') };
      const found = await services.memories.find(namespace, id, wanted.related ? relatedLimit : 0);
      if (!found) throw new MemorydError('not_found', 'Memory not found');
      return {
        ...memoryView(found.memory, clock.now()),
        ...(include.length > 0 && { included: includedView(found, wanted) }),
      };
    },
  );
}

function forgetRoutes(app: Api, { services }: RouteContext): void {
  app.delete(
    '/ns/:namespace/memories',
    {
      schema: {
        operationId: 'forgetNamespaceMemories',
        summary: 'Forget memories of a namespace',
        description: 'By their ids, each on its own. They stay stored, and leave search and profiles.',
        tags,
        params: namespaceParams,
        body: schemas.forgetBody,
        response: { 200: schemas.forgetAnswer },
      },
    },
    async (request) => {
      const { namespace } = request.params;
      requireWrite(callerOf(request), namespace);
      const [summaries, ids] = [[], []] as [string[], string[]];
      for (const id of new Set(request.body.ids)) (id.startsWith(aggregatedPrefix) ? summaries : ids).push(id);
      const { forgotten, errors } = await services.memories.forgetEach(namespace, ids);
      const refused = summaries.map((id) => ({ id, error: 'A summary of several memories cannot be forgotten' }));
      return { count: forgotten.length, matches: forgotten, errors: [...errors, ...refused] };
    },
  );

  app.delete(
    '/ns/:namespace/memories/semantic',
    {
      schema: {
        operationId: 'forgetMatchingNamespaceMemories',
        summary: 'Forget memories of a namespace by their meaning',
        description: 'Everything that is about the query, at most 100. With dryRun it only says what that is.',
        tags,
        params: namespaceParams,
        body: schemas.forgetMatchingBody,
        response: { 200: schemas.forgetAnswer },
      },
    },
    async (request) => {
      const { namespace } = request.params;
      requireWrite(callerOf(request), namespace);
      const { query, dryRun } = request.body;
      const { matched } = await services.memories.forgetMatching({
        ...{ containerTag: namespace, query, dryRun, reason: null },
        ...{ threshold: matchingThreshold, maxForget: matchingLimit },
      });
      return { count: matched.length, matches: matched.map(({ id, memory }) => ({ id, memory })), errors: [] };
    },
  );
}
