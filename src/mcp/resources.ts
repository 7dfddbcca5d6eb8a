import { readScope } from '../account/access.ts';
import { MemorydError } from '../base/errors.ts';
import { contextText, profileText } from './profile-text.ts';
import { spacesOf, spacesText } from './spaces.ts';
import type { McpCall } from './tool.ts';

const mimeType = 'text/plain';

export const resources = [
  {
    uri: 'supermemory://profile',
    name: 'profile',
    title: 'Profile',
    description: 'What is known in general and what is recent, in the namespace that is used when none is named.',
    mimeType,
  },
  {
    uri: 'supermemory://spaces',
    name: 'spaces',
    title: 'Namespaces',
    description: 'The namespaces that the key may read.',
    mimeType,
  },
];

export async function readResource(uri: string, call: McpCall) {
  return { contents: [{ uri, mimeType, text: await textOf(uri, call) }] };
}

async function textOf(uri: string, call: McpCall): Promise<string> {
  if (uri === 'supermemory://profile') return profileText(call);
  if (uri !== 'supermemory://spaces') throw new MemorydError('not_found', 'Resource not found');
  return spacesText(spacesOf(await call.services.containerTags.list(readScope(call.caller, []))));
}

export const prompts = [
  {
    name: 'context',
    title: 'Context',
    description: 'What is known of the user, to begin a conversation with.',
  },
];

export async function readPrompt(name: string, call: McpCall) {
  if (name !== 'context') throw new MemorydError('not_found', 'Prompt not found');
  const text = `This is what memory holds. Use it where it helps, and search_memory for more.\n\n${await contextText(call)}`;
  return {
    description: prompts[0]!.description,
    messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }],
  };
}
