import type { Socket } from 'node:net';
import { STATUS_CODES } from 'node:http';
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import swagger from '@fastify/swagger';
import fastify from 'fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import {
  checkHosts,
  setSecurityHeaders,
  authenticateWith,
  createWrongKeys,
  limitContainerRates,
  limitRates,
} from './admission.ts';
import { readBodies, refuseLargeBodies, refuseOldScopes } from './body.ts';
import type { Api, FurtherContext, RouteContext } from './request.ts';
import { handleErrorsWith } from './error-handler.ts';
import { openapiOptions } from './openapi.ts';
import { replayAnswers } from './replay.ts';
import { activityRoutes } from './routes/activity.ts';
import { auditRoutes } from './routes/audit.ts';
import { authorizationRoutes } from './routes/authorizations.ts';
import { configurationRoutes } from './routes/configuration.ts';
import { connectionRoutes } from './routes/connections.ts';
import { connectorRoutes } from './routes/connectors.ts';
import { consoleSessionRoutes } from './routes/console-sessions.ts';
import { changeDocumentRoutes } from './routes/change-documents.ts';
import {
  containerMergeRoutes,
  containerSettingsRoutes,
  containerTagRoutes,
  inferredMemoryRoutes,
} from './routes/container-tags.ts';
import { conversationRoutes } from './routes/conversations.ts';
import { docsRoutes } from './routes/docs.ts';
import {
  documentListRoutes,
  addDocumentRoutes,
  documentFileRoutes,
  documentRoutes,
  fileRoutes,
} from './routes/documents.ts';
import { backupRoutes } from './routes/backups.ts';
import { erasureRoutes } from './routes/erasures.ts';
import { graphRoutes } from './routes/graph.ts';
import { hookRoutes } from './routes/hooks.ts';
import { itemRoutes } from './routes/items.ts';
import { keyRoutes } from './routes/keys.ts';
import { memoryRoutes } from './routes/memories.ts';
import { oldSearchRoutes } from './routes/old-search.ts';
import { profileRoutes } from './routes/profile.ts';
import { pushRoutes } from './routes/push.ts';
import { resourceRoutes } from './routes/resources.ts';
import { searchRoutes } from './routes/search.ts';
import { countRequests, metricsRoutes, serviceRoutes } from './routes/service.ts';
import { sessionRoutes } from './routes/session.ts';
import { settingsRoutes } from './routes/settings.ts';
import { runEventRoutes, syncRoutes } from './routes/syncs.ts';
import { connectionAnswer } from './schemas/connections.ts';
import { itemAnswer } from './schemas/items.ts';
import { errorResponse, validationErrorResponse } from './schemas/shared.ts';
import { syncRunAnswer } from './schemas/sync-runs.ts';
import type { ApiConfig, ApiServices } from './services.ts';
import { createUploads } from './uploads.ts';
import { namespaceFileRoutes } from './v5/routes/files.ts';
import { namespaceRoutes } from './v5/routes.ts';
import { noteWithoutV5, withoutV5Header } from './v5/without-counterpart.ts';
import { compileRouteSchema, isChange } from './validation.ts';
import { firstOf } from '../base/collections.ts';
import type { Audit } from '../account/audit.ts';

export interface ApiOptions {
  services: ApiServices;
  config: ApiConfig;
  clock: Clock;
  log: Logger;
  /** The version of memoryd, shown by `GET /`. */
  version: string;
  /** Adds routes with the same keys, limits and errors. */
  further?: (app: Api, context: FurtherContext) => void;
}

const sharedSchemas = [errorResponse, validationErrorResponse, connectionAnswer, syncRunAnswer, itemAnswer];

const standardRequestTimeoutMs = 120_000;
/** Timeout of an idle connection: answers to a client that does not read them stay in memory. */
const standardStalledTimeoutMs = 300_000;
/** The time that the official client waits. */
const standardAnswerTimeoutMs = 60_000;

/** Longest part of a path that is matched; longer than any id so that the schema names the limit. */
const maxParamLength = 8_192;

/**
 * The HTTP API. Listens when the caller says so; `close()` answers requests that are under way,
 * refuses new ones with 503 and resolves when all connections have ended.
 */
