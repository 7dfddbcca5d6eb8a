import Type from 'typebox';

import { itemStates, retriedStates, type RetriedState } from '../../connections/connection-types.ts';
import { connectionParams } from './connections.ts';
import { nullable, timestamp, words, type Answered } from './shared.ts';

/** The items of a connection: what stands between its source and its documents. */

const itemFields = {
  id: Type.String({ description: 'Its id at the source.' }),
  customId: Type.String({ description: 'The customId of its document.' }),
  partition: Type.String(),
  title: nullable(Type.String()),
  path: nullable(Type.String()),
  url: nullable(Type.String()),
  mimeType: nullable(Type.String()),
  size: nullable(Type.Integer(), { description: 'Bytes.' }),
  state: words(itemStates, {
    description: 'dead: failed, and not tried again by itself. suppressed: its document was deleted here.',
  }),
  attempts: Type.Integer(),
  nextRetryAt: nullable(timestamp, { description: 'Null: when it changes at the source, or on request.' }),
  errorClass: nullable(Type.String()),
  error: nullable(Type.String(), { description: 'Why it failed or was skipped.' }),
  documentId: nullable(Type.String()),
  updatedAt: timestamp,
};

export const itemAnswer = Type.Object(itemFields, { $id: 'SyncItem', title: 'SyncItem' });
export type ItemAnswer = Answered<typeof itemAnswer>;
const itemRef = Type.Unsafe<ItemAnswer>({ $ref: 'SyncItem#' });

const next = nullable(Type.String(), { description: 'cursor of the next page; null on the last one.' });
const cursor = Type.Optional(Type.String({ minLength: 1, maxLength: 32_768, description: 'next of the page before.' }));
const limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Default 100.' }));

export const itemsQuery = Type.Object({
  state: Type.Optional(Type.Array(words(itemStates), { description: 'Only items in one of these states.' })),
  class: Type.Optional(
    Type.Array(Type.String({ maxLength: 100 }), { description: 'Only items with one of these error classes.' }),
  ),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1000,
      description: 'Only items with this in title, path or id, in any case.',
    }),
  ),
  limit,
  cursor,
});

export const itemsAnswer = Type.Object({ items: Type.Array(itemRef), next });

export const failuresAnswer = Type.Object({
  causes: Type.Array(
    Type.Object({
      state: words(retriedStates, { description: 'dead: failed, and not tried again by itself.' }),
      class: nullable(Type.String(), { description: 'The error class, as in the items.' }),
      count: Type.Integer(),
      message: nullable(Type.String(), { description: 'The message of the one that failed last.' }),
      remedy: nullable(Type.String(), { description: 'How to mend it.' }),
      retriable: Type.Boolean({ description: 'Whether another attempt can bring anything.' }),
      lastAt: timestamp,
      nextRetryAt: nullable(timestamp, { description: 'The earliest; null: none is tried again by itself.' }),
    }),
    { description: 'Most frequent first.' },
  ),
});

export const itemParams = Type.Object({
  ...connectionParams.properties,
  itemId: Type.String({ minLength: 1, maxLength: 8192, description: 'Id of the item at the source, or its customId.' }),
});

const retriedState = { type: 'string', enum: retriedStates };
const errorClass = { type: 'string', maxLength: 100 };

export const retryItemsBody = Type.Object({
  state: Type.Optional(
    Type.Unsafe<RetriedState | RetriedState[]>({
      anyOf: [retriedState, { type: 'array', minItems: 1, items: retriedState }],
      description: 'Default failed and dead.',
      'x-expected': `one or several of ${retriedStates.join(', ')}`,
    }),
  ),
  class: Type.Optional(
    Type.Unsafe<string | string[]>({
      anyOf: [errorClass, { type: 'array', minItems: 1, items: errorClass }],
      description: 'Only items with one of these error classes.',
      'x-expected': 'an error class or several',
    }),
  ),
});

export const retryItemsAnswer = Type.Object({
  retried: Type.Integer({ description: 'Items that are tried again.' }),
});

export const retryItemAnswer = itemRef;

export const pendingDeletesQuery = Type.Object({ limit, cursor });

export const pendingDeletesAnswer = Type.Object({
  count: Type.Integer({ description: 'Items whose deletion waits for an answer.' }),
  partitions: Type.Array(
    Type.Object({
      id: Type.String(),
      title: nullable(Type.String()),
      count: Type.Integer({ description: 'Items that the source no longer shows.' }),
      of: Type.Integer({ description: 'The total.' }),
      heldAt: timestamp,
      confirmed: Type.Boolean({ description: 'The next sync deletes them.' }),
    }),
  ),
  items: Type.Array(itemRef),
  next,
});
