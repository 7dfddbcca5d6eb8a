import type { FastifySchema } from 'fastify';
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';

const description = `Memory for AI applications. Content is stored and processed asynchronously; search,
lists and profiles read what came of it. Everything is scoped by a container tag: \`containerTag\` in
bodies of the older dialect, below \`/v3\` and \`/v4\`, \`{namespace}\` in paths of the newer one, v5.

Every answer carries \`x-request-id\`. Errors are \`{"error": "...", "details": "..."}\`; input that does
not match its schema is answered with 400 and the list of issues. Where a request of the older dialect
asks for something that the newer one has no word for, the answer names it in \`x-without-v5\`.`;

const tagDescriptions: Record<string, string> = {
  Documents: 'Ingested content and the state of its processing.',
  Namespaces: 'The same content in the newer dialect, v5, addressed by its namespace.',
  Search: 'Recall over memories and documents.',
  Memories: 'Single facts, their versions, and forgetting.',
  Profiles: 'A short account of a container.',
  Connections: 'Sources that are mirrored.',
  Push: 'Sources that send their items themselves.',
  Hooks: 'Reports that sources send by themselves.',
  Conversations: 'Chat sessions that grow.',
  'Container tags': 'The isolated scopes.',
  Erasures: 'Taking content out of the files of the database.',
  Settings: 'Settings of the whole organization.',
  Keys: 'API keys and what they may do.',
  Console: 'Signing in to the page at `/`.',
  MCP: 'The same memory for clients of the model context protocol.',
  Service: 'The daemon itself.',
};

const bearer = [{ bearer: [] }];

/** Settings of the generator of `GET /openapi.json`. `publicUrl` counts by its path: the host is that of the caller. */
export function openapiOptions(version: string, publicUrl?: string): FastifyDynamicSwaggerOptions {
  const basePath = publicUrl === undefined ? '/' : new URL(publicUrl).pathname;
  return {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'memoryd', version, description },
      servers: [{ url: basePath.length > 1 ? basePath.replace(/\/+$/, '') : '/' }],
      tags: Object.entries(tagDescriptions).map(([name, text]) => ({ name, description: text })),
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'Authorization: Bearer <API key>' },
          session: {
            ...{ type: 'apiKey', in: 'cookie', name: 'memoryd_session' },
            description:
              'The session of the console; the name ends with some letters of the daemon’s own. It opens every operation to the page at `/`, instead of a key; changes need the header `x-csrf-token`, too.',
          },
        },
      },
      security: bearer,
    },
    transform: ({ schema, url }) => ({ schema: withExample(withErrors({ security: bearer, ...schema })), url }),
    refResolver: {
      buildLocalReference: (json, _base, _fragment, index) =>
        typeof json['$id'] === 'string' ? json['$id'] : `schema${index}`,
    },
  };
}

function withExample(schema: FastifySchema): FastifySchema {
  const example = schema.operationId === undefined ? undefined : requestExamples[schema.operationId];
  if (example === undefined) return schema;
  return { ...schema, body: { ...(withEntries(schema.body) as object), examples: [example] } };
}

/** Entries that are checked one by one (`x-each`), so that a bad one fails alone, are described like all else. */
function withEntries(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withEntries);
  if (typeof schema !== 'object' || schema === null) return schema;
  if ('x-each' in schema) return { ...(withEntries(schema['x-each']) as object), 'x-fails-alone': true };
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, withEntries(value)]));
}

const errorRef = { $ref: 'ErrorResponse#' };

const errorAnswers: Record<string, { description: string }> = {
  401: { description: 'No or bad credential.' },
  403: { description: 'The key may not do this.' },
  404: { description: 'Not found.' },
  409: { description: 'Conflict; with x-should-retry: false when trying again is pointless.' },
  413: { description: 'The body is over the limit.' },
  415: { description: 'The body is not JSON.' },
  429: { description: 'Rate limit; Retry-After says when to try again.' },
  500: { description: 'Unexpected failure.' },
  501: { description: 'The provider cannot do this; with x-should-retry: false.' },
  503: { description: 'Shutting down, or a dependency is down.' },
};

/** Security of operations for browsers and providers, which bring no credential. */
const openStatuses = ['403', '404', '413', '500', '503'];
/** Security of the operation that takes a credential in its body. */
const signInStatuses = ['401', '403', '413', '415', '429', '500', '503'];

/**
 * Adds the errors that operations can answer. They are not in the route schemas because one error
 * handler writes them, without a serializer per route.
 */
