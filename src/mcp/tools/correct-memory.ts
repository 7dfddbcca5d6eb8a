import Type from 'typebox';
import { MemorydError } from '../../base/errors.ts';
import { containerToWrite } from '../container.ts';
import { quoted } from '../fence.ts';
import { inNamespace, memoryContent } from '../schemas.ts';
import { defineTool } from '../tool.ts';

export const correctMemory = defineTool(
  {
    name: 'correctMemory',
    title: 'Correct a memory',
    description: `Writes a new version of a memory; the one before stays in its history and is found no more.
When: the user says that a memory is wrong or no longer true, and what is true instead. What the user tells counts from then on, whatever mirrored sources say.
Answers: the id and number of the new version.
Next: nothing; search_memory finds the new version at once.`,
    effect: 'changes',
    input: Type.Object({
      id: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 255,
          description: 'Of the memory, as search_memory and listMemories show it.',
        }),
      ),
      content: Type.Optional(memoryContent),
      newContent: Type.String({
        maxLength: 10_000,
        pattern: '\\S',
        'x-expected': 'text of 1 to 10000 characters',
        description: 'What is true: one statement that names whom it is about.',
      }),
      ...inNamespace,
    }),
    output: Type.Object({
      containerTag: Type.String(),
      id: Type.String(),
      memory: Type.String(),
      version: Type.Integer(),
    }),
  },
  async ({ id, content, newContent, containerTag: named }, call) => {
    if ((id === undefined) === (content === undefined)) {
      throw new MemorydError('invalid_request', 'Exactly one of id and content is required');
    }
    const containerTag = containerToWrite(call, named);
    const choice = id === undefined ? { containerTag, content: content! } : { containerTag, id };
    const written = await call.services.memories.update(choice, { newContent });
    const { memory, version } = written;
    return {
      text: `Version ${version} of the memory, with the id ${written.id}, says now:\n${quoted(memory)}`,
      structured: { containerTag, id: written.id, memory, version },
    };
  },
);
