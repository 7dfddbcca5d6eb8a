import Type from 'typebox';
import { requireOwnOrigin } from '../api/admission.ts';
import { callerOf, type Api, type FurtherContext, abortOnDisconnect } from '../api/request.ts';

/** The parts of a message that every kind has; the protocol's own checks follow. */
const message = Type.Unsafe<object>({
  type: 'object',
  properties: {
    jsonrpc: { type: 'string', const: '2.0', 'x-expected': '"2.0"' },
    id: { type: ['string', 'integer'], description: 'Absent in a notification.' },
    method: { type: 'string', description: 'e.g. initialize, tools/list, tools/call.' },
    params: { type: 'object', additionalProperties: true },
  },
  required: ['jsonrpc'],
  examples: [
    {
      jsonrpc: '2.0',
      id: 7,
      method: 'tools/call',
      params: { name: 'search_memory', arguments: { query: 'how does Mira like updates' } },
    },
  ],
});

const answer = Type.Unsafe<string>({
  type: 'object',
  properties: {
    jsonrpc: { type: 'string', const: '2.0' },
    id: { type: ['string', 'integer'] },
    result: { type: 'object', additionalProperties: true },
    error: {
      type: 'object',
      properties: { code: { type: 'integer' }, message: { type: 'string' }, data: {} },
      required: ['code', 'message'],
    },
  },
  required: ['jsonrpc', 'id'],
});

const taken = Type.Unsafe<undefined>({ type: 'null', description: 'A notification was taken.' });

/** Section 21 of the API: the model context protocol over streamable HTTP, without sessions. */
export function mcpRoutes(app: Api, { services, config, clock, log, version }: FurtherContext): void {
  app.post(
    '/mcp',
    {
      schema: {
        operationId: 'callMcp',
        summary: 'Model context protocol',
        description:
          'One JSON-RPC message of the protocol, over streamable HTTP without sessions. Any client of the protocol does this by itself.',
        tags: ['MCP'],
        body: message,
        response: { 200: answer, 202: taken },
      },
    },
    async (request, reply) => {
      requireOwnOrigin(request, config.corsOrigins);
      // Loaded at the first message: the daemon starts sooner without it.
      const { answerMessage } = await import('./server.ts');
      const header = request.headers['mcp-protocol-version'];
      const text = await answerMessage({
        message: request.body,
        protocolVersion: typeof header === 'string' ? header : undefined,
        call: { services, config, clock, caller: callerOf(request), signal: abortOnDisconnect(reply) },
        ...{ log, version },
      });
      if (text === null) return reply.code(202).send(undefined);
      return reply.type('application/json; charset=utf-8').send(text);
    },
  );

  for (const method of ['GET', 'DELETE'] as const) {
    app.route({
      method,
      url: '/mcp',
      schema: { hide: true },
      handler: async (_request, reply) =>
        reply
          .code(405)
          .header('allow', 'POST')
          .send({ error: 'Method not allowed', details: 'There are no sessions; send each message with POST' }),
    });
  }
}
