import Type from 'typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '../../base/metrics.ts';
import { MemorydError } from '../../base/errors.ts';
import { requireFullKey } from '../../account/access.ts';
import { everyContainer } from '../../base/scope.ts';
import type { LanguageModelUsage } from '../../memory/llm/metered-model.ts';
import type { Connection } from '../../connections/connection-types.ts';
import { createConsolePage, sendPageFile, type ConsolePage } from '../console-page.ts';
import { callerOf, type Api, type RouteContext } from '../request.ts';
import { withOptionalBodies, ofNamespaces } from '../openapi.ts';
import { documentStatuses } from '../../engine/document.ts';
import { nullable, timestamp, words } from '../schemas/shared.ts';
import { backupScheduleAnswer } from './backups.ts';

const rootAnswer = Type.Object({ name: Type.String(), version: Type.String(), docs: Type.String() });

/** Of the console. */
const page = Type.String();

const healthAnswer = Type.Object({ status: Type.String() });

const readinessAnswer = Type.Object({
  database: Type.String({ description: 'ok, or what is wrong.' }),
  queue: Type.String(),
  embeddings: Type.String(),
  scheduler: Type.String(),
});

const counts = Object.fromEntries(documentStatuses.map((status) => [status, Type.Integer()]));

const statusAnswer = Type.Object({
  version: Type.String(),
  startedAt: timestamp,
  uptimeMs: Type.Integer(),
  role: words(['all', 'api', 'worker', 'scheduler']),
  command: Type.Array(Type.String(), {
    description: 'What starts a command on the machine of this process: a program and its first argument, in full.',
  }),
  storage: Type.Object({
    engine: words(['postgres', 'pglite']),
    dataDir: nullable(Type.String()),
    bytes: nullable(Type.Integer(), { description: 'Size of the database; null where it does not tell.' }),
  }),
  queue: Type.Object({ kind: words(['in-process', 'bullmq']) }),
  eventLoopMs: Type.Number({
    description: 'How long a turn of the event loop takes at the moment, in milliseconds.',
  }),
  backups: nullable(backupScheduleAnswer, {
    description: 'Null: none is made by itself, as with PostgreSQL and without the setting `backup.schedule`.',
  }),
  embedder: Type.Object({
    id: Type.String(),
    runtime: Type.String(),
    state: Type.String(),
    slowness: nullable(Type.String(), { description: 'Why it is slower than it has to be, and what to do.' }),
  }),
  languageModel: nullable(
    Type.Object(
      {
        id: Type.String(),
        state: Type.String({
          description: '`ready`, `failing` or `budget spent`. What was not answered is done without the model.',
        }),
        tokensToday: Type.Integer({ description: 'Used by all containers on this day (UTC).' }),
        tokensPerDay: Type.Integer({ description: 'Limit for each container.' }),
        containersOverBudget: Type.Integer({ description: 'Whose budget did not suffice today.' }),
        tokens: Type.Integer({ description: 'Since the beginning, as all numbers below.' }),
        answers: Type.Integer(),
        cached: Type.Integer({ description: 'Questions whose answer was known.' }),
        failed: Type.Integer({ description: 'Questions that the endpoint did not answer.' }),
        malformed: Type.Integer({ description: 'Answers of another form than was asked for.' }),
        overBudget: Type.Integer({ description: 'Questions that were not asked.' }),
      },
      { description: 'Null where none is configured.' },
    ),
  ),
  documents: Type.Unsafe<Record<string, number>>(
    Type.Object(counts, { description: 'Number of documents by status.' }),
  ),
  foundByWords: Type.Integer({
    description: 'Documents in processing that are found by their words already; their vectors are still to be made.',
  }),
  oldestWaitingAt: nullable(timestamp, {
    description: 'Since when the oldest document waits that is not processed yet. Null: none waits.',
  }),
  connections: Type.Array(
    Type.Object({
      id: Type.String(),
      provider: Type.String(),
      containerTag: Type.String(),
      status: Type.String(),
      statusReason: nullable(Type.String()),
      documentCount: Type.Integer(),
      lastSyncedAt: nullable(timestamp),
      nextSyncAt: nullable(timestamp),
    }),
  ),
});

const openapiAnswer = Type.Unsafe<object>({ type: 'object', additionalProperties: true });

const tags = ['Service'];
/** Routes for browsers and monitors. */
const open = { config: { public: true } };
const noSecurity = { tags, security: [] };

/** Section 22.3 of the API, and `GET /v3/status`. */
export function serviceRoutes(app: Api, context: RouteContext): void {
  rootRoute(app, context);
  probeRoutes(app, context);
  statusRoute(app, context);
  openapiRoutes(app);
}

