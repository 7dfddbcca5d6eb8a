import { readScope, requireWrite } from '../../account/access.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import {
  inferredAnswer,
  containerParams,
  inferredParams,
  reviewAnswer,
  reviewBody,
} from '../schemas/container-tags.ts';
import { publicMetadata } from '../views/metadata.ts';

const tags = ['Container tags'];

/** Section 18.6 of the API. */
export function inferredMemoryRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/container-tags/:containerTag/inferred',
    {
      schema: {
        operationId: 'listInferredMemories',
        summary: 'List inferred memories that wait for a review',
        tags,
        params: containerParams,
        response: { 200: inferredAnswer },
      },
    },
    async (request) => {
      const { containerTag } = request.params;
      readScope(callerOf(request), [containerTag]);
      const { memories, total } = await services.inferredMemories.list(containerTag);
      return {
        total,
        memories: memories.map((memory) => ({
          ...memory,
          metadata: memory.metadata && publicMetadata(memory.metadata),
          createdAt: memory.createdAt.toISOString(),
          updatedAt: memory.updatedAt.toISOString(),
        })),
      };
    },
  );

  app.post(
    '/v3/container-tags/:containerTag/inferred/:memoryId/review',
    {
      config: { replay: true },
      schema: {
        operationId: 'reviewInferredMemory',
        summary: 'Approve or decline an inferred memory',
        description: 'undo takes the last word back.',
        tags,
        params: inferredParams,
        body: reviewBody,
        response: { 200: reviewAnswer },
      },
    },
    async (request) => {
      const { containerTag, memoryId } = request.params;
      requireWrite(callerOf(request), containerTag);
      return services.inferredMemories.review(containerTag, memoryId, request.body.action);
    },
  );
}
