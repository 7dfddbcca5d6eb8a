import { readScope } from '../../account/access.ts';
import type { ContainerTagSummary } from '../../account/container-tags.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { containerTagsAnswer, type ContainerTagAnswer } from '../schemas/container-tags.ts';

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
  const { id, containerTag, description, documentCount, memoryCount } = summary;
  return {
    id,
    containerTag,
    description,
    documentCount,
    memoryCount,
    name: summary.name ?? containerTag,
    createdAt: summary.createdAt.toISOString(),
    updatedAt: summary.updatedAt.toISOString(),
    isExperimental: false,
    isNova: containerTag.startsWith('sm_project_'),
    visibility: 'private',
    lastActivityAt: summary.lastActivityAt?.toISOString() ?? null,
    ...mergeView(summary),
  };
}

function mergeView({ containerTag, merge }: ContainerTagSummary): Partial<ContainerTagAnswer> {
  if (!merge) return {};
  const mergeStatus = merge.targetTag === containerTag ? 'target' : 'source';
  return { mergeStatus, mergeId: merge.id, mergeTargetTag: merge.targetTag };
}
