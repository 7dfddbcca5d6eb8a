import Type from 'typebox';
import { containerTags, timestamp } from '../schemas/shared.ts';
import { readScope } from '../../account/access.ts';
import { callerOf, type Api, type RouteContext } from '../request.ts';

const activityQuery = Type.Object(
  {
    containerTags: Type.Optional(containerTags),
    hours: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 720, description: 'How far sources and uploads go back. Default 24.' }),
    ),
    days: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 366, description: 'How far growth goes back. Default 30.' }),
    ),
  },
  { style: 'form', explode: false },
);

const activityAnswer = Type.Object({
  since: timestamp,
  sources: Type.Array(
    Type.Object({
      connectionId: Type.String(),
      provider: Type.String(),
      containerTag: Type.String(),
      runs: Type.Integer({ description: 'Syncs that ended since, or go on.' }),
      added: Type.Integer(),
      updated: Type.Integer(),
      deleted: Type.Integer(),
      failed: Type.Integer(),
      lastAt: timestamp,
    }),
    { description: 'Changes by syncs, the latest first. Sources without a sync are left out.' },
  ),
  uploads: Type.Integer({ description: 'Documents that were sent and not mirrored.' }),
  growth: Type.Array(
    Type.Object({
      day: Type.String({ format: 'date', description: 'In UTC.' }),
      documents: Type.Integer({ description: 'Documents added on this day that still exist.' }),
      bytes: Type.Integer({ description: 'Their size: for each, the larger of the sent content and its text.' }),
    }),
    { description: 'In order; days without any are left out.' },
  ),
});

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
      return services.activity.describe(scope, { hours, days });
    },
  );
}
