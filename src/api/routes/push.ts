import Type, { type Static } from 'typebox';
import { fieldName, createCheck } from '../validation.ts';
import {
  maxDeletes,
  maxPushIdBytes,
  maxUpserts,
  type PushDelete,
  type PushEntry,
  type PushRequest,
  type PushUpsert,
} from '../../inbound/push/push-service.ts';
import { MemorydError } from '../../base/errors.ts';
import { firstOf } from '../../base/collections.ts';
import { requireWrite } from '../../account/access.ts';
import { findConnection, callerOf, type Api, type RouteContext } from '../request.ts';
import { connectionParams } from '../schemas/connections.ts';
import { maxUnread } from '../../sync/check-page.ts';
import { flatMetadata, nullable, timestamp, words } from '../schemas/shared.ts';

const itemId = Type.String({
  description: 'Its own stable identity at the source: 1 to 1,000 bytes.',
  pattern: '^[^\\u0000-\\u001f\\u007f]+$',
  'x-expected': '1 to 1,000 bytes without control characters',
  examples: ['ticket-4711'],
});

const content = (kind: string) =>
  Type.Optional(Type.String({ description: `The content as ${kind}.`, pattern: '\\S' }));

/** One item. Exactly one of `text`, `markdown` and `html` carries the content. */
const pushItem = Type.Object(
  {
    id: itemId,
    rev: Type.Optional(
      Type.String({
        description: 'Changes with the item; an equal rev costs nothing. Default: a hash of all that is sent of it.',
        minLength: 1,
        maxLength: 1_000,
      }),
    ),
    title: Type.Optional(Type.String({ maxLength: 1_000 })),
    text: content('plain text'),
    markdown: content('Markdown'),
    html: content('HTML'),
    url: Type.Optional(Type.String({ description: 'Where people find it.', maxLength: 2_048 })),
    path: Type.Optional(Type.String({ description: 'For filepath filters.', maxLength: 1_024 })),
    metadata: Type.Optional(flatMetadata),
    updatedAt: Type.Optional(
      Type.String({
        description: 'When it changed last.',
        pattern:
          '^\\d{4}-\\d{2}-\\d{2}(?:[Tt ]\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,9})?)?(?:[Zz]|[+-]\\d{2}:?\\d{2})?)?$',
        'x-expected': 'a date as YYYY-MM-DD or ISO 8601',
      }),
    ),
  },
  { additionalProperties: false },
);
type PushItemBody = Static<typeof pushItem>;

/** Entries are checked one by one, so that a bad one fails alone. */
const unchecked = (schema: object) => Type.Unsafe<unknown>({ 'x-each': schema, description: 'Checked on its own.' });

const pushBody = Type.Object(
  {
    deliveryId: Type.Optional(
      Type.String({
        description: 'Repeating the request with this id changes nothing, for 7 days.',
        minLength: 1,
        maxLength: 255,
        pattern: '^[^\\u0000-\\u001f\\u007f]+$',
        'x-expected': '1 to 255 characters without control characters',
      }),
    ),
    upserts: Type.Optional(
      Type.Array(unchecked(pushItem), {
        description: `Items that are new or changed, at most ${maxUpserts}. Fields: id, rev, title, text or markdown or html, url, path, metadata, updatedAt.`,
      }),
    ),
    deletes: Type.Optional(
      Type.Array(unchecked(itemId), { description: `Ids of items that are gone, at most ${maxDeletes}.` }),
    ),
    snapshot: Type.Optional(
      Type.Object(
        {
          id: Type.String({
            description: 'A name for the snapshot, new for each.',
            minLength: 1,
            maxLength: 255,
            pattern: '^[^\\u0000-\\u001f\\u007f]+$',
            'x-expected': '1 to 255 characters without control characters',
          }),
          page: Type.Integer({ description: '1, 2, 3, … in order.', minimum: 1, maximum: 10_000_000 }),
        },
        { additionalProperties: false, description: 'Makes this request a page of a snapshot of everything.' },
      ),
    ),
    unread: Type.Optional(
      Type.Array(
        Type.Object(
          {
            path: Type.String({
              description: 'The path of a folder or of one item, as items have it.',
              minLength: 1,
              maxLength: 1_024,
            }),
            reason: Type.String({ description: 'Why, in words for people.', minLength: 1, maxLength: 500 }),
          },
          { additionalProperties: false },
        ),
        {
          description:
            'Only with a snapshot: parts that it cannot show. What lies in them is not removed; nor is an item without a path.',
          maxItems: maxUnread,
        },
      ),
    ),
    completeSnapshot: Type.Optional(
      Type.Boolean({
        description:
          'Everything was shown, by this request or by the pages of its snapshot: what was not shown is removed.',
      }),
    ),
  },
  { additionalProperties: false },
);
type PushBody = Static<typeof pushBody>;

