import Type, { type Static } from 'typebox';
import { addBody } from './documents.ts';
import { customId, documentStatus, words } from './shared.ts';

/** Section 17 of the API. */

const { containerTag, containerTags, metadata, entityContext, dreaming, taskType, documentDate } = addBody.properties;

const part = Type.Unsafe<{
  type: 'text' | 'image_url';
  text?: string;
  imageUrl?: { url: string };
  image_url?: { url: string };
}>({
  anyOf: [
    {
      type: 'object',
      required: ['type', 'text'],
      properties: { type: { type: 'string', enum: ['text'] }, text: { type: 'string' } },
    },
    imagePart('imageUrl'),
    imagePart('image_url'),
  ],
});

/** Published as `imageUrl`; `@supermemory/tools` types it as `image_url`. */
function imagePart(name: 'imageUrl' | 'image_url') {
  const image = { type: 'object', required: ['url'], properties: { url: { type: 'string' } } };
  return {
    type: 'object',
    required: ['type', name],
    properties: { type: { type: 'string', enum: ['image_url'] }, [name]: image },
  };
}

const message = Type.Object({
  role: words(['user', 'assistant', 'system', 'tool']),
  content: Type.Unsafe<string | Static<typeof part>[]>({
    anyOf: [{ type: 'string' }, { type: 'array', items: part }],
    description: 'Text, or parts {type: "text", text} and {type: "image_url", imageUrl: {url}}.',
    'x-expected': 'a text, or an array of text and image_url parts',
  }),
  name: Type.Optional(Type.String({ maxLength: 255 })),
  tool_calls: Type.Optional(Type.Array(Type.Unsafe<unknown>({}))),
  tool_call_id: Type.Optional(Type.String({ maxLength: 255 })),
});
export type MessageInput = Static<typeof message>;

export const conversationBody = Type.Object({
  conversationId: Type.Unsafe<string>({ ...customId, description: 'Your id; becomes the customId of the document.' }),
  messages: Type.Array(message, { minItems: 1, maxItems: 2_000 }),
  containerTag,
  containerTags,
  metadata,
  entityContext,
  dreaming,
  taskType,
  documentDate,
});

export const conversationAnswer = Type.Object({
  id: Type.String(),
  conversationId: Type.String(),
  status: documentStatus,
});
