import { requireFullKey } from '../../account/access.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { configurationAnswer } from '../schemas/configuration.ts';

/** What the process was started with, as `memoryd config` shows it. */
export function configurationRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/configuration',
    {
      schema: {
        operationId: 'getConfiguration',
        summary: 'The configuration of this process and where it is from',
        description: 'Needs a full key. It is read at the start; secrets are masked.',
        tags: ['Service'],
        response: { 200: configurationAnswer },
      },
    },
    async (request) => {
      requireFullKey(callerOf(request));
      return services.status.configuration();
    },
  );
}
