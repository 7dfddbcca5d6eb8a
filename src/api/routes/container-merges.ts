import { requireFullKey, requireManagement } from '../../account/access.ts';
import { MemorydError } from '../../base/errors.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import * as schemas from '../schemas/container-tags.ts';

const tags = ['Container tags'];

/** Section 18.5 of the API. */
export function containerMergeRoutes(app: Api, { services }: RouteContext): void {
  app.post(
    '/v3/container-tags/merge',
    {
      config: { audit: 'container.merge' },
      schema: {
        operationId: 'mergeContainerTags',
        summary: 'Merge container tags',
        description:
          'Moves documents, memories and connections into the target; the others are gone afterwards. Waits for documents in processing. Writes are refused meanwhile.',
        tags,
        body: schemas.mergeBody,
        response: { 202: schemas.mergeAnswer },
      },
    },
    async (request, reply) => {
      requireManagement(callerOf(request));
      const { containerTags, targetContainerTag } = request.body;
      const { id, targetTag, sourceTags } = await services.merges.start(containerTags, targetContainerTag);
      return reply.code(202).send({ success: true, status: 'queued', mergeId: id, targetTag, sourceTags });
    },
  );

  app.get(
    '/v3/container-tags/merge/:mergeId',
    {
      schema: {
        operationId: 'getContainerTagMerge',
        summary: 'How far a merge is',
        tags,
        params: schemas.mergeParams,
        response: { 200: schemas.mergeStatusAnswer },
      },
    },
    async (request) => {
      requireFullKey(callerOf(request));
      const merge = await services.merges.find(request.params.mergeId);
      if (!merge) throw new MemorydError('not_found', 'Merge not found');
      const { id, status, sourceTags, targetTag, progress, lastError } = merge;
      return { id, status, sourceTags, targetTag, progress: progress && { ...progress }, lastError };
    },
  );
}