function withErrors(schema: FastifySchema): FastifySchema {
  const described = withDescriptions(schema.response as Record<string, object> | undefined);
  const isOpen = schema.security?.length === 0;
  if (schema.hide || (isOpen && !schema.params && !schema.querystring && !schema.body))
    return { ...schema, response: described };
  const needsBody = schema.body !== undefined;
  const entries = Object.entries(errorAnswers)
    .filter(([status]) =>
      isOpen
        ? (needsBody ? signInStatuses : openStatuses).includes(status)
        : needsBody || !['413', '415'].includes(status),
    )
    .map(([status, { description: text }]) => [status, answer(text, errorRef)] as const);
  const invalid = answer('Not valid, or not acceptable.', {
    anyOf: [errorRef, { $ref: 'ValidationErrorResponse#' }],
  });
  const errors = { 400: invalid, ...Object.fromEntries(entries) };
  return { ...schema, response: isOpen ? { ...errors, ...described } : { ...described, ...errors } };
}

function withDescriptions(answers: Record<string, object> = {}): Record<string, object> {
  const entries = Object.entries(answers);
  return Object.fromEntries(entries.map(([status, schema]) => [status, { description: 'Success.', ...schema }]));
}

function answer(text: string, body: object) {
  return { description: text, content: { 'application/json': { schema: body } } };
}

/** The parts of the description that `withOptionalBodies` looks at. */
interface Described {
  paths?: Record<string, Record<string, { requestBody?: { required?: boolean; content: Record<string, MediaType> } }>>;
}
interface MediaType {
  schema?: { required?: string[] };
}

/** Says of bodies without a required field that they may be left out (section 1 rule 4 of the API): the generator does not. */
export function withOptionalBodies(description: object): object {
  for (const operations of Object.values((description as Described).paths ?? {})) {
    for (const { requestBody } of Object.values(operations)) {
      if (!requestBody) continue;
      const schemas = Object.values(requestBody.content).map(({ schema }) => schema);
      requestBody.required = schemas.some((schema) => (schema?.required ?? []).length > 0);
    }
  }
  return description;
}

/** The parts of a description that are looked at. */
interface Description {
  info: { title: string; version: string; description?: string };
  tags?: { name: string }[];
  paths: Record<string, object>;
}

/** The version that the published interface states. */
const namespacesVersion = '5.0.0';

const namespacesDescription = `Memory by namespaces. The scope of a request stands in its path, bodies are closed, and
lists, filters and forgetting have one form each. The same documents and memories are served under the container
tag of the namespace's name by the operations below \`/v3\` and \`/v4\`.`;

const prefixes = ['/ns', '/namespaces', '/connectors', '/organization'];