const counts = Type.Object({
  created: Type.Integer(),
  updated: Type.Integer(),
  unchanged: Type.Integer(),
  skipped: Type.Integer(),
  deleted: Type.Integer(),
  failed: Type.Integer(),
});

const pushAnswer = Type.Object({
  deliveryId: nullable(Type.String()),
  replayed: Type.Boolean({ description: 'The delivery was taken before. Only what failed then is listed.' }),
  counts,
  upserts: Type.Array(
    Type.Object({
      id: nullable(Type.String()),
      status: words(['created', 'updated', 'unchanged', 'superseded', 'suppressed', 'skipped', 'failed'], {
        description:
          'superseded: a later entry has the same id. suppressed: its document was deleted here; another rev brings it back. skipped: the filters leave it out.',
      }),
      documentId: nullable(Type.String()),
      error: nullable(Type.String()),
    }),
    { description: 'One per entry, in the order of the request.' },
  ),
  deletes: Type.Array(
    Type.Object({
      id: nullable(Type.String()),
      status: words(['deleted', 'absent', 'failed'], { description: 'absent: there was no such item.' }),
      error: nullable(Type.String()),
    }),
  ),
  snapshot: nullable(
    Type.Object({
      id: Type.String(),
      state: words(['open', 'completed']),
      nextPage: Type.Integer(),
      removed: Type.Integer({ description: 'Items that the snapshot did not show.' }),
      held: nullable(Type.Object({ count: Type.Integer(), of: Type.Integer() }), {
        description: 'The removal waits for POST /v3/connections/{connectionId}/pending-deletes/confirm.',
      }),
      incomplete: nullable(Type.String(), { description: 'Why nothing is removed.' }),
    }),
  ),
});

const pushStateAnswer = Type.Object({
  snapshot: nullable(
    Type.Object({
      id: Type.String(),
      state: words(['open', 'completed', 'abandoned']),
      nextPage: Type.Integer({ description: 'Where to go on.' }),
      incomplete: nullable(Type.String()),
      startedAt: timestamp,
      updatedAt: timestamp,
    }),
    { description: 'The one that was begun last.' },
  ),
});

const tags = ['Push'];

