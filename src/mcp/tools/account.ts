import Type from 'typebox';
import { jsonObject, nullable, words, timestamp } from '../../api/schemas/shared.ts';
import { grantedContainers, usualContainer } from '../container.ts';
import { defineTool } from '../tool.ts';
import { readScope } from '../../account/access.ts';
import { spacesOf, spacesText } from '../spaces.ts';

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

const fullAccess = { role: 'owner', accessType: 'full' } as const;
const restrictedAccess = { role: 'member', accessType: 'restricted' } as const;

export const whoAmI = defineTool(
  {
    name: 'whoAmI',
    title: 'Who am I',
    description: `Says what the key of this connection may do, and which namespace add_memory uses when none is named.
When: a call was refused, or the user asks where things are saved.`,
    effect: 'reads',
    input: Type.Object({}),
    output: Type.Object({
      userId: Type.String({ description: 'Id of the key, which stands for its holder.' }),
      name: Type.String({ description: 'The name of the key.' }),
      role: words(['owner', 'member']),
      accessType: words(['full', 'restricted']),
      activeSpace: nullable(Type.String(), { description: 'Null: a namespace has to be named.' }),
      assignedSpaces: Type.Unsafe<string[] | null>({
        type: ['array', 'null'],
        items: { type: 'string' },
        description: 'Null: every one.',
      }),
      scope: jsonObject,
    }),
  },
  async (_, { caller, config }) => {
    const { keyId, name, kind, permission } = caller;
    const activeSpace = usualContainer({ caller, config });
    const assignedSpaces = grantedContainers(caller);
    const spaces = assignedSpaces === null ? 'every namespace' : assignedSpaces.join(', ');
    return {
      text: `Key "${name}": may ${permission === 'write' ? 'read and write' : 'read'} in ${spaces}. Namespace in use: ${activeSpace ?? 'none; name one'}.`,
      structured: {
        ...{ userId: keyId, name, activeSpace, assignedSpaces },
        ...(kind === 'full' ? fullAccess : restrictedAccess),
        scope: { type: kind, permission, ...(assignedSpaces && { grants: [...caller.grants] }) },
      },
    };
  },
);
