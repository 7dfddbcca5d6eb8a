import Type from 'typebox';
import { documentStatuses } from '../../engine/document.ts';
import { nullable, timestamp, words } from './shared.ts';

/** Section 22.3 of the API, and our own status. */

export const rootAnswer = Type.Object({ name: Type.String(), version: Type.String(), docs: Type.String() });

/** Of the console. */
export const page = Type.String();

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

export const openapiAnswer = Type.Unsafe<object>({ type: 'object', additionalProperties: true });
