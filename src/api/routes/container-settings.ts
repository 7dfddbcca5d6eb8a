import { readScope, requireManagement } from '../../account/access.ts';
import type { Container } from '../../account/container-tags.ts';
import { MemorydError } from '../../base/errors.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import * as schemas from '../schemas/container-tags.ts';

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
      return { ...containerView(container), usage, createdAt: container.createdAt.toISOString() };
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
      const container = await services.containerTags.change(request.params.containerTag, {
        ...(name !== undefined && { name }),
        ...(entityContext !== undefined && { entityContext }),
        ...(memoryFilesystemPaths !== undefined && { memoryFilesystemPaths }),
        ...(memories !== undefined && { memories }),
        ...(profileBuckets !== undefined && { profileBuckets }),
        ...(quota !== undefined && { quota }),
      });
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
  const { containerTag, name, entityContext, memoryFilesystemPaths, memories, profileBuckets, quota, updatedAt } =
    container;
  return {
    containerTag,
    name,
    entityContext,
    memoryFilesystemPaths,
    memories,
    profileBuckets,
    quota,
    updatedAt: updatedAt.toISOString(),
  };
}

function containerNotFound(): MemorydError {
  return new MemorydError('not_found', 'Container not found');
}
