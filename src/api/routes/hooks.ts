import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RawHook } from '../../connect/contract.ts';
import type { Api, RouteContext } from '../context.ts';
import { hookAnswers, hookParams, sharedHookParams } from '../schemas/hooks.ts';

/** GitHub sends up to 25 MB. */
const maxBodyBytes = 25 * 1024 * 1024;

/** The short path that sources are told, and the one of the published interface. */
const paths = [
  { prefix: '/v3/hooks', name: 'Hook' },
  { prefix: '/v3/webhooks', name: 'Webhook' },
];

const description =
  'What a source sends when something changed there. No API key: the connector checks the signature of the source. A hook only says that it is worth looking; what changed is read from the source.';

/** In a scope of its own, because here the body is taken as it is, byte by byte. */
export function hookRoutes(app: Api, { services }: RouteContext): void {
  readBytes(app);

  async function answer(request: FastifyRequest, reply: FastifyReply) {
    const { provider, connectionId } = request.params as { provider: string; connectionId?: string };
    const hook = { provider, connectionId: connectionId ?? null, raw: rawHook(request) };
    const { status, headers, body } = await services.hooks.receive(hook);
    return reply.code(status).headers(headers).serializer(String).send(body);
  }

  const offered = paths.flatMap((path) => (['POST', 'GET'] as const).map((method) => ({ ...path, method })));
  for (const { prefix, name, method } of offered) {
    const of = method === 'POST' ? 'receive' : 'verify';
    app.route({
      method,
      url: `${prefix}/:provider/:connectionId`,
      bodyLimit: maxBodyBytes,
      config: { public: true, sensitive: true },
      schema: {
        operationId: `${of}Connection${name}`,
        summary: method === 'POST' ? 'Receive a hook of a connection' : 'Answer the handshake of a connection’s hook',
        description,
        tags: ['Hooks'],
        security: [],
        params: hookParams,
        response: hookAnswers,
      },
      handler: answer,
    });
    app.route({
      method,
      url: `${prefix}/:provider`,
      bodyLimit: maxBodyBytes,
      config: { public: true, sensitive: true },
      schema: {
        operationId: `${of}Provider${name}`,
        summary: method === 'POST' ? 'Receive a hook of a provider' : 'Answer the handshake of a provider’s hook',
        description: `${description} One hook for all connections of the provider, which names them by their account.`,
        tags: ['Hooks'],
        security: [],
        params: sharedHookParams,
        response: hookAnswers,
      },
      handler: answer,
    });
  }
}

function readBytes(app: Api): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
}

function rawHook(request: FastifyRequest): RawHook {
  const { body } = request;
  const [path = '', search = ''] = request.url.split('?', 2);
  return {
    method: request.method,
    path,
    query: Object.fromEntries(new URLSearchParams(search)),
    headers: Object.fromEntries(
      Object.entries(request.headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
    ),
    body: body instanceof Uint8Array ? body : new Uint8Array(),
  };
}
