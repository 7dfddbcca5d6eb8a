import type { FastifyRequest } from 'fastify';
import { requireManagement } from '../../account/access.ts';
import { MemorydError } from '../../base/errors.ts';
import type { CallbackAnswer, ConsentResult } from '../../connect/oauth/consents.ts';
import { withParameters } from '../../connect/oauth/redirects.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { authorizationAnswer, callbackAnswers, callbackQuery } from '../schemas/authorizations.ts';
import { connectionParams, providerParams } from '../schemas/connections.ts';
import { authorizationPage, pageHeaders } from '../views/authorization-page.ts';

const tags = ['Connections'];

/** Section 19.7: where sources send the browser back to, and how an authorization stands. */
export function authorizationRoutes(app: Api, { services }: RouteContext): void {
  const paths = {
    '/v3/connections/auth/callback/:provider': 'completeAuthorization',
    '/v3/connections/:provider/callback': 'completeAuthorizationAlias',
  };
  for (const [path, operationId] of Object.entries(paths)) {
    app.get(
      path,
      {
        // A HEAD request (a preview of the link) must not use the state up.
        exposeHeadRoute: false,
        config: { public: true, sensitive: true },
        schema: {
          operationId,
          summary: 'Complete an authorization',
          description:
            'Sources send browsers here after the user’s consent. The single-use state authorizes the request.',
          tags,
          security: [],
          params: providerParams,
          querystring: callbackQuery,
          response: callbackAnswers,
        },
      },
      async (request, reply) => {
        const { provider } = request.params;
        const result = await services.consents.complete(provider, readAnswer(request.query));
        const { status, headers, text } = wantsJson(request)
          ? programAnswer(provider, result)
          : browserAnswer(provider, result);
        void reply.headers({ ...pageHeaders, ...headers }).serializer(String);
        return reply.code(status).send(text);
      },
    );
  }

  app.get(
    '/v3/connections/:connectionId/authorization',
    {
      schema: {
        operationId: 'getAuthorization',
        summary: 'How the consent to a connection stands',
        description: 'Also before there is a connection. Links are remembered for a day.',
        tags,
        params: connectionParams,
        response: { 200: authorizationAnswer },
      },
    },
    async (request) => {
      requireManagement(callerOf(request));
      const { connectionId } = request.params;
      const status = await services.consents.state(connectionId);
      if (!status) throw new MemorydError('not_found', 'Authorization not found');
      return { connectionId, status };
    },
  );
}

/** Longer than any code or state that sources make. */
const longestParameter = 4_096;

/** RFC 6749 section 3.1: a parameter that comes twice is no parameter. */
function readAnswer(query: { code?: unknown; state?: unknown; error?: unknown }): CallbackAnswer {
  const text = (value: unknown) =>
    typeof value === 'string' && value !== '' && value.length <= longestParameter ? value : undefined;
  return { code: text(query.code), state: text(query.state), error: text(query.error) };
}

function wantsJson({ headers }: FastifyRequest<any, any, any, any, any, any, any>): boolean {
  const accept = headers.accept ?? '';
  return accept.includes('application/json') && !accept.includes('text/html');
}

interface Answer {
  status: 200 | 302 | 400;
  headers: Record<string, string>;
  text: string;
}

function browserAnswer(provider: string, result: ConsentResult): Answer {
  const { outcome, redirectUrl } = result;
  const connected = outcome === 'connected';
  if (redirectUrl !== null) {
    const facts: Record<string, string> = connected
      ? { connectionId: result.connectionId, provider, status: 'connected' }
      : { provider, error: outcome };
    return { status: 302, headers: { location: withParameters(redirectUrl, facts) }, text: '' };
  }
  const headers = { 'content-type': 'text/html; charset=utf-8' };
  const page = connected
    ? { title: 'Connected', text: `${provider} is connected, and the first sync begins. You can close this window.` }
    : { title: 'Not connected', text: result.reason };
  return { status: connected ? 200 : 400, headers, text: authorizationPage(page) };
}

/** For programs that were given the answer by hand, such as `memoryd connect --paste`. */
function programAnswer(provider: string, result: ConsentResult): Answer {
  const body =
    result.outcome === 'connected'
      ? { connectionId: result.connectionId, provider, status: 'connected' }
      : { error: result.outcome, details: result.reason };
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  return { status: result.outcome === 'connected' ? 200 : 400, headers, text: JSON.stringify(body) };
}
