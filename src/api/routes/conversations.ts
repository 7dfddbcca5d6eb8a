import { present } from '../../base/collections.ts';
import Type, { type Static } from 'typebox';
import { addBody } from '../schemas/documents.ts';
import { writeTag, addedBy } from '../../account/access.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Message } from '../../engine/conversations.ts';
import { callerOf, type Api, type RouteContext, singleTag } from '../request.ts';
import { dateOf, requireSmall } from '../document-input.ts';
import { createCheck, validationFailed } from '../validation.ts';
import { containerTag as tagSchema, customId, documentStatus, words } from '../schemas/shared.ts';

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
type MessageInput = Static<typeof message>;

const conversationBody = Type.Object({
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

const conversationAnswer = Type.Object({
  id: Type.String(),
  conversationId: Type.String(),
  status: documentStatus,
});

const checkTag = createCheck(tagSchema);

/** Section 17 of the API. */
export function conversationRoutes(app: Api, { services, config }: RouteContext): void {
  app.post(
    '/v4/conversations',
    {
      config: { replay: true },
      schema: {
        operationId: 'addConversation',
        summary: 'Add a conversation, or what is new of it',
        description:
          'One document for each conversationId. Send all messages or only the newest ones: what is there already is not added again.',
        tags: ['Conversations'],
        body: conversationBody,
        response: { 200: conversationAnswer },
      },
    },
    async (request) => {
      const { conversationId, messages: sent, documentDate, ...rest } = request.body;
      const { containerTag: _tag, containerTags: _tags, ...fields } = rest;
      requireSmall(fields.metadata, 'metadata');
      const messages = sent.map(messageOf);
      requireShort(messages, config.limits.maxTextBytes);
      const caller = callerOf(request);
      const containerTag = writeTag(caller, tagOf(rest), config.defaultContainerTag);
      const { id, status } = await services.conversations.add({
        ...defined(fields),
        ...(documentDate !== undefined && { documentDate: dateOf(documentDate) }),
        conversationId,
        containerTag,
        ...addedBy(caller),
        messages,
      });
      return { id, conversationId, status };
    },
  );
}

/** The published schema has containerTags without a pattern. */
function tagOf(fields: Parameters<typeof singleTag>[0]): string | undefined {
  const tag = singleTag(fields);
  const issues = tag === undefined ? [] : checkTag(tag);
  if (issues.length > 0) throw validationFailed(issues.map(({ message }) => ({ message, path: ['containerTags', 0] })));
  return tag;
}

function messageOf({ role, content, name, tool_calls, tool_call_id }: MessageInput): Message {
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  const images = parts.flatMap((part) => (part as { imageUrl?: { url: string } }).imageUrl?.url ?? imageOf(part));
  return {
    role,
    text: parts.flatMap((part) => (part.type === 'text' ? (part.text ?? []) : [])).join('\n'),
    ...(images.length > 0 && { images }),
    ...present({ name, tool_calls, tool_call_id }),
  };
}

/** The spelling of `@supermemory/tools`. */
function imageOf(part: object): string[] {
  const { image_url: image } = part as { image_url?: { url: string } };
  return image === undefined ? [] : [image.url];
}

function requireShort(messages: readonly Message[], maxTextBytes: number): void {
  const bytes = messages.reduce((sum, message) => sum + Buffer.byteLength(message.text), 0);
  if (bytes <= maxTextBytes) return;
  throw new MemorydError('payload_too_large', `The text of the messages is larger than ${maxTextBytes} bytes`);
}

function defined<Fields extends object>(fields: Fields): { [Name in keyof Fields]: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
