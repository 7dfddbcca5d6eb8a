import Type from 'typebox';
import { MemorydError } from '../../base/errors.ts';
import { containerToWrite } from '../container.ts';
import { createFence } from '../fence.ts';
import { inNamespace, memoryContent } from '../schemas.ts';
import { oneLine, percent } from '../text.ts';
import { defineTool, type McpCall } from '../tool.ts';

/** As the API has them where nothing else is said. */
const threshold = 0.5;
const maxForget = 100;

export const forgetMemory = defineTool(
  {
    name: 'forgetMemory',
    title: 'Forget memories',
    description: `Forgets memories: by their ids, by the exact text of one, or all that are about something.
When: the user asks to forget something, or says that a memory must not be kept. For one that is merely wrong or old use correctMemory.
Answers: what was forgotten. With about it is a dry run unless dryRun is false: nothing is forgotten, and what would be is shown.
Next: after a dry run show the user the list, then call again with the ids of the right ones, or with dryRun false.`,
    effect: 'changes',
    input: Type.Object({
      ids: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
          minItems: 1,
          maxItems: 100,
          description: 'Of memories, as search_memory and listMemories show them.',
        }),
      ),
      content: Type.Optional(memoryContent),
      about: Type.Optional(
        Type.String({
          maxLength: 2000,
          pattern: '\\S',
          'x-expected': 'text of 1 to 2000 characters',
          description: 'A topic: everything that is remembered about it.',
        }),
      ),
      dryRun: Type.Optional(
        Type.Boolean({ description: 'For about: only show what would be forgotten. Default true.' }),
      ),
      reason: Type.Optional(Type.String({ maxLength: 1000, description: 'Kept with what is forgotten.' })),
      ...inNamespace,
    }),
    output: Type.Object({
      containerTag: Type.String(),
      dryRun: Type.Boolean(),
      count: Type.Integer(),
      memories: Type.Array(
        Type.Object({ id: Type.String(), memory: Type.String(), similarity: Type.Optional(Type.Number()) }),
      ),
    }),
  },
  async ({ ids, content, about, containerTag: named, dryRun: wanted, reason = null }, call) => {
    if ([ids, content, about].filter((one) => one !== undefined).length !== 1) {
      throw new MemorydError('invalid_request', 'Exactly one of ids, content and about is required');
    }
    const containerTag = containerToWrite(call, named);
    const dryRun = about !== undefined && (wanted ?? true);
    const memories =
      content === undefined
        ? await matching({ ids, about, containerTag, dryRun, reason }, call)
        : await byContent(content, { containerTag, reason }, call);
    return {
      text: forgottenText({ memories, dryRun, containerTag }),
      structured: { containerTag, dryRun, count: memories.length, memories },
    };
  },
);

interface Shown {
  id: string;
  memory: string;
  similarity?: number;
}

interface Chosen {
  ids: string[] | undefined;
  about: string | undefined;
  containerTag: string;
  dryRun: boolean;
  reason: string | null;
}

async function matching({ ids, about, ...chosen }: Chosen, { services }: McpCall): Promise<Shown[]> {
  const { matched } = await services.memories.forgetMatching({
    ...{ ...chosen, threshold, maxForget },
    ...(ids && { ids }),
    ...(about !== undefined && { query: about }),
  });
  if (ids && matched.length === 0) {
    throw new MemorydError('not_found', `No memory of ${chosen.containerTag} has these ids`, {
      details: 'search_memory and listMemories show the ids, and the namespace to name with them',
    });
  }
  return matched.map(({ id, memory, score }) => ({ id, memory, ...(ids === undefined && { similarity: score }) }));
}

async function byContent(
  content: string,
  { containerTag, reason }: { containerTag: string; reason: string | null },
  { services }: McpCall,
): Promise<Shown[]> {
  return [{ id: await services.memories.forget({ containerTag, content }, reason), memory: content }];
}

function forgottenText(done: { memories: readonly Shown[]; dryRun: boolean; containerTag: string }): string {
  const { memories, dryRun, containerTag } = done;
  const what = `${memories.length} ${memories.length === 1 ? 'memory' : 'memories'} of ${containerTag}`;
  if (memories.length === 0) return `Nothing ${dryRun ? 'would be' : 'was'} forgotten: ${what} fit.`;
  const lines = memories.map(({ id, memory, similarity }) => {
    const near = similarity === undefined ? '' : `, ${percent(similarity)} match`;
    return `- memory ${id}${near}: ${oneLine(memory)}`;
  });
  return [
    dryRun ? `Dry run: ${what} would be forgotten.` : `Forgot ${what}.`,
    createFence(lines)(lines.join('\n')),
  ].join('\n\n');
}
