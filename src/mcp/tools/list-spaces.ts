import Type from 'typebox';
import { readScope } from '../../account/access.ts';
import { nullable, timestamp } from '../../api/schemas/shared.ts';
import { spacesOf, spacesText } from '../spaces.ts';
import { defineTool } from '../tool.ts';

export const listSpaces = defineTool(
  {
    name: 'listSpaces',
    title: 'List namespaces',
    description: `Lists the namespaces that the key may read, the one with the newest activity first.
When: the user names a project or a source, and you want to search or save in that one alone.
Answers: name, description, and how many documents and memories each holds.
Next: give a namespace to the other tools. search_memory needs none: it searches all of them.`,
    effect: 'reads',
    input: Type.Object({}),
    output: Type.Object({
      spaces: Type.Array(
        Type.Object({
          name: Type.String(),
          containerTag: Type.String(),
          description: nullable(Type.String()),
          visibility: Type.String(),
          emoji: nullable(Type.String()),
          documentCount: Type.Integer(),
          memoryCount: Type.Integer(),
          lastActivityAt: nullable(timestamp),
        }),
      ),
      count: Type.Integer(),
    }),
  },
  async (_, { services, caller }) => {
    const spaces = spacesOf(await services.containerTags.list(readScope(caller, [])));
    return { text: spacesText(spaces), structured: { spaces, count: spaces.length } };
  },
);