export function createApi(options: ApiOptions): Api {
  const { clock, log, config, version } = options;
  const handleError = handleErrorsWith(log);
  const { requestTimeoutMs = standardRequestTimeoutMs } = config;
  const app: Api = fastify({
    logger: false,
    genReqId: requestIdWith(clock),
    bodyLimit: config.limits.maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    connectionTimeout: config.stalledTimeoutMs ?? standardStalledTimeoutMs,
    ...(config.tls
      ? { https: { ...config.tls, ...timeouts(requestTimeoutMs) } }
      : { http: timeouts(requestTimeoutMs) }),
    clientErrorHandler: refuseBrokenRequests(clock),
    return503OnClosing: false,
    rewriteUrl: (request) => rewritten(request.url ?? '/', config.compat),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength },
    schemaController: { compilersFactory: { buildSerializer: serializersOnDemand } },
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id);
      handleError(error, request, reply);
    },
  });
  app.setValidatorCompiler(compileRouteSchema);
  app.setErrorHandler(handleError);
  app.decorateRequest('caller', null);
  app.decorateRequest('consoleSession', null);
  app.decorateRequest('receivedAtMs', 0);
  app.decorateRequest('bodyHash', null);
  app.decorateRequest('upload', null);
  app.decorateRequest('auditTarget', null);
  app.decorateRequest('isWrongKey', false);
  app.decorateRequest('hook', null);
  readBodies(app);
  answerInTime(app, config.answerTimeoutMs ?? standardAnswerTimeoutMs);
  for (const schema of sharedSchemas) app.addSchema(schema);
  const context = { ...options, wrongKeys: createWrongKeys(clock) };
  addHooks(app, context);
  app.register(swagger, openapiOptions(version, config.publicUrl));
  for (const add of [addRoutes, addFormRoutes])
    app.register(async (routes) => {
      refuseUnknownQueries(routes);
      add(routes, context);
    });
  app.register(async (routes) => options.further?.(routes as Api, context));
  app.register(async (routes) => hookRoutes(routes as Api, context));
  return app;
}

/** A serializer is made for the first answer that needs it: those of all routes together take 0.3 s of a start. */
const serializersOnDemand: ReturnType<typeof SerializerSelector> = (sharedSchemas, options) => {
  const compile = SerializerSelector()(sharedSchemas, options);
  return (route) => {
    let serializer: ReturnType<typeof compile> | undefined;
    return (answer) => (serializer ??= compile(route))(answer);
  };
};

/** Node.js passes over bodies whose time is shorter than that of the headers, so both are given. */
function timeouts(requestTimeoutMs: number) {
  return {
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(60_000, requestTimeoutMs),
    connectionsCheckingInterval: Math.min(30_000, Math.ceil(requestTimeoutMs / 4)),
  };
}

/**
 * Reading and deleting that wait too long, as for the embedded database while it builds an index, are answered 503:
 * they can be asked for again. What makes something goes on and must not be made twice. Streams have no end.
 */
function answerInTime(app: Api, timeoutMs: number): void {
  const repeatable = ['GET', 'HEAD', 'DELETE'];
  app.addHook('onRoute', (route) => {
    const isRepeatable = [route.method].flat().every((method) => repeatable.includes(method));
    if (isRepeatable && !route.url.endsWith('/events')) route.handlerTimeout = timeoutMs;
  });
}

/** A parameter that an operation does not know, such as a trial run, would be answered as if it had been heeded. */
function refuseUnknownQueries(app: Api): void {
  app.addHook('onRoute', ({ method, schema }) => {
    if (schema && !schema.querystring && isChange('querystring', method)) schema.querystring = Type.Object({});
  });
}

