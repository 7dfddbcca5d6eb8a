import Type from 'typebox';
import { closedBody } from '../schemas/shared.ts';
import { contentFields } from '../../schemas/settings.ts';
import { nullable } from '../../schemas/shared.ts';
import { readScope, requireManagement, type Caller } from '../../../account/access.ts';
import { MemorydError } from '../../../base/errors.ts';
import { callerOf, type Api, type RouteContext } from '../../request.ts';

const { filterPrompt } = contentFields;

const organizationAnswer = Type.Object({
  organizationalContext: nullable(Type.String()),
  namespaceCount: Type.Integer({ description: 'Namespaces that the key may read.' }),
});

const organizationBody = closedBody({
  organizationalContext: Type.Unsafe<string | null>({
    ...filterPrompt,
    description: 'Describes content worth keeping. The same as filterPrompt of GET /v3/settings.',
  }),
});

const tags = ['Settings'];

export function organizationRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/organization',
    {
      schema: {
        operationId: 'getOrganization',
        summary: 'Get the organization',
        tags,
        response: { 200: organizationAnswer },
      },
    },
    async (request) => answer(callerOf(request), (await services.settings.read()).content.filterPrompt),
  );

  app.patch(
    '/organization',
    {
      config: { audit: 'settings.change' },
      schema: {
        operationId: 'updateOrganization',
        summary: 'Say what is worth keeping in the whole organization',
        description: 'null takes it away. A language model follows it, where there is one.',
        tags,
        body: organizationBody,
        response: { 200: organizationAnswer },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      requireManagement(caller);
      const { organizationalContext: filterPrompt } = request.body;
      // What is said here is meant to be followed.
      const follows = filterPrompt === null ? {} : { shouldLLMFilter: true };
      const { content } = await services.settings.change({ content: { filterPrompt, ...follows }, clients: {} });
      return answer(caller, content.filterPrompt);
    },
  );

  async function answer(caller: Caller, organizationalContext: string | null) {
    const { total } = await services.containerTags.page(readScope(caller, []), { page: 1, limit: 1 });
    return { organizationalContext, namespaceCount: total };
  }

  // A 503, which the published interface has for this, would be asked for again.
  app.post('/feedback', { schema: { hide: true } }, async () => {
    throw new MemorydError('not_found', 'Feedback is not available on this deployment');
  });
}
