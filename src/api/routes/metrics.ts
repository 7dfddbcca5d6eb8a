import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { requireFullKey } from '../../account/access.ts';
import type { Metrics } from '../../base/metrics.ts';
import { everyContainer } from '../../base/scope.ts';
import type { LanguageModelUsage } from '../../memory/llm/metered-model.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';

/** Counts every request: uploads, hooks and MCP too. */
export function countRequests(metrics: Metrics) {
  return async function countRequest(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const route = request.routeOptions.url ?? 'unknown';
    metrics.count('memoryd_http_requests_total', { method: request.method, route, status: String(reply.statusCode) });
    metrics.observe('memoryd_http_request_seconds', { method: request.method, route }, reply.elapsedTime);
  };
}

/** `GET /metrics` (section 22.3), where the configuration turns it on. Needs a full key. */
export function metricsRoutes(app: Api, { services }: RouteContext): void {
  const { metrics, documents, status } = services;
  if (!metrics) return;
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
      const { languageModel } = await status.describe();
      const asked = languageModel ? languageModelMetrics(languageModel) : '';
      const text = `${metrics.render()}${asked}# TYPE memoryd_documents gauge\n${lines.join('\n')}\n`;
      return reply.type('text/plain; version=0.0.4; charset=utf-8').serializer(String).send(text);
    },
  );
}

/** Counted in the database, so of all processes together. */
function languageModelMetrics(usage: LanguageModelUsage): string {
  const { answers, cached, failed, malformed, overBudget } = usage;
  const outcomes = { answers, cached, failed, malformed, over_budget: overBudget };
  return [
    '# TYPE memoryd_llm_questions_total counter',
    ...Object.entries(outcomes).map(([outcome, count]) => `memoryd_llm_questions_total{outcome="${outcome}"} ${count}`),
    '# TYPE memoryd_llm_tokens_total counter',
    `memoryd_llm_tokens_total ${usage.tokens}`,
    '# TYPE memoryd_llm_tokens_today gauge',
    `memoryd_llm_tokens_today ${usage.tokensToday}`,
    '',
  ].join('\n');
}
