import { validate } from '@scalar/openapi-parser';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operationsFile, operationsOf } from '../../scripts/generate-operations.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  security?: unknown[];
  parameters?: { name: string; in: string; required: boolean; style?: string; explode?: boolean }[];
  requestBody?: { required?: boolean; content: Record<string, { schema: unknown; example?: unknown }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: unknown }> }>;
}

let test: TestApi;
let document: {
  openapi: string;
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: any;
  security: unknown;
};
beforeAll(async () => {
  test = await startTestApi();
  document = (await test.call('GET', '/openapi.json', undefined, null)).body;
});
afterAll(() => test.close());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      path,
      operation,
    })),
  );

/** By path. */
const offered = [
  'GET /',
  'GET /connectors',
  'POST /console/links',
  'DELETE /console/session',
  'GET /console/session',
  'POST /console/session',
  'DELETE /console/sessions',
  'GET /files/{key}',
  'GET /health',
  'POST /mcp',
  'GET /namespaces',
  'GET /ns',
  'DELETE /ns/{namespace}',
  'GET /ns/{namespace}',
  'PATCH /ns/{namespace}',
  'GET /ns/{namespace}/connectors',
  'POST /ns/{namespace}/connectors',
  'DELETE /ns/{namespace}/connectors/{id}',
  'GET /ns/{namespace}/connectors/{id}',
  'PATCH /ns/{namespace}/connectors/{id}',
  'POST /ns/{namespace}/connectors/{id}/sync',
  'DELETE /ns/{namespace}/document',
  'POST /ns/{namespace}/document',
  'POST /ns/{namespace}/document/batch',
  'POST /ns/{namespace}/document/file',
  'PATCH /ns/{namespace}/document/file/{id}',
  'POST /ns/{namespace}/document/file/{id}',
  'GET /ns/{namespace}/document/{id}',
  'PATCH /ns/{namespace}/document/{id}',
  'POST /ns/{namespace}/list/{type}',
  'DELETE /ns/{namespace}/memories',
  'DELETE /ns/{namespace}/memories/semantic',
  'GET /ns/{namespace}/memories/{id}',
  'POST /ns/{namespace}/profile',
  'DELETE /ns/{namespace}/profile/buckets',
  'GET /ns/{namespace}/profile/buckets',
  'PUT /ns/{namespace}/profile/buckets',
  'POST /ns/{namespace}/search',
  'GET /openapi.json',
  'GET /organization',
  'PATCH /organization',
  'GET /ready',
  'GET /v3/activity',
  'GET /v3/audit',
  'GET /v3/audit/wrong-keys',
  'POST /v3/auth/agent-key',
  'GET /v3/auth/keys',
  'PATCH /v3/auth/keys/{id}',
  'POST /v3/auth/keys/{id}/rotate',
  'PUT /v3/auth/keys/{id}/toggle',
  'POST /v3/auth/scoped-key',
  'DELETE /v3/auth/scoped-key/{id}',
  'GET /v3/configuration',
  'GET /v3/connections/auth/callback/{provider}',
  'POST /v3/connections/list',
  'GET /v3/connections/{connectionId}/authorization',
  'POST /v3/connections/{connectionId}/cancel',
  'POST /v3/connections/{connectionId}/check',
  'POST /v3/connections/{connectionId}/configure',
  'GET /v3/connections/{connectionId}/failures',
  'GET /v3/connections/{connectionId}/items',
  'POST /v3/connections/{connectionId}/items/retry',
  'POST /v3/connections/{connectionId}/items/{itemId}/retry',
  'POST /v3/connections/{connectionId}/pause',
  'GET /v3/connections/{connectionId}/pending-deletes',
  'POST /v3/connections/{connectionId}/pending-deletes/confirm',
  'POST /v3/connections/{connectionId}/pending-deletes/reject',
  'POST /v3/connections/{connectionId}/preview',
  'GET /v3/connections/{connectionId}/progress',
  'GET /v3/connections/{connectionId}/push',
  'POST /v3/connections/{connectionId}/push',
  'GET /v3/connections/{connectionId}/resources',
  'POST /v3/connections/{connectionId}/resume',
  'GET /v3/connections/{connectionId}/runs',
  'GET /v3/connections/{connectionId}/runs/{runId}',
  'POST /v3/connections/{connectionId}/runs/{runId}/cancel',
  'GET /v3/connections/{connectionId}/runs/{runId}/events',
  'POST /v3/connections/{connectionId}/sync',
  'GET /v3/connections/{connectionId}/sync-runs',
  'GET /v3/connections/{connectionId}/sync-runs/{runId}',
  'POST /v3/connections/{connectionId}/sync-runs/{runId}/cancel',
  'DELETE /v3/connections/{connection}',
  'GET /v3/connections/{connection}',
  'PATCH /v3/connections/{connection}',
  'POST /v3/connections/{connection}',
  'GET /v3/connections/{provider}/callback',
  'POST /v3/connections/{provider}/connection',
  'POST /v3/connections/{provider}/documents',
  'POST /v3/connections/{provider}/import',
  'GET /v3/connectors',
  'DELETE /v3/connectors/{name}/hook',
  'GET /v3/connectors/{name}/hook',
  'POST /v3/connectors/{name}/hook',
  'GET /v3/connectors/{name}/spec',
  'GET /v3/container-tags/list',
  'POST /v3/container-tags/merge',
  'GET /v3/container-tags/merge/{mergeId}',
  'DELETE /v3/container-tags/{containerTag}',
  'GET /v3/container-tags/{containerTag}',
  'PATCH /v3/container-tags/{containerTag}',
  'GET /v3/container-tags/{containerTag}/inferred',
  'POST /v3/container-tags/{containerTag}/inferred/{memoryId}/review',
  'GET /v3/container-tags/{containerTag}/profile',
  'POST /v3/documents',
  'POST /v3/documents/batch',
  'DELETE /v3/documents/bulk',
  'POST /v3/documents/documents',
  'POST /v3/documents/documents/by-ids',
  'POST /v3/documents/file',
  'POST /v3/documents/count',
  'POST /v3/documents/list',
  'GET /v3/documents/processing',
  'POST /v3/documents/retry-failed',
  'DELETE /v3/documents/{id}',
  'GET /v3/documents/{id}',
  'PATCH /v3/documents/{id}',
  'GET /v3/documents/{id}/chunks',
  'GET /v3/documents/{id}/file-url',
  'POST /v3/documents/{id}/reindex',
  'POST /v3/documents/{id}/retry',
  'POST /v3/erasures',
  'GET /v3/erasures/{id}',
  'GET /v3/hooks/{provider}',
  'POST /v3/hooks/{provider}',
  'GET /v3/hooks/{provider}/{connectionId}',
  'POST /v3/hooks/{provider}/{connectionId}',
  'GET /v3/schedule-times',
  'GET /v3/session',
  'GET /v3/settings',
  'PATCH /v3/settings',
  'POST /v3/settings/reset',
  'POST /v3/settings/suggest-buckets',
  'GET /v3/status',
  'GET /v3/system/backups',
  'POST /v3/system/backups',
  'GET /v3/system/checks',
  'GET /v3/system/processes',
  'GET /v3/system/warnings',
  'GET /v3/webhooks/{provider}',
  'POST /v3/webhooks/{provider}',
  'GET /v3/webhooks/{provider}/{connectionId}',
  'POST /v3/webhooks/{provider}/{connectionId}',
  'POST /v4/conversations',
  'DELETE /v4/memories',
  'PATCH /v4/memories',
  'POST /v4/memories',
  'POST /v4/memories/forget-matching',
  'POST /v4/memories/list',
  'POST /v4/profile',
  'POST /v4/profile/buckets',
  'POST /v4/search',
];

