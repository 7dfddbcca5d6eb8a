import type { FastifyReply, FastifyRequest } from 'fastify';
import { firstOf } from '../base/collections.ts';
import { MemorydError } from '../base/errors.ts';

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
export async function refuseUnknownPaths(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (!request.is404) return;
  const path = firstOf(request.url.split('?', 1));
  const removed = removedPaths.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`));
  if (!removed) throw new MemorydError('not_found', 'Not found');
  reply.header('deprecation', 'true').header('link', `<${removed.successor}>; rel="successor-version"`);
  throw new MemorydError('not_found', 'Not found', { details: removed.details });
}

/** With the switch memories-v3, the old paths of documents lead to the present ones. */
export function rewritten(url: string, compat: readonly string[] = []): string {
  return compat.includes('memories-v3') ? url.replace(/^\/v3\/memories(?=[/?]|$)/, '/v3/documents') : url;
}