/** The order of these is the order of checks of section 1 of the API. */
function addHooks(app: Api, context: FurtherContext): void {
  const { services, config, clock, log } = context;
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  app.addHook('onRequest', async (request, reply) => {
    request.receivedAtMs = clock.now().getTime();
    reply.header('x-request-id', request.id);
    if (isClosing) throw new MemorydError('unavailable', 'The service is shutting down');
  });
  app.addHook('onRequest', setSecurityHeaders);
  app.addHook('onRequest', checkHosts(config));
  if (config.corsOrigins?.length) app.addHook('onRequest', allowOrigins(config.corsOrigins));
  app.addHook('onRequest', authenticateWith(context));
  app.addHook('onRequest', limitRates(clock, services.rates, config.rateLimit ?? { max: 0, windowMs: 60_000 }));
  app.addHook('onRequest', refuseUnknownPaths);
  app.addHook('onRequest', refuseLargeBodies);
  app.addHook('preValidation', refuseOldScopes);
  const quotas = services.keys.requestQuotas;
  app.addHook('preHandler', limitContainerRates({ clock, counter: services.rates, quotas }));
  app.addHook('preHandler', async (request, reply) => noteWithoutV5(request, reply, request.body));
  replayAnswers(app, { clock, log, idempotency: services.idempotency });
  app.addHook('onResponse', auditRequests(services.audit));
  if (services.metrics) app.addHook('onResponse', countRequests(services.metrics));
  app.addHook('onResponse', async (request, reply) => {
    log.debug(
      {
        requestId: request.id,
        method: request.method,
        route: request.routeOptions.url ?? 'unknown',
        status: reply.statusCode,
        durationMs: clock.now().getTime() - request.receivedAtMs,
      },
      'request answered',
    );
  });
}

function addRoutes(app: Api, options: RouteContext): void {
  addDocumentRoutes(app, options);
  documentRoutes(app, options);
  documentListRoutes(app, options);
  changeDocumentRoutes(app, options);
  documentFileRoutes(app, options);
  graphRoutes(app, options);
  conversationRoutes(app, options);
  searchRoutes(app, options);
  oldSearchRoutes(app, options);
  memoryRoutes(app, options);
  profileRoutes(app, options);
  connectionRoutes(app, options);
  authorizationRoutes(app, options);
  syncRoutes(app, options);
  pushRoutes(app, options);
  runEventRoutes(app, options);
  itemRoutes(app, options);
  resourceRoutes(app, options);
  connectorRoutes(app, options);
  containerTagRoutes(app, options);
  containerSettingsRoutes(app, options);
  containerMergeRoutes(app, options);
  erasureRoutes(app, options);
  backupRoutes(app, options);
  inferredMemoryRoutes(app, options);
  settingsRoutes(app, options);
  configurationRoutes(app, options);
  keyRoutes(app, options);
  activityRoutes(app, options);
  auditRoutes(app, options);
  sessionRoutes(app, options);
  consoleSessionRoutes(app, options);
  serviceRoutes(app, options);
  docsRoutes(app);
  metricsRoutes(app, options);
  namespaceRoutes(app, options);
}

/** In a scope of their own, because only here bodies are forms. */
function addFormRoutes(app: Api, options: RouteContext): void {
  const uploads = createUploads(app, options.config);
  fileRoutes(app, options, uploads);
  namespaceFileRoutes(app, options, uploads);
}

/** The caller's own id when it is one short printable word, so that it is safe in logs and headers. */
function requestIdWith(clock: Clock) {
  return (request: { headers: Record<string, string | string[] | undefined> }): string => {
    const given = request.headers['x-request-id'];
    return typeof given === 'string' && /^[\x21-\x7e]{1,128}$/.test(given) ? given : newId(clock.now());
  };
}

const allowedHeaders = ['authorization', 'content-type', 'idempotency-key', 'x-request-id'];
const exposedHeaders = `x-request-id, retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, ${withoutV5Header}`;

/** Lets web pages of the given origins call the API. Preflight requests carry no key and end here. */
function allowOrigins(origins: readonly string[]) {
  return async function answerCors(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | void> {
    const { origin } = request.headers;
    if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return;
    reply.header('access-control-allow-origin', origin).header('vary', 'Origin');
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
      reply.header('access-control-expose-headers', exposedHeaders);
      return;
    }
    return reply
      .code(204)
      .header('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE')
      .header('access-control-allow-headers', headersAllowedFor(request))
      .header('access-control-max-age', '600')
      .send();
  };
}

