import Type, { type Static } from 'typebox';
import type { Json } from '../../engine/document.ts';
import { addBody } from './documents.ts';
import { containerTag, containerTags, customId, filepath, metadataInput, type Answered } from './shared.ts';

/** Sections 12.5, 12.9, 12.11 and 12.12 of the API. */

const { updateMode: _updateMode, metadata: _metadata, ...fields } = addBody.properties;

export const changeBody = Type.Object({
  ...fields,
  content: Type.Optional(fields.content),
  customId: Type.Optional(customId),
  metadata: Type.Optional(
    Type.Unsafe<Record<string, Json>>({
      ...metadataInput,
      description: 'Merged into what is there, key by key; null takes a key away.',
    }),
  ),
});
export type ChangeBody = Static<typeof changeBody>;

export const bulkDeleteBody = Type.Object({
  ids: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
      minItems: 1,
      maxItems: 100,
      description: 'Ids or customIds.',
    }),
  ),
  containerTags: Type.Optional(
    Type.Array(containerTag, { minItems: 1, description: 'Every document of these containers.' }),
  ),
  containerTag: Type.Optional(containerTag),
  filepath: Type.Optional(filepath),
});

export const bulkDeleteAnswer = Type.Object({
  success: Type.Boolean({ description: 'False only if every id failed.' }),
  deletedCount: Type.Integer(),
  errors: Type.Optional(Type.Array(Type.Object({ id: Type.String(), error: Type.String() }))),
  containerTags: Type.Optional(containerTags),
});
export type BulkDeleteAnswer = Answered<typeof bulkDeleteAnswer>;

export const fileUrlAnswer = Type.Object({
  url: Type.String({ description: 'Works without credentials for 24 hours.' }),
});

export const fileParams = Type.Object({
  key: Type.String({ pattern: '^[1-9A-HJ-NP-Za-km-z]{22}(\\.[a-z0-9]{1,8})?$', 'x-expected': 'the key of a file' }),
});

export const fileQuery = Type.Object({
  exp: Type.String({ pattern: '^\\d{1,12}$', 'x-expected': 'a time in seconds' }),
  sig: Type.String({ pattern: '^[0-9a-f]{1,128}$', 'x-expected': 'hexadecimal digits' }),
});

export const retryFailedBody = Type.Object({
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
  connectionId: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
});

export const retryFailedAnswer = Type.Object({ requeued: Type.Integer() });
