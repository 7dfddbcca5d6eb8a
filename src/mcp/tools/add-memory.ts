import Type from 'typebox';
import { addedBy } from '../../account/caller.ts';
import { documentInputOf } from '../../api/document-input.ts';
import { words } from '../../api/schemas/shared.ts';
import { MemorydError } from '../../base/errors.ts';
import { containerToWrite } from '../container.ts';
import { inNamespace } from '../schemas.ts';
import { oneLine } from '../text.ts';
import { defineTool, type McpCall } from '../tool.ts';

/** From this similarity on, a memory in other words is the one that is meant. */
const sameMeaning = 0.85;

export const addMemory = defineTool(
  {
    name: 'add_memory',
    title: 'Save or forget',
    description: `Saves text, or the page behind an address, to memory.
When: the user says something worth keeping (who they are, what they prefer, decide or plan), or asks for it. Write whole statements that name whom they are about. Save what the user says, not what a mirrored source says.
Answers: the id of the document and its status; it is found once that is done, which takes seconds.
Next: nothing. With action "forget" it forgets the memory that says just this, or the one that is closest to it; forgetMemory can do more.`,
    effect: 'changes',
    input: Type.Object({
      content: Type.String({
        maxLength: 200_000,
        pattern: '\\S',
        'x-expected': 'text of 1 to 200000 characters',
        description: 'What to remember, or what to forget.',
      }),
      action: Type.Optional(words(['save', 'forget'], { default: 'save' })),
      ...inNamespace,
    }),
    output: Type.Object({
      action: words(['save', 'forget']),
      success: Type.Boolean(),
      containerTag: Type.String(),
      message: Type.String(),
      id: Type.Optional(
        Type.String({ description: 'Of the document that was saved, or the memory that is forgotten.' }),
      ),
      status: Type.Optional(Type.String({ description: 'What processing of the document has come to.' })),
    }),
  },
  async ({ content, action = 'save', containerTag: named }, call) => {
    const containerTag = containerToWrite(call, named);
    const done =
      action === 'save' ? await save(content, containerTag, call) : await forget(content, containerTag, call);
    return { text: done.message, structured: { action, success: true, containerTag, ...done } };
  },
);

async function save(content: string, containerTag: string, { services, config, caller }: McpCall) {
  const body = { content, metadata: { sm_source: 'supermemory-mcp' } };
  const written = documentInputOf(body, config.limits.maxTextBytes);
  const source = written.body.kind === 'url' ? 'url' : 'mcp';
  const [added] = await services.documents.add([{ ...written, source, containerTag, ...addedBy(caller) }]);
  const { id, status } = added!;
  return { id, status, message: `Saved to ${containerTag}. It can be found as soon as it is processed.` };
}

async function forget(content: string, containerTag: string, call: McpCall) {
  const found =
    (await forgetExactly(content, containerTag, call)) ?? (await forgetClosest(content, containerTag, call));
  if (!found) throw new MemorydError('not_found', 'No memory says this');
  return { id: found.id, message: `Forgot "${oneLine(found.memory)}".` };
}

async function forgetExactly(memory: string, containerTag: string, { services }: McpCall) {
  try {
    return { id: await services.memories.forget({ containerTag, content: memory }, null), memory };
  } catch (error) {
    if (MemorydError.is(error) && error.code === 'not_found') return null;
    throw error;
  }
}

async function forgetClosest(content: string, containerTag: string, { services }: McpCall) {
  const closest = { containerTag, query: content, threshold: sameMeaning, maxForget: 1, dryRun: false, reason: null };
  const { matched } = await services.memories.forgetMatching(closest);
  return matched[0] ?? null;
}
