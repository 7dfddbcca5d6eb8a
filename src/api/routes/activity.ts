import { readScope } from '../../account/access.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { activityAnswer, activityQuery } from '../schemas/activity.ts';

/** Recent changes, as far as the key may see them. */
export function activityRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/activity',
    {
      schema: {
        operationId: 'getActivity',
        summary: 'Recent changes',
        description: 'In the containers that the key may read, or in some of them.',
        tags: ['Service'],
        querystring: activityQuery,
        response: { 200: activityAnswer },
      },
    },
    async (request) => {
      const { containerTags = [], hours = 24, days = 30 } = request.query;
      const scope = readScope(callerOf(request), containerTags);
      const { since, sources, ...report } = await services.activity.describe(scope, { hours, days });
      return {
        ...report,
        since: since.toISOString(),
        sources: sources.map((source) => ({ ...source, lastAt: source.lastAt.toISOString() })),
      };
    },
  );
}
