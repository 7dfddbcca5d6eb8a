import type { FastifyReply, FastifyRequest } from 'fastify';

/** Names what a request of the older dialect asks for that the newer one has no word for. */
export const withoutV5Header = 'x-without-v5';

/** The operation itself. */
const operation = ['*'];

const ofConnections = 'schedule allowedHours onSourceDelete memories trust author inProfile filters'.split(' ');

/** By route: fields of its body, with dots where they lie in others. `*`: there is no such operation. */
export const withoutCounterpart: Readonly<Record<string, readonly string[]>> = {
  'POST /v3/documents': ['filepath', 'updateMode'],
  'POST /v3/documents/batch': ['filepath', 'documents.filepath', 'documents.updateMode'],
  'POST /v3/documents/file': ['filepath', 'customId'],
  'PATCH /v3/documents/:id': ['containerTag', 'containerTags', 'customId', 'filepath'],
  'DELETE /v3/documents/bulk': ['filepath'],
  'POST /v3/documents/list': ['filepath', 'q', 'includeContent', 'status', 'source', 'sources', 'connectionId', 'type'],
  'GET /v3/documents/processing': operation,
  'GET /v3/documents/:id/file-url': operation,
  'POST /v3/documents/:id/retry': operation,
  'POST /v3/documents/:id/reindex': operation,
  'POST /v3/documents/retry-failed': operation,
  'POST /v4/search': ['filepath', 'docId', 'dates', 'asOf', 'include.chunks'],
  'POST /v4/profile': ['q', 'threshold', 'limit', 'include', 'asOf'],
  'POST /v4/memories': operation,
  'PATCH /v4/memories': operation,
  'DELETE /v4/memories': ['content', 'reason'],
  'POST /v4/memories/list': ['asOf'],
  'POST /v4/memories/forget-matching': ['threshold', 'maxForget', 'reason'],
  'PATCH /v3/container-tags/:containerTag': ['name', 'memoryFilesystemPaths', 'memories', 'quota'],
  'PATCH /v3/settings': ['includeItems', 'excludeItems', 'chunkSize', 'profileBuckets', 'workspacePrompt'],
  'POST /v3/settings/suggest-buckets': operation,
  'POST /v3/settings/reset': operation,
  'POST /v3/connections/:connection': [...ofConnections, 'connectionId'],
  'PATCH /v3/connections/:connection': [...ofConnections, 'paused', 'metadata'],
};

/** Says so in a header of the answer; of a form its fields are given once they are read. */
export function noteWithoutV5(
  request: FastifyRequest<any, any, any, any, any, any, any>,
  reply: FastifyReply<any, any, any, any, any, any, any, any>,
  body: unknown,
): void {
  const missing = withoutCounterpart[`${request.method} ${request.routeOptions.url}`];
  const used = missing?.filter((name) => name === '*' || isIn(body, name.split('.'))) ?? [];
  if (used.length > 0) reply.header(withoutV5Header, used.join(', '));
}

function isIn(value: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return value !== undefined;
  if (Array.isArray(value)) return value.some((entry) => isIn(entry, [name, ...rest]));
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return false;
  return isIn((value as Record<string, unknown>)[name], rest);
}