/** A connection of the provider `push` takes its items from its callers instead of a source. */
export function pushRoutes(app: Api, { services, config }: RouteContext): void {
  app.post(
    '/v3/connections/:connectionId/push',
    {
      config: { sensitive: true },
      bodyLimit: config.limits.maxBatchBodyBytes,
      schema: {
        operationId: 'pushItems',
        summary: 'Push items into a connection',
        description:
          'Items go through the same ledger as those of any source: an unchanged rev costs nothing, an equal content is not processed again, and what is gone is removed, unless that is too much at once. A bad entry fails alone; the answer is 200 even when every entry failed.',
        tags,
        params: connectionParams,
        body: pushBody,
        response: { 200: pushAnswer },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const connection = await findConnection(services.connections, request.params.connectionId, caller);
      requireWrite(caller, connection.containerTag);
      return services.push.push(connection.id, readPush(request.body, config.limits.maxTextBytes));
    },
  );

  app.get(
    '/v3/connections/:connectionId/push',
    {
      schema: {
        operationId: 'getPushState',
        summary: 'Get how far the last snapshot is',
        description: 'Tells a script that was interrupted with which page to go on.',
        tags,
        params: connectionParams,
        response: { 200: pushStateAnswer },
      },
    },
    async (request) => {
      const connection = await findConnection(services.connections, request.params.connectionId, callerOf(request));
      return services.push.state(connection.id);
    },
  );
}

const checkItem = createCheck(pushItem);
const maxMetadataBytes = 32 * 1024;
const contentKinds = ['text', 'markdown', 'html'] as const;

/** Reads every entry; a bad one fails alone. Throws `payload_too_large` for too many. */
function readPush(body: PushBody, maxTextBytes: number): PushRequest {
  const { upserts = [], deletes = [], unread = [], deliveryId, snapshot, completeSnapshot = false } = body;
  if (unread.length > 0 && snapshot === undefined && !completeSnapshot) {
    throw new MemorydError('invalid_request', 'unread is about a snapshot: give snapshot or completeSnapshot with it');
  }
  requireFew('upserts', upserts.length, maxUpserts);
  requireFew('deletes', deletes.length, maxDeletes);
  return {
    upserts: upserts.map((entry) => readUpsert(entry, maxTextBytes)),
    deletes: deletes.map(readDelete),
    completeSnapshot,
    unread: unread.length > 0 ? unread : undefined,
    deliveryId,
    snapshot,
  };
}

function requireFew(name: string, count: number, most: number): void {
  if (count <= most) return;
  throw new MemorydError('payload_too_large', `${name} has ${count} entries, more than ${most}`, {
    details: 'Send them in several requests, or as the pages of a snapshot',
  });
}

function readUpsert(entry: unknown, maxTextBytes: number): PushEntry {
  const id = usableId((entry as Partial<PushItemBody> | null)?.id);
  const [issue] = checkItem(entry);
  if (issue) return { refused: { id, error: `${fieldName(issue.path ?? [])}: ${issue.message}`.replace(/^: /, '') } };
  const item = entry as PushItemBody;
  const problem = id === null ? longId : problemOf(item, maxTextBytes);
  return problem === null ? { upsert: upsertOf(item) } : { refused: { id, error: problem } };
}

const longId = `id must be 1 to ${maxPushIdBytes} bytes without control characters`;

/** The id when it can be one, also of an entry that is refused for another reason. */
function usableId(id: unknown): string | null {
  const isUsable =
    typeof id === 'string' && /^[^\u0000-\u001f\u007f]+$/.test(id) && Buffer.byteLength(id) <= maxPushIdBytes;
  return isUsable ? id : null;
}

function contentsOf(item: PushItemBody): PushUpsert['content'][] {
  return contentKinds.flatMap((kind) => {
    const text = item[kind];
    return text === undefined ? [] : [{ kind, text }];
  });
}

function problemOf(item: PushItemBody, maxTextBytes: number): string | null {
  const [given, ...more] = contentsOf(item);
  if (given === undefined || more.length > 0) return `exactly one of ${contentKinds.join(', ')} must be given`;
  if (Buffer.byteLength(given.text) > maxTextBytes) return `${given.kind} is larger than ${maxTextBytes} bytes`;
  if (Buffer.byteLength(JSON.stringify(item.metadata ?? {})) > maxMetadataBytes) {
    return `metadata is larger than ${maxMetadataBytes} bytes`;
  }
  return item.updatedAt === undefined || timeOf(item.updatedAt) !== null
    ? null
    : 'updatedAt must be a date that exists';
}

/** Times without a zone are UTC, so that the result does not depend on where the daemon runs. */
function timeOf(text: string): Date | null {
  const hasZone = text.length === 10 || /(?:z|[+-]\d{2}:?\d{2})$/i.test(text);
  const date = new Date(hasZone ? text : `${text}Z`);
  return Number.isNaN(date.getTime()) ? null : date;
}

function upsertOf(item: PushItemBody): PushUpsert {
  const { id, rev, title, url, path, metadata, updatedAt } = item;
  return {
    ...{ id, rev, url, path, metadata },
    content: firstOf(contentsOf(item)),
    title: title || undefined,
    updatedAt: updatedAt === undefined ? undefined : timeOf(updatedAt)!.toISOString(),
  };
}

function readDelete(entry: unknown): PushDelete {
  const id = usableId(entry);
  return id === null ? { refused: { id: null, error: longId } } : { id };
}
