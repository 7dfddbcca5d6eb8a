import Type from 'typebox';
import { requireFullKey } from '../../account/access.ts';
import { everyContainer } from '../../base/scope.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';

/** `GET /metrics` (section 22.3), where the configuration turns it on. Needs a full key. */
export function metricsRoutes(app: Api, { services }: RouteContext): void {
  const { metrics, documents } = services;
  if (!metrics) return;
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'unknown';
    metrics.count('memoryd_http_requests_total', { method: request.method, route, status: String(reply.statusCode) });
    metrics.observe('memoryd_http_request_seconds', { method: request.method, route }, reply.elapsedTime);
  });

  app.get(
    '/metrics',
    {
      schema: {
        operationId: 'getMetrics',
        summary: 'Counters and durations of this process, for Prometheus',
        description: 'Needs a full key, as a bearer token. Only where the configuration turns it on.',
        tags: ['Service'],
        response: { 200: Type.String() },
      },
    },
    async (request, reply) => {
      requireFullKey(callerOf(request));
      const counts = await documents.countByStatus(everyContainer);
      const lines = Object.entries(counts).map(([status, count]) => `memoryd_documents{status="${status}"} ${count}`);
      const text = `${metrics.render()}# TYPE memoryd_documents gauge\n${lines.join('\n')}\n`;
      return reply.type('text/plain; version=0.0.4; charset=utf-8').serializer(String).send(text);
    },
  );
}
