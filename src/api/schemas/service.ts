import Type from 'typebox';
import { documentStatuses } from '../../engine/document.ts';
import { nullable, timestamp, words } from './shared.ts';

/** Section 22.3 of the API, and our own status. */

export const rootAnswer = Type.Object({ name: Type.String(), version: Type.String(), docs: Type.String() });

export const healthAnswer = Type.Object({ status: Type.String() });

export const readinessAnswer = Type.Object({
  database: Type.String({ description: 'ok, or what is wrong.' }),
  queue: Type.String(),
  embeddings: Type.String(),
  scheduler: Type.String(),
});

const counts = Object.fromEntries(documentStatuses.map((status) => [status, Type.Integer()]));

export const statusAnswer = Type.Object({
  version: Type.String(),
  startedAt: timestamp,
  uptimeMs: Type.Integer(),
  role: words(['all', 'api', 'worker', 'scheduler']),
  storage: Type.Object({ engine: words(['postgres', 'pglite']), dataDir: nullable(Type.String()) }),
  queue: Type.Object({ kind: words(['in-process', 'bullmq']) }),
  embedder: Type.Object({ id: Type.String(), runtime: Type.String(), state: Type.String() }),
  documents: Type.Unsafe<Record<string, number>>(
    Type.Object(counts, { description: 'Number of documents by status.' }),
  ),
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

export const openapiAnswer = Type.Unsafe<object>({ type: 'object', additionalProperties: true });
