import type { FastifyRequest } from 'fastify';
import { firstOf } from '../../base/collections.ts';
import { requireManagement, type Caller } from '../../account/access.ts';
import { scopedKeyRateLimit, type KeyChange, type KeySummary } from '../../account/keys.ts';
import { MemorydError } from '../../base/errors.ts';
import { callerOf, type Api, type RouteContext } from '../request.ts';
import * as schemas from '../schemas/keys.ts';
import { invalidField } from '../validation.ts';

const tags = ['Keys'];
const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/** Where a scoped key works (section 2.3 of the API). */
const scopedEndpoints = [
  '/v3/documents',
  '/v4/memories',
  '/v4/search',
  '/v4/profile',
  '/v4/conversations',
  '/ns',
  '/mcp',
];

/** Section 22.1 of the API. All of it needs a full key that may write. */
export function keyRoutes(app: Api, context: RouteContext): void {
  scopedKeyRoute(app, context);
  agentKeyRoute(app, context);
  manageRoutes(app, context);
  changeRoute(app, context);
  rotateRoute(app, context);
}

function managerOf(request: FastifyRequest<any, any, any, any, any, any, any>): Caller {
  const caller = callerOf(request);
  requireManagement(caller);
  return caller;
}

function scopedKeyRoute(app: Api, { services, clock }: RouteContext): void {
  app.post(
    '/v3/auth/scoped-key',
    {
      config: { sensitive: true, secretAnswer: true, replay: true, audit: 'key.create' },
      schema: {
        operationId: 'createScopedKey',
        summary: 'Create a key for some containers',
        tags,
        body: schemas.scopedKeyBody,
        response: { 200: schemas.scopedKeyAnswer },
      },
    },
    async (request) => {
      const { body } = request;
      const containerTags = tagsOfKey(body);
      managerOf(request);
      const { secret, key } = await services.keys.create({
        name: body.name ?? `scoped_${containerTags[0]}`,
        permission: body.permission ?? 'write',
        containerTags,
        rateLimit: {
          max: body.rateLimitMax ?? scopedKeyRateLimit.max,
          windowMs: body.rateLimitTimeWindow ?? scopedKeyRateLimit.windowMs,
        },
        ...expiryOf(body.expiresInDays, clock),
        quota: body.quota,
      });
      const { id, name, permission, expiresAt } = key;
      request.auditTarget = id;
      return {
        ...{ key: secret, id, name, permission, containerTags, expiresAt },
        containerTag: firstOf(containerTags),
        allowedEndpoints: scopedEndpoints,
      };
    },
  );
}

function agentKeyRoute(app: Api, { services, clock }: RouteContext): void {
  app.post(
    '/v3/auth/agent-key',
    {
      config: { sensitive: true, secretAnswer: true, replay: true, audit: 'key.create' },
      schema: {
        operationId: 'createAgentKey',
        summary: 'Create a key for an agent',
        description: 'Without containerTags it is a full key.',
        tags,
        body: schemas.agentKeyBody,
        response: { 200: schemas.agentKeyAnswer },
      },
    },
    async (request) => {
      const {
        name,
        permission = 'write',
        containerTags = [],
        expiresInDays,
        rateLimitMax,
        rateLimitTimeWindow,
        quota,
      } = request.body;
      managerOf(request);
      const { windowMs } = scopedKeyRateLimit;
      const input = {
        ...{ name, permission, containerTags: [...new Set(containerTags)] },
        ...expiryOf(expiresInDays, clock),
        rateLimit:
          rateLimitMax !== undefined ? { max: rateLimitMax, windowMs: rateLimitTimeWindow ?? windowMs } : undefined,
        quota,
      };
      const { secret, key } = await services.keys.create(input);
      request.auditTarget = key.id;
      return {
        id: key.id,
        name,
        key: secret,
        permission,
        containerTags: containerTags.length > 0 ? key.containerTags : undefined,
        expiresAt: key.expiresAt ?? undefined,
      };
    },
  );
}

function expiryOf(days: number | undefined, clock: RouteContext['clock']) {
  return days === undefined ? {} : { expiresAt: new Date(clock.now().getTime() + days * dayMs) };
}

