import Type, { type TSchema } from 'typebox';
import { readScope, requireWrite } from '../../../account/access.ts';
import type { Profile } from '../../../memory/profiles.ts';
import { callerOf, type Api, type RouteContext } from '../../request.ts';
import { parseFilterTree } from '../filter-tree.ts';
import { namespaceParams, closedBody, filter } from '../schemas/shared.ts';

const slug = Type.String({
  pattern: '^[a-z0-9][a-z0-9_-]{0,63}$',
  'x-expected': '1 to 64 lower-case letters, digits, underscores and hyphens that begin with a letter or a digit',
});

const profileBody = closedBody({
  filter: Type.Optional(filter),
  buckets: Type.Optional(
    Type.Array(slug, { maxItems: 50, description: 'Only these buckets; left out: all that the namespace has.' }),
  ),
});

const lines = Type.Array(
  Type.Object({
    id: Type.String({ description: 'The id of the memory; one that begins with aggregated_ cannot be forgotten.' }),
    memory: Type.String(),
  }),
  { description: 'Newest first.' },
);

const profileAnswer = Type.Object({
  profile: Type.Object({
    static: lines,
    dynamic: lines,
    buckets: Type.Unsafe<Record<string, { id: string; memory: string }[]>>({
      type: 'object',
      additionalProperties: lines,
    }),
  }),
});

const profileMarkdown = Type.Unsafe<string>({ type: 'string' });

const map = (description: TSchema) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    propertyNames: slug,
    additionalProperties: description,
    minProperties: 1,
    maxProperties: 50,
    examples: [{ work: 'Role, employer, projects and work decisions.' }],
  });

const putBucketsBody = closedBody({ buckets: map(Type.String({ maxLength: 2_000 })) });

const deleteBucketsBody = closedBody({
  buckets: Type.Array(slug, { minItems: 1, maxItems: 50, uniqueItems: true, description: 'Unknown ones are ignored.' }),
});

const bucketsAnswer = Type.Object({
  buckets: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: Type.String(),
    description: 'Buckets of the organization and of the namespace, with their descriptions.',
  }),
});

const sections = ['static', 'dynamic', 'buckets'] as const;

export function namespaceProfileRoutes(app: Api, { services }: RouteContext): void {
  app.post(
    '/ns/:namespace/profile',
    {
      schema: {
        operationId: 'getNamespaceProfile',
        summary: 'Read the profile of a namespace',
        description:
          'Stable facts, recent ones, and those of buckets, each with the id of its memory. As text where text/markdown is asked for.',
        tags: ['Namespaces'],
        params: namespaceParams,
        body: profileBody,
        response: {
          200: {
            content: { 'application/json': { schema: profileAnswer }, 'text/markdown': { schema: profileMarkdown } },
          },
        },
      },
    },
    async (request, reply) => {
      const { namespace } = request.params;
      readScope(callerOf(request), [namespace]);
      const { buckets, filter } = request.body;
      const filters = parseFilterTree(filter);
      const known = new Set((await services.profiles.buckets(namespace)).map(({ key }) => key));
      const wanted = buckets === undefined ? {} : { buckets: buckets.filter((key) => known.has(key)) };
      const read = await services.profiles.read({ containerTag: namespace, sections, ...wanted, ...filters });
      const profile = sectionsOf(read);
      if (!wantsMarkdown(request.headers.accept)) return { profile };
      return reply.type('text/markdown; charset=utf-8').serializer(String).send(profileAsMarkdown(profile));
    },
  );
}

function sectionsOf({ static: lasting = [], dynamic = [], buckets = {} }: Profile) {
  return { static: lasting, dynamic, buckets };
}

function wantsMarkdown(accept = ''): boolean {
  const [first] = accept.split(',').filter((type) => /text\/markdown|application\/json|\*\/\*/i.test(type));
  return /text\/markdown/i.test(first ?? '');
}

interface Line {
  memory: string;
}

/** The profile as text: a heading for each section, a list item for each line. */
export function profileAsMarkdown(profile: {
  static: readonly Line[];
  dynamic: readonly Line[];
  buckets: Record<string, readonly Line[]>;
}): string {
  const sections = [
    section('Static', profile.static),
    section('Dynamic', profile.dynamic),
    ...Object.entries(profile.buckets).map(([key, lines]) => section(key, lines)),
  ];
  return `${sections.join('\n\n')}\n`;
}

function section(title: string, lines: readonly Line[]): string {
  const items = lines.map(({ memory }) => `- ${memory.replaceAll(/\s+/g, ' ')}`);
  return [`## ${title}`, ...(items.length === 0 ? [] : ['', ...items])].join('\n');
}

const path = '/ns/:namespace/profile/buckets';
const described = { tags: ['Namespaces'], params: namespaceParams, response: { 200: bucketsAnswer } };

export function namespaceBucketRoutes(app: Api, context: RouteContext): void {
  const { services } = context;
  app.get(
    path,
    {
      schema: {
        operationId: 'getNamespaceBuckets',
        summary: 'List the buckets of a namespace’s profile',
        ...described,
      },
    },
    async (request) => {
      const { namespace } = request.params;
      readScope(callerOf(request), [namespace]);
      return bucketsOf(context, namespace);
    },
  );

  app.put(
    path,
    {
      config: { audit: 'container.change' },
      schema: {
        operationId: 'putNamespaceBuckets',
        summary: 'Add buckets to a namespace’s profile, or change them',
        description: 'The others stay. Those of the organization cannot be changed here.',
        ...described,
        body: putBucketsBody,
      },
    },
    async (request) => {
      const { namespace } = request.params;
      requireWrite(callerOf(request), namespace);
      const put = Object.entries(request.body.buckets).map(([key, description]) => ({ key, description }));
      await services.containerTags.changeBuckets(namespace, { put });
      return bucketsOf(context, namespace);
    },
  );

  app.delete(
    path,
    {
      config: { audit: 'container.change' },
      schema: {
        operationId: 'deleteNamespaceBuckets',
        summary: 'Take buckets from a namespace’s profile',
        ...described,
        body: deleteBucketsBody,
      },
    },
    async (request) => {
      const { namespace } = request.params;
      requireWrite(callerOf(request), namespace);
      await services.containerTags.changeBuckets(namespace, { remove: request.body.buckets });
      return bucketsOf(context, namespace);
    },
  );
}

async function bucketsOf({ services }: RouteContext, namespace: string) {
  const buckets = await services.profiles.buckets(namespace);
  return { buckets: Object.fromEntries(buckets.map(({ key, description }) => [key, description])) };
}