function rootRoute(app: Api, { config, version }: RouteContext): void {
  const consolePage = config.consoleFolder === undefined ? null : createConsolePage(config.consoleFolder);
  if (consolePage) consoleAssetRoutes(app, consolePage);
  app.get(
    '/',
    {
      ...open,
      schema: {
        operationId: 'getRoot',
        summary: 'Name and version; for browsers the console',
        ...noSecurity,
        response: {
          200: {
            content: { 'application/json': { schema: rootAnswer }, 'text/html': { schema: page } },
          },
        },
      },
      preHandler: async (request, reply) => {
        if (!consolePage) return undefined;
        reply.header('vary', 'accept, accept-encoding');
        const page = request.headers.accept?.includes('text/html') ? await consolePage.page() : null;
        return page ? sendPageFile(request, reply.header('cache-control', 'no-cache'), page) : undefined;
      },
    },
    async () => ({ name: 'memoryd', version, docs: '/docs' }),
  );
}

function probeRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/health',
    {
      ...open,
      schema: {
        operationId: 'getHealth',
        summary: 'Whether the process runs',
        ...noSecurity,
        response: { 200: healthAnswer },
      },
    },
    async () => ({ status: 'ok' }),
  );

  app.get(
    '/ready',
    {
      ...open,
      schema: {
        operationId: 'getReadiness',
        summary: 'Whether everything it needs works',
        ...noSecurity,
        response: { 200: readinessAnswer, 503: readinessAnswer },
      },
    },
    async (_request, reply) => {
      const readiness = await services.status.readiness();
      const isReady = Object.values(readiness).every((part) => part === 'ok');
      if (!isReady) reply.header('retry-after', 5);
      return reply.code(isReady ? 200 : 503).send(readiness);
    },
  );
}

function statusRoute(app: Api, { services, clock, version }: RouteContext): void {
  app.get(
    '/v3/status',
    {
      schema: {
        operationId: 'getStatus',
        summary: 'The state of the daemon and its content',
        description: 'Needs a full key.',
        tags,
        response: { 200: statusAnswer },
      },
    },
    async (request) => {
      requireFullKey(callerOf(request));
      const [{ startedAt, languageModel, ...process }, backups, documents, foundByWords, oldest, connections] =
        await Promise.all([
          services.status.describe(),
          services.backups?.schedule(),
          services.documents.countByStatus(everyContainer),
          services.documents.countFoundByWords(everyContainer),
          services.documents.oldestWaitingAt(everyContainer),
          services.connections.list(everyContainer),
        ]);
      return {
        ...process,
        backups: backups ?? null,
        languageModel: languageModel && languageModelLine(languageModel),
        version,
        startedAt,
        uptimeMs: clock.now().getTime() - startedAt.getTime(),
        documents,
        foundByWords,
        oldestWaitingAt: oldest,
        connections: connections.map(connectionLine),
      };
    },
  );
}

function languageModelLine({ answeredAt: _answered, failedAt: _failed, ...usage }: LanguageModelUsage) {
  return usage;
}

function connectionLine(connection: Connection) {
  const { id, provider, containerTag, status, statusReason, documentCount, lastSyncedAt, nextSyncAt } = connection;
  return { id, provider, containerTag, status, statusReason, documentCount, lastSyncedAt, nextSyncAt };
}

/** The whole description, and that of the operations of namespaces alone. */
const descriptions = {
  '/openapi.json': (whole: object) => whole,
  '/v3/openapi': (whole: object) => whole,
  '/v4/openapi': (whole: object) => whole,
  '/v5/openapi.json': ofNamespaces,
  '/v5/openapi': ofNamespaces,
};

function openapiRoutes(app: Api): void {
  // Bytes that all answers share: nobody needs a key for it, and who never reads what he asks for must not fill the memory.
  const documents = new Map<(whole: object) => object, Buffer>();
  const documentOf = (part: (whole: object) => object) => {
    const known = documents.get(part) ?? Buffer.from(JSON.stringify(part(withOptionalBodies(app.swagger()))));
    documents.set(part, known);
    return known;
  };
  for (const [path, part] of Object.entries(descriptions)) {
    app.get(path, { ...open, schema: { hide: path !== '/openapi.json', ...openapiSchema } }, async (_request, reply) =>
      reply.type('application/json; charset=utf-8').send(documentOf(part)),
    );
  }
}

const openapiSchema = {
  operationId: 'getOpenapi',
  summary: 'This description',
  ...noSecurity,
  response: { 200: openapiAnswer },
};

/** Scripts and styles of the console's page. Their names change with their content. */
function consoleAssetRoutes(app: Api, page: ConsolePage): void {
  app.get<{ Params: { name: string } }>(
    '/console/assets/:name',
    { config: { public: true }, schema: { hide: true } },
    async (request, reply) => {
      const file = await page.asset(request.params.name);
      if (!file) throw new MemorydError('not_found', 'Not found');
      reply.headers({ 'cache-control': 'public, max-age=31536000, immutable', vary: 'accept-encoding' });
      return sendPageFile(request, reply, file);
    },
  );
}

/** Counts every request: uploads, hooks and MCP too. */
export function countRequests(metrics: Metrics) {
  return async function countRequest(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const route = request.routeOptions.url ?? 'unknown';
    metrics.count('memoryd_http_requests_total', { method: request.method, route, status: String(reply.statusCode) });
    metrics.observe('memoryd_http_request_seconds', { method: request.method, route }, reply.elapsedTime);
  };
}

/** `GET /metrics` (section 22.3 of the API), where the configuration turns it on. Needs a full key. */
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
