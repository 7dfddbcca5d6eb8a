import Type from 'typebox';
import { connectionParams, problems } from './connections.ts';
import { nullable, timestamp, words, type Answered } from './shared.ts';

/** Sections 19.3, 19.13, 19.17 and 19.18 of the API, and the progress of a connection. */

const someItems = Type.Object({
  count: Type.Integer(),
  ids: Type.Array(Type.String(), { description: 'Their ids at the source, at most 50.' }),
});

const syncRunFields = {
  id: Type.String(),
  connectionId: Type.String(),
  status: words(['running', 'completed', 'failed']),
  triggerType: words(['event', 'cron', 'manual']),
  mode: words(['full', 'incremental']),
  dryRun: Type.Boolean({ description: 'It only says what would change.' }),
  startedAt: timestamp,
  completedAt: nullable(timestamp),
  itemsSeen: Type.Integer(),
  itemsTotal: nullable(Type.Integer(), { description: 'Null while it is not known.' }),
  itemsProcessed: Type.Integer(),
  itemsAdded: Type.Integer(),
  itemsUpdated: Type.Integer(),
  itemsDeleted: Type.Integer(),
  itemsSkipped: Type.Integer(),
  itemsFailed: Type.Integer(),
  itemsPerSecond: nullable(Type.Number()),
  etaMs: nullable(Type.Integer(), { description: 'Milliseconds until it is over, as far as one can tell.' }),
  error: nullable(Type.String()),
  errorCode: nullable(Type.String()),
  failures: Type.Array(
    Type.Object({
      customId: Type.String(),
      documentId: nullable(Type.String()),
      title: nullable(Type.String()),
      error: Type.String(),
    }),
    { description: 'At most 50.' },
  ),
  warnings: Type.Array(
    Type.Object({
      partitionId: nullable(Type.String(), { description: 'Null: about the whole connection.' }),
      code: Type.String(),
      message: Type.String(),
    }),
    { description: 'Problems that did not stop the run. At most 50.' },
  ),
  report: Type.Optional(
    Type.Object(
      {
        added: someItems,
        updated: someItems,
        deleted: someItems,
        incomplete: nullable(Type.String(), { description: 'Why nothing is deleted although something is missing.' }),
      },
      { description: 'For a dry run: the changes that a sync would make.' },
    ),
  ),
};

export const syncRunAnswer = Type.Object(syncRunFields, { $id: 'SyncRun', title: 'SyncRun' });
export type SyncRunAnswer = Answered<typeof syncRunAnswer>;
export const syncRunRef = Type.Unsafe<SyncRunAnswer>({ $ref: 'SyncRun#' });
export const syncRunsAnswer = Type.Array(syncRunRef);

export const runParams = Type.Object({
  ...connectionParams.properties,
  runId: Type.String({ description: 'Id of a sync run.', minLength: 1, maxLength: 255 }),
});

export const runsQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default 50.' })),
  before: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Id of a run: only older ones.' })),
});

export const syncBody = Type.Object({
  mode: Type.Optional(words(['incremental', 'full'], { description: 'Default incremental.' })),
  restoreDeleted: Type.Optional(Type.Boolean({ description: 'Brings back the documents that were deleted here.' })),
  dryRun: Type.Optional(Type.Boolean({ description: 'Changes nothing: the run says what a sync would change.' })),
});

export const importAnswer = {
  description: 'A line of text; as JSON when only that is accepted.',
  content: {
    'text/plain': { schema: Type.String({ examples: ['Importing connections...'] }) },
    'application/json': {
      schema: Type.Object({
        message: Type.String(),
        provider: Type.String(),
        runs: Type.Array(Type.Object({ connectionId: Type.String(), runId: Type.String() })),
      }),
    },
  },
};

const progressFields = {
  run: nullable(Type.Object(syncRunFields)),
  items: Type.Object({
    pending: Type.Integer(),
    done: Type.Integer(),
    failed: Type.Integer(),
    skipped: Type.Integer(),
  }),
  documents: Type.Object({
    waiting: Type.Integer(),
    foundByWords: Type.Integer({
      description: 'Waiting documents that are found by their words already; their vectors are still to be made.',
    }),
    done: Type.Integer(),
    failed: Type.Integer(),
  }),
  heldDeletes: Type.Integer({ description: 'Documents that a sweep would delete and the brake holds.' }),
  problems,
};

export const progressAnswer = Type.Object(progressFields);
export type ProgressAnswer = Answered<typeof progressAnswer>;

export const runEventsQuery = Type.Object({
  until: Type.Optional(
    words(['run', 'documents'], {
      description: 'The stream ends with the run, or once its documents can be found as well. Default run.',
    }),
  ),
});

export const runEventsHeaders = Type.Object({
  'last-event-id': Type.Optional(Type.String({ description: 'Id of the last event that was received.' })),
});

export const runEventsAnswer = {
  description:
    'A stream of events. `progress` and, as the last one, `end` carry the progress of the connection as JSON, with this run. Comments keep the connection open.',
  content: { 'text/event-stream': { schema: Type.String({ examples: ['event: progress\nid: 3\ndata: {}\n\n'] }) } },
};