/** Called by browsers, monitors and sources, which have no key of ours. */
function isPublic(name: string): boolean {
  const open = ['/', '/health', '/ready', '/openapi.json', '/files/{key}', '/v3/connections/auth/callback/{provider}'];
  const [, path] = name.split(' ');
  if (name === 'POST /console/session') return true;
  return open.includes(path!) || /^\/v3\/(?:web)?hooks\//.test(path!) || path === '/v3/connections/{provider}/callback';
}

/** Who is signed in to the console is asked with the cookie that says so. */
function opens(name: string): 'bearer' | 'session' {
  return / \/console\/sessions?$/.test(name) ? 'session' : 'bearer';
}

function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, entry]) =>
    key === '$ref' && typeof entry === 'string' ? [entry] : referencesIn(entry),
  );
}

/** Where the example of a body is no proof here: nobody has this key, and the database in memory has no files. */
const acceptedFor: Readonly<Record<string, number[]>> = {
  'POST /console/session': [401],
  'POST /v3/system/backups': [409],
};

describe('the description of the API', () => {
  it('is OpenAPI 3.1 with bearer authentication, the same at its three addresses', async () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.components.securitySchemes.bearer).toMatchObject({ type: 'http', scheme: 'bearer' });
    expect(document.security).toEqual([{ bearer: [] }]);
    for (const path of ['/v3/openapi', '/v4/openapi']) {
      expect((await test.call('GET', path, undefined, null)).body).toEqual(document);
    }
  });

  it('is valid by the specification', async () => {
    const { valid, version, errors } = await validate(structuredClone(document));
    expect([valid, version, errors]).toEqual([true, '3.1', []]);
  });

  it('has one of its own for namespaces, which is valid, too, and holds nothing else', async () => {
    const own = (await test.call('GET', '/v5/openapi.json', undefined, null)).body;
    expect((await test.call('GET', '/v5/openapi', undefined, null)).body).toEqual(own);
    expect((await validate(structuredClone(own))).errors ?? []).toEqual([]);
    expect(own.info.version).toBe('5.0.0');
    const isOwn = (path: string) => /^\/(?:ns|namespaces|connectors|organization)(?:\/|$)/.test(path);
    const whole = Object.entries(document.paths).filter(([path]) => isOwn(path));
    expect(own.paths).toEqual(Object.fromEntries(whole));
  });

  it('lets a client be generated: each operation with its name, its key, and the shape of every answer', () => {
    const withoutBody = ['204', '302'];
    for (const { name, operation } of operations()) {
      const { operationId, security, parameters = [], requestBody } = operation;
      expect([name, operationId]).toEqual([name, expect.stringMatching(/^[a-z][A-Za-z]+$/)]);
      expect([name, security]).toEqual([name, isPublic(name) ? [] : [{ [opens(name)]: [] }]]);
      for (const [status, { content }] of Object.entries(operation.responses)) {
        const hasNone = withoutBody.includes(status) || (name === 'POST /mcp' && status === '202');
        const shapes = new Set(Object.values(content ?? {}).map(({ schema }) => typeof schema));
        expect([name, status, shapes]).toEqual([name, status, new Set(hasNone ? [] : ['object'])]);
      }
      for (const part of [...parameters, ...Object.values(requestBody?.content ?? {})]) {
        expect([name, part]).toEqual([name, expect.objectContaining({ schema: expect.any(Object) })]);
      }
      expect([name, document.tags.map((tag) => tag.name)]).toEqual([name, expect.arrayContaining(operation.tags)]);
    }
  });

  it('has every operation that is offered', () => {
    expect(new Set(operations().map(({ name }) => name))).toEqual(new Set(offered));
    expect(operations()).toHaveLength(offered.length);
  });

  it('names every operation once and describes its answers', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { name, operation } of operations()) {
      expect([name, operation.summary, operation.tags?.length]).toEqual([name, expect.any(String), 1]);
      const success = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
      // What the model context protocol calls a notification is taken without an answer; hooks may be handshakes.
      const hasTwo = ['POST /mcp', 'DELETE /ns/{namespace}'].includes(name) || operation.tags?.[0] === 'Hooks';
      expect([name, success.length]).toEqual([name, hasTwo ? 2 : 1]);
      const [status, answer] = success[0]!;
      if (status !== '204')
        expect([name, Object.values(answer.content ?? {})[0]?.schema]).toEqual([name, expect.any(Object)]);
      for (const response of Object.values(operation.responses)) expect(response.description.length).toBeGreaterThan(3);
    }
  });

  it('has the errors of every operation that needs a key', () => {
    for (const { name, operation } of operations()) {
      const isOpen = operation.security?.length === 0;
      const errors = isOpen ? [] : ['400', '401', '403', '404', '409', '429', '500', '503'];
      expect([name, Object.keys(operation.responses)]).toEqual([name, expect.arrayContaining(errors)]);
      if (operation.requestBody)
        expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['413', '415']));
    }
  });

  it('refers only to what it has, and names no two paths alike', () => {
    const references = new Set(referencesIn(document));
    expect(references.size).toBeGreaterThan(0);
    for (const reference of references) {
      const target = reference
        .replace('#/', '')
        .split('/')
        .reduce<any>((value, part) => value?.[part], document);
      expect([reference, target]).toEqual([reference, expect.any(Object)]);
    }
    const shapes = Object.keys(document.paths).map((path) => path.replaceAll(/\{\w+\}/g, '{}'));
    expect(new Set(shapes).size).toBe(shapes.length);
  });

  it('shows a body for each operation that takes JSON, which can be sent as it is', async () => {
    const taking = operations().filter(({ operation }) => operation.requestBody?.content['application/json']);
    expect(taking.length).toBeGreaterThan(30);
    for (const { name, path, operation } of taking) {
      const { example } = operation.requestBody!.content['application/json']!;
      expect([name, example]).toEqual([name, expect.any(Object)]);
      const address = path.replace('{type}', 'documents').replaceAll(/\{\w+\}/g, 'absent');
      const { status, body } = await test.call(name.split(' ')[0], address, example);
      const issues = Array.isArray(body?.error) ? body.error : [];
      // There is no such provider here, and nothing is reset without the name of the organization.
      const inBody = issues.filter((issue: { path: string[] }) => issue.path[0] !== 'provider');
      expect([name, inBody]).toEqual([name, []]);
      if (issues.length === 0 && name !== 'POST /v3/settings/reset') {
        const accepted = acceptedFor[name] ?? [200, 201, 202, 404];
        expect([name, status, body]).toEqual([name, expect.toBeOneOf(accepted), body]);
      }
    }
  });

  it('lets the body be left out where nothing in it is required', () => {
    const required = (name: string) => operations().find((one) => one.name === name)!.operation.requestBody?.required;
    expect(required('POST /v3/documents')).toBe(true);
    expect(required('POST /v3/documents/file')).toBe(true);
    expect(required('POST /v3/connections/{provider}/import')).toBe(false);
    expect(required('POST /v3/documents/list')).toBe(false);
  });

  it('says of each path which parameters it has', () => {
    for (const { name, path, operation } of operations()) {
      const inPath = (operation.parameters ?? [])
        .filter((parameter) => parameter.in === 'path')
        .map((parameter) => parameter.name);
      const inTemplate = [...path.matchAll(/\{(\w+)\}/g)].map(([, word]) => word!);
      expect([name, inPath.sort()]).toEqual([name, inTemplate.sort()]);
    }
  });

  it('says that lists in the query are separated by commas', () => {
    const { parameters } = document.paths['/ns/{namespace}/document/{id}']!['get']!;
    expect(parameters).toContainEqual(
      expect.objectContaining({ name: 'include', in: 'query', required: false, style: 'form', explode: false }),
    );
  });

  it('is what the types of the console say; `node scripts/generate-operations.ts` renews them', async () => {
    const held = await readFile(join(import.meta.dirname, '../..', operationsFile), 'utf8');
    const { body } = await test.call('GET', '/openapi.json', undefined, null);
    expect(held).toBe(await operationsOf(body));
  });
});

it('GET / says what this is', async () => {
  expect((await test.call('GET', '/', undefined, null)).body).toEqual({
    name: 'memoryd',
    version: '9.9.9',
    docs: '/docs',
  });
});

it('GET /ready is 503 when something is not ok', async () => {
  const broken = { database: 'ok', queue: 'Redis does not answer', embeddings: 'ok', scheduler: 'ok' };
  const failing = await startTestApi({
    services: ({ status }) => ({ status: { ...status, readiness: async () => broken } }),
  });
  expect(await failing.call('GET', '/ready', undefined, null)).toMatchObject({ status: 503, body: broken });
  expect((await test.call('GET', '/ready', undefined, null)).status).toBe(200);
  await failing.close();
});
