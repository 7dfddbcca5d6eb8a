import Type, { type Static } from 'typebox';
import { maxDeletes, maxUpserts } from '../../inbound/push/push-service.ts';
import { maxUnread } from '../../sync/page.ts';
import { flatMetadata, nullable, timestamp, words } from './shared.ts';

const itemId = Type.String({
  description: 'Its own stable identity at the source: 1 to 1,000 bytes.',
  pattern: '^[^\\u0000-\\u001f\\u007f]+$',
  'x-expected': '1 to 1,000 bytes without control characters',
  examples: ['ticket-4711'],
});

const content = (kind: string) =>
  Type.Optional(Type.String({ description: `The content as ${kind}.`, pattern: '\\S' }));

/** One item. Exactly one of `text`, `markdown` and `html` carries the content. */
export const pushItem = Type.Object(
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
export type PushItemBody = Static<typeof pushItem>;

/** Entries are checked one by one, so that a bad one fails alone. */
const unchecked = (schema: object) => Type.Unsafe<unknown>({ 'x-each': schema, description: 'Checked on its own.' });

export const pushBody = Type.Object(
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
export type PushBody = Static<typeof pushBody>;

const counts = Type.Object({
  created: Type.Integer(),
  updated: Type.Integer(),
  unchanged: Type.Integer(),
  skipped: Type.Integer(),
  deleted: Type.Integer(),
  failed: Type.Integer(),
});

export const pushAnswer = Type.Object({
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

export const pushStateAnswer = Type.Object({
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
