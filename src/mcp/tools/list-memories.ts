import Type from 'typebox';
import { listAnswer } from '../../api/schemas/memories.ts';
import { memoryEntryView } from '../../api/views/memories.ts';
import { containerToRead } from '../container.ts';
import { pageOf, paginationOf } from '../pages.ts';
import { inContainer, inPage } from '../schemas.ts';
import { joined, section } from '../text.ts';
import { defineTool } from '../tool.ts';

export const listMemories = defineTool(
  {
    name: 'listMemories',
    title: 'List memories',
    description:
      'One page of the memories of a space, newest first: the latest version of each, with the earlier ones.',
    effect: 'reads',
    input: Type.Object({ ...inPage, ...inContainer }),
    output: listAnswer,
  },
  async (input, call) => {
    const { services, config } = call;
    const page = pageOf(input);
    const { memories, total } = await services.memories.list({
      ...{ ...page, sort: 'createdAt', order: 'desc', includeForgotten: false },
      containerTags: [containerToRead(call, input.containerTag)],
    });
    const lines = memories.map(({ memory, id }) => `${memory} (id ${id})`);
    return {
      text: joined(section(`Memories, page ${page.page} of ${total} in all`, lines), 'There are no memories here.'),
      structured: {
        memoryEntries: memories.map((entry) => memoryEntryView(entry, config.organization.id)),
        pagination: paginationOf(page, total),
      },
    };
  },
);