function tagsOfKey({ containerTag, containerTags = [] }: schemas.ScopedKeyBody): string[] {
  const all = containerTag === undefined ? containerTags : [containerTag, ...containerTags];
  if (all.length === 0) throw invalidField(['containerTag'], 'containerTag is required');
  return [...new Set(all)];
}

function manageRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/auth/keys',
    { schema: { operationId: 'listKeys', summary: 'List keys', tags, response: { 200: schemas.keysAnswer } } },
    async (request) => {
      managerOf(request);
      return { keys: (await services.keys.list()).map(keyView) };
    },
  );

  app.delete(
    '/v3/auth/scoped-key/:id',
    {
      config: { audit: 'key.delete' },
      schema: {
        operationId: 'deleteKey',
        summary: 'Delete a key',
        description: 'Deletes a key of any kind, except the one in use.',
        tags,
        params: schemas.keyParams,
        response: { 200: schemas.deleteKeyAnswer },
      },
    },
    async (request) => {
      const { id } = request.params;
      if (!(await services.keys.remove(id, managerOf(request)))) throw keyNotFound();
      return { success: true, id };
    },
  );

  app.put(
    '/v3/auth/keys/:id/toggle',
    {
      config: { audit: 'key.toggle' },
      schema: {
        operationId: 'toggleKey',
        summary: 'Turn a key off or on again',
        tags,
        params: schemas.keyParams,
        response: { 200: schemas.toggleAnswer },
      },
    },
    async (request) => {
      const { id } = request.params;
      managerOf(request);
      const enabled = await services.keys.toggle(id);
      if (enabled === null) throw keyNotFound();
      return { id, enabled };
    },
  );
}

function keyView({ prefix, rateLimit, ...key }: KeySummary) {
  return {
    ...key,
    start: prefix,
    rateLimitMax: rateLimit?.max ?? null,
    rateLimitTimeWindow: rateLimit?.windowMs ?? null,
  };
}

function changeRoute(app: Api, { services }: RouteContext): void {
  app.patch(
    '/v3/auth/keys/:id',
    {
      config: { audit: 'key.change' },
      schema: {
        operationId: 'changeKey',
        summary: 'Change the name and the limits of a key',
        description: 'Its quota is also that of the keys that it replaced, and those that replace it.',
        tags,
        params: schemas.keyParams,
        body: schemas.changeKeyBody,
        response: { 200: schemas.keyAnswer },
      },
    },
    async (request) => {
      managerOf(request);
      const changed = await services.keys.change(request.params.id, keyChangeOf(request.body));
      if (!changed) throw keyNotFound();
      return keyView(changed);
    },
  );
}

function keyChangeOf({ name, rateLimitMax: max, rateLimitTimeWindow, quota }: schemas.ChangeKeyBody): KeyChange {
  if (max === undefined && rateLimitTimeWindow !== undefined) {
    throw invalidField(['rateLimitTimeWindow'], 'rateLimitTimeWindow needs rateLimitMax beside it');
  }
  const windowMs = rateLimitTimeWindow ?? scopedKeyRateLimit.windowMs;
  const rateLimit = typeof max === 'number' ? { max, windowMs } : max;
  return { name, rateLimit, quota };
}

function rotateRoute(app: Api, { services }: RouteContext): void {
  app.post(
    '/v3/auth/keys/:id/rotate',
    {
      config: { sensitive: true, secretAnswer: true, audit: 'key.rotate' },
      schema: {
        operationId: 'rotateKey',
        summary: 'Replace a key',
        description: 'The new key may do what the old one may; the old one works on until the overlap is over.',
        tags,
        params: schemas.keyParams,
        body: schemas.rotateBody,
        response: { 200: schemas.rotateAnswer },
      },
    },
    async (request) => {
      const { id } = request.params;
      managerOf(request);
      const rotated = await services.keys.rotate(id, (request.body.overlapHours ?? 24) * hourMs);
      if (!rotated) throw keyNotFound();
      const { secret, key, replacedUntil } = rotated;
      request.auditTarget = `${id} ${key.id}`;
      return {
        id: key.id,
        name: key.name,
        key: secret,
        permission: key.permission,
        containerTags: key.containerTags,
        expiresAt: key.expiresAt,
        replaces: { id, expiresAt: replacedUntil },
      };
    },
  );
}

function keyNotFound(): MemorydError {
  return new MemorydError('not_found', 'Key not found');
}