/** The official clients add headers that say which runtime they are, and of what they send; they change nothing. */
function headersAllowedFor(request: FastifyRequest): string {
  const asked = String(request.headers['access-control-request-headers'] ?? '').toLowerCase();
  const ofClient = asked.match(/x-(?:stainless|fern)-[a-z-]+|x-content-hash|x-request-integrity|x-sm-source/g) ?? [];
  return [...allowedHeaders, ...ofClient].join(', ');
}

/** Requests that never come as far as a route, by the codes of Node.js; everything else is broken HTTP. */
const refusals: Record<string, { status: number; error: string }> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, error: 'The request did not arrive in time' },
  HPE_HEADER_OVERFLOW: { status: 431, error: 'The headers are too large' },
};
const broken = { status: 400, error: 'The request is not valid HTTP' };

/** Answers in the form of section 3 of the API what Node.js refuses by itself, and ends the connection. */
function refuseBrokenRequests(clock: Clock) {
  return function refuse({ code }: { code?: string }, socket: Socket): void {
    // ECONNRESET: nobody is there any more.
    if (!socket.writable || code === 'ECONNRESET') return void socket.destroy();
    const { status, error } = refusals[code ?? ''] ?? broken;
    const body = JSON.stringify({ error });
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${newId(clock.now())}`,
      'connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
  };
}

interface RemovedPath {
  prefix: string;
  details: string;
  /** Path of what replaces it. */
  successor: string;
}

/** Section 24: what earlier versions of the API had. */
const removedPaths: readonly RemovedPath[] = [
  { prefix: '/v1', details: 'The v1 API was removed; use /v3/documents and /v4/search', successor: '/v3/documents' },
  { prefix: '/v3/memories', details: 'use /v3/documents', successor: '/v3/documents' },
  { prefix: '/v3/search', details: 'use POST /v4/search with searchMode "documents"', successor: '/v4/search' },
];

/**
 * Answers unknown and removed paths before their body is read, so that a wrong content type or
 * size does not hide that the route does not exist.
 */
async function refuseUnknownPaths(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (!request.is404) return;
  const path = firstOf(request.url.split('?', 1));
  const removed = removedPaths.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`));
  if (!removed) throw new MemorydError('not_found', 'Not found');
  reply.header('deprecation', 'true').header('link', `<${removed.successor}>; rel="successor-version"`);
  throw new MemorydError('not_found', 'Not found', { details: removed.details });
}

/** With the switch memories-v3, the old paths of documents lead to the present ones. */
function rewritten(url: string, compat: readonly string[] = []): string {
  return compat.includes('memories-v3') ? url.replace(/^\/v3\/memories(?=[/?]|$)/, '/v3/documents') : url;
}

/**
 * Notes requests that change who may do what, that take data out or erase it (routes say so with `audit`), and every
 * request that was denied. Never what was sent.
 */
function auditRequests(audit: Audit) {
  return async function noteRequest(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { config, url } = request.routeOptions;
    const status = reply.statusCode;
    const isNobody = status === 401 && config.asksWho === true && request.headers.authorization === undefined;
    if (isNobody) return;
    const isDenied = status === 401 || status === 403 || (status === 429 && request.caller === null);
    if (!isDenied && config.audit === undefined) return;
    // What was asked for without a key matters less than that a wrong one was tried.
    const isOfRoute = config.audit !== undefined && !request.isWrongKey;
    audit.note({
      action: isOfRoute ? config.audit! : request.isWrongKey ? 'key.wrong' : 'request',
      outcome: isDenied ? 'denied' : status < 400 ? 'done' : 'failed',
      status,
      keyId: request.caller?.keyId ?? null,
      keyName: request.caller?.name ?? null,
      address: request.ip,
      target: isOfRoute ? targetOf(request) : `${request.method} ${url ?? 'unknown'}`,
    });
  };
}

function targetOf({ auditTarget, params }: FastifyRequest): string | null {
  const named = Object.values((params ?? {}) as Record<string, string>).join(' ');
  return auditTarget ?? (named === '' ? null : named.slice(0, 200));
}
