import { present } from '../../base/collections.ts';
import { publicMetadata } from '../views.ts';
import * as schemas from '../schemas/container-tags.ts';
import { MemorydError } from '../../base/errors.ts';
import { readScope, requireFullKey, requireManagement, requireWrite } from '../../account/access.ts';
import type { Container, ContainerTagSummary } from '../../account/container-tags.ts';
import { callerOf, type Api, type RouteContext } from '../request.ts';
import {
  containerParams,
  containerTagsAnswer,
  inferredAnswer,
  inferredParams,
  reviewAnswer,
  reviewBody,
  type ContainerTagAnswer,
} from '../schemas/container-tags.ts';

/** Section 18.1 of the API. */
export function containerTagRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/container-tags/list',
    {
      schema: {
        operationId: 'listContainerTags',
        summary: 'List container tags',
        description: 'All containers that the key may read.',
        tags: ['Container tags'],
        response: { 200: containerTagsAnswer },
      },
    },
    async (request) => {
      const containers = await services.containerTags.list(readScope(callerOf(request), []));
      return containers.map(containerTagView);
    },
  );
}

function containerTagView(summary: ContainerTagSummary): ContainerTagAnswer {
  const { merge: _, ...fields } = summary;
  const { containerTag } = summary;
  return {
    ...fields,
    name: summary.name ?? containerTag,
    isExperimental: false,
    isNova: containerTag.startsWith('sm_project_'),
    visibility: 'private',
    ...mergeView(summary),
  };
}

function mergeView({ containerTag, merge }: ContainerTagSummary): Partial<ContainerTagAnswer> {
  if (!merge) return {};
  const mergeStatus = merge.targetTag === containerTag ? 'target' : 'source';
  return { mergeStatus, mergeId: merge.id, mergeTargetTag: merge.targetTag };
}

const tags = ['Container tags'];

/** Sections 18.2 to 18.4 of the API. */
export function containerSettingsRoutes(app: Api, context: RouteContext): void {
  readRoute(app, context);
  changeRoutes(app, context);
}

function readRoute(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/container-tags/:containerTag',
    {
      schema: {
        operationId: 'getContainerTag',
        summary: 'Get the settings of a container tag',
        tags,
        params: schemas.containerParams,
        response: { 200: schemas.containerAnswer },
      },
    },
    async (request) => {
      const { containerTag } = request.params;
      readScope(callerOf(request), [containerTag]);
      const container = await services.containerTags.find(containerTag);
      if (!container) throw containerNotFound();
      const usage = await services.containerTags.usage(container);
      return { ...containerView(container), usage, createdAt: container.createdAt };
    },
  );
}

function changeRoutes(app: Api, { services }: RouteContext): void {
  app.patch(
    '/v3/container-tags/:containerTag',
    {
      config: { audit: 'container.change' },
      schema: {
        operationId: 'updateContainerTag',
        summary: 'Change the settings of a container tag',
        description:
          'Makes the container when there is none. Holds for what is ingested afterwards; what becomes a memory is also applied, in the background, to what is there.',
        tags,
        params: schemas.containerParams,
        body: schemas.containerChangeBody,
        response: { 200: schemas.containerChangeAnswer },
      },
    },
    async (request) => {
      requireManagement(callerOf(request));
      const { name, entityContext, memoryFilesystemPaths, memories, profileBuckets, quota } = request.body;
      const wanted = present({ name, entityContext, memoryFilesystemPaths, memories, profileBuckets, quota });
      const container = await services.containerTags.change(request.params.containerTag, wanted);
      return containerView(container);
    },
  );

  app.delete(
    '/v3/container-tags/:containerTag',
    {
      config: { audit: 'container.delete' },
      schema: {
        operationId: 'deleteContainerTag',
        summary: 'Delete a container tag with everything in it',
        description: 'Documents, memories, connections and settings. The default container is emptied and stays.',
        tags,
        params: schemas.containerParams,
        response: { 200: schemas.containerDeleteAnswer },
      },
    },
    async (request) => {
      requireManagement(callerOf(request));
      const { containerTag } = request.params;
      const removed = await services.containerTags.remove(containerTag);
      if (!removed) throw containerNotFound();
      return {
        success: true,
        containerTag,
        deletedDocumentsCount: removed.documents,
        deletedMemoriesCount: removed.memories,
      };
    },
  );
}

function containerView(container: Container): schemas.ContainerChangeAnswer {
  const { id: _id, createdAt: _createdAt, ...settings } = container;
  return settings;
}

function containerNotFound(): MemorydError {
  return new MemorydError('not_found', 'Container not found');
}

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
