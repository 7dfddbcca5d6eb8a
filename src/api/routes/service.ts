import { MemorydError } from '../../base/errors.ts';
import { requireFullKey } from '../../account/access.ts';
import { everyContainer } from '../../base/scope.ts';
import type { LanguageModelUsage } from '../../memory/llm/metered-model.ts';
import type { Connection } from '../../connections/connections.ts';
import { createConsolePage, sendPageFile, type ConsolePage } from '../console-page.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { withOptionalBodies } from '../openapi.ts';
import { ofNamespaces } from '../v5/openapi.ts';
import * as schemas from '../schemas/service.ts';

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
            content: { 'application/json': { schema: schemas.rootAnswer }, 'text/html': { schema: schemas.page } },
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
        response: { 200: schemas.healthAnswer },
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
        response: { 200: schemas.readinessAnswer, 503: schemas.readinessAnswer },
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
        response: { 200: schemas.statusAnswer },
      },
    },
    async (request) => {
      requireFullKey(callerOf(request));
      const [{ startedAt, languageModel, ...process }, documents, foundByWords, oldest, connections] =
        await Promise.all([
          services.status.describe(),
          services.documents.countByStatus(everyContainer),
          services.documents.countFoundByWords(everyContainer),
          services.documents.oldestWaitingAt(everyContainer),
          services.connections.list(everyContainer),
        ]);
      return {
        ...process,
        languageModel: languageModel && languageModelLine(languageModel),
        version,
        startedAt: startedAt.toISOString(),
        uptimeMs: clock.now().getTime() - startedAt.getTime(),
        documents,
        foundByWords,
        oldestWaitingAt: oldest?.toISOString() ?? null,
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
  return {
    id,
    provider,
    containerTag,
    status,
    statusReason,
    documentCount,
    lastSyncedAt: lastSyncedAt?.toISOString() ?? null,
    nextSyncAt: nextSyncAt?.toISOString() ?? null,
  };
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
  response: { 200: schemas.openapiAnswer },
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