function isOfNamespaces(path: string): boolean {
  return prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`));
}

/** The operations of the second dialect alone, as a description of their own. */
export function ofNamespaces(whole: object): object {
  const { info, tags = [], paths, ...rest } = whole as Description;
  const kept = Object.entries(paths).filter(([path]) => isOfNamespaces(path));
  const used = new Set(
    kept.flatMap(([, operations]) => Object.values(operations).flatMap(({ tags: named }) => named as string[])),
  );
  return {
    ...rest,
    info: {
      ...info,
      title: `${info.title}: namespaces`,
      version: namespacesVersion,
      description: namespacesDescription,
    },
    tags: tags.filter(({ name }) => used.has(name)),
    paths: Object.fromEntries(kept),
  };
}

/** The same for the operations of the second dialect. */
const namespaceExamples: Readonly<Record<string, unknown>> = {
  addNamespaceDocument: {
    content: 'Mira asked to move the weekly review to Thursdays.',
    id: 'slack-4711',
    metadata: { channel: 'slack', labels: ['planning'] },
  },
  addNamespaceDocuments: {
    documents: [
      { content: 'The workshop is on the second floor.', id: 'note-1' },
      { content: 'Tools are lent for a week.', id: 'note-2', metadata: { channel: 'notes' } },
    ],
    dreaming: 'instant',
  },
  updateNamespaceDocument: { metadata: { channel: 'slack', archived: true } },
  deleteNamespaceDocuments: { ids: ['slack-4711'] },
  searchNamespace: {
    query: 'When is the weekly review?',
    filter: { field: 'channel', operator: 'eq', value: 'slack' },
    include: { documents: true },
  },
  getNamespaceProfile: { buckets: ['preferences'] },
  putNamespaceBuckets: { buckets: { work: 'Role, employer, projects and work decisions.' } },
  deleteNamespaceBuckets: { buckets: ['work'] },
  updateNamespace: { supportingContext: 'Notes of and about Mira, who plans the workshop.' },
  createNamespaceConnector: { provider: 'notion', documentLimit: 1_000 },
  updateNamespaceConnector: { documentLimit: 1_000 },
  syncNamespaceConnector: {},
  updateOrganization: { organizationalContext: null },
  listNamespace: { filter: { field: 'channel', operator: 'eq', value: 'slack' } },
  forgetNamespaceMemories: { ids: ['nTPk8XTiGcUdNT3AYCUWzQ'] },
  forgetMatchingNamespaceMemories: { query: 'weekly review', dryRun: true },
};

/**
 * A body for each operation that takes JSON, by operation id: what the page of the API shows and sends
 * when somebody tries an operation. None brings anything about that its reader would not want.
 */
const requestExamples: Readonly<Record<string, unknown>> = {
  ...namespaceExamples,
  addDocument: {
    content: 'Mira asked to move the weekly review to Thursdays.',
    containerTag: 'user_mira',
    customId: 'slack-4711',
    metadata: { channel: 'slack', labels: ['planning'] },
  },
  addDocuments: {
    containerTag: 'user_mira',
    documents: [
      { content: 'The workshop is on the second floor.', customId: 'note-1' },
      { content: 'Tools are lent for a week.', customId: 'note-2', metadata: { channel: 'notes' } },
    ],
  },
  updateDocument: { metadata: { channel: 'slack', archived: true } },
  countDocuments: { containerTag: 'user_mira', status: 'failed' },
  listDocuments: { containerTag: 'user_mira', limit: 10, page: 1, sort: 'createdAt', order: 'desc' },
  deleteDocuments: { ids: ['nTPk8XTiGcUdNT3AYCUWzQ'] },
  makeBackup: { keep: 7 },
  retryFailedDocuments: { containerTag: 'user_mira' },
  listDocumentsWithMemories: { containerTags: ['user_mira'], page: 1, limit: 10 },
  getDocumentsWithMemories: { ids: ['nTPk8XTiGcUdNT3AYCUWzQ'] },
  addConversation: {
    conversationId: 'chat-2026-11-21',
    containerTag: 'user_mira',
    messages: [
      { role: 'user', content: 'I have moved to Lisbon.' },
      { role: 'assistant', content: 'Noted. Shall I look for meetups there?' },
    ],
  },
  signIn: { key: 'sm_…' },
  search: { q: 'When is the weekly review?', containerTag: 'user_mira', searchMode: 'hybrid', limit: 5 },
  createMemories: {
    containerTag: 'user_mira',
    memories: [{ content: 'Mira prefers reviews on Thursdays.', isStatic: true }],
  },
  updateMemory: {
    containerTag: 'user_mira',
    content: 'Mira prefers reviews on Thursdays.',
    newContent: 'Mira prefers reviews on Fridays.',
  },
  forgetMemory: { containerTag: 'user_mira', content: 'Mira prefers reviews on Fridays.', reason: 'no longer true' },
  listMemories: { containerTag: 'user_mira', page: 1, limit: 10, sort: 'createdAt', order: 'desc' },
  forgetMatchingMemories: { containerTag: 'user_mira', query: 'weekly review', dryRun: true },
  getProfile: { containerTag: 'user_mira', q: 'weekly review' },
  listProfileBuckets: { containerTag: 'user_mira' },
  createConnection: {
    containerTag: 'user_mira',
    documentLimit: 1_000,
    metadata: { department: 'product' },
    schedule: '4h',
  },
  changeConnection: { schedule: '1h', metadata: { department: 'product' } },
  deleteConnection: { containerTag: 'user_mira' },
  listConnections: { containerTags: ['user_mira'] },
  getConnectionByTag: { containerTag: 'user_mira' },
  listProviderDocuments: { containerTag: 'user_mira', page: 1, limit: 10 },
  syncConnection: { mode: 'incremental' },
  importConnections: { containerTag: 'user_mira' },
  pushItems: {
    deliveryId: 'delivery-1',
    upserts: [{ id: 'ticket-4711', title: 'The door sticks', text: 'The door of the workshop sticks.' }],
    deletes: ['ticket-4710'],
  },
  retryItems: { state: ['failed', 'dead'] },
  previewConnection: { filters: { include: ['docs/**'], maxBytes: 10_000_000 } },
  configureConnection: { resources: [] },
  acceptConnectorHook: { secret: 'secret_9bMkOzfxAhXT01gJ8YbGyj8' },
  updateContainerTag: { name: 'Mira', entityContext: 'Notes of and about Mira, who plans the workshop.' },
  erase: { documents: ['nTPk8XTiGcUdNT3AYCUWzQ'] },
  mergeContainerTags: { containerTags: ['user_mira', 'user_mira_old'], targetContainerTag: 'user_mira' },
  reviewInferredMemory: { action: 'approve' },
  updateSettings: { profileBuckets: [{ key: 'preferences', description: 'What somebody likes and dislikes.' }] },
  resetOrganization: { confirmation: 'the name of your organization' },
  createScopedKey: { containerTag: 'user_mira', name: 'notebook', permission: 'read', expiresInDays: 90 },
  createAgentKey: { name: 'assistant', containerTags: ['user_mira'], permission: 'read', expiresInDays: 90 },
  changeKey: { rateLimitMax: 600, rateLimitTimeWindow: 60_000, quota: { documents: 10_000, bytes: 1_000_000_000 } },
  rotateKey: { overlapHours: 24 },
};
