import Type from 'typebox';
import { documentOfMemory, relatedMemoriesWithDocuments } from '../schemas/search.ts';
import { memoryFields } from '../schemas/documents.ts';
import { words } from '../../schemas/shared.ts';
import { readScope, requireWrite } from '../../../account/access.ts';
import { MemorydError } from '../../../base/errors.ts';
import { callerOf, type Api, type RouteContext } from '../../request.ts';
import { matchingLimit, matchingThreshold } from '../../schemas/memories.ts';
import { closedBody, listStyle, namespace, namespaceParams } from '../schemas/shared.ts';
import { includedOfMemory, memoryView, aggregatedPrefix } from '../views.ts';

const memoryParams = Type.Object({ namespace, id: Type.String({ minLength: 1, maxLength: 255 }) });

const memoryQuery = Type.Object(
  {
    include: Type.Optional(
      Type.Array(words(['related', 'documents']), { description: 'Parts to add to the answer, separated by commas.' }),
    ),
    relatedLimit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'Limit for each list of related memories. Default 10.' }),
    ),
  },
  listStyle,
);

const memoryAnswer = Type.Object({
  ...memoryFields,
  included: Type.Optional(
    Type.Object(
      { related: Type.Optional(relatedMemoriesWithDocuments), document: Type.Optional(documentOfMemory) },
      { description: 'Only when something was asked for. document is the source that changed last.' },
    ),
  ),
});

const forgetBody = closedBody({
  ids: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { minItems: 1, maxItems: 500 }),
});

const forgetMatchingBody = closedBody({
  query: Type.String({
    maxLength: 2_000,
    pattern: '\\S',
    'x-expected': 'text of 1 to 2000 characters',
    description: 'The subject of the memories.',
  }),
  dryRun: Type.Boolean({ description: 'true: only says which they are.' }),
});

const forgetAnswer = Type.Object(
  {
    count: Type.Integer({ description: 'How many matches there are.' }),
    matches: Type.Array(Type.Object({ id: Type.String(), memory: Type.String() })),
    errors: Type.Array(Type.Object({ id: Type.String(), error: Type.String() })),
  },
  { additionalProperties: false },
);

const tags = ['Namespaces'];

export function namespaceMemoryRoutes(app: Api, context: RouteContext): void {
  getRoute(app, context);
  forgetRoutes(app, context);
}

function getRoute(app: Api, { services, clock }: RouteContext): void {
  app.get(
    '/ns/:namespace/memories/:id',
    {
      schema: {
        operationId: 'getNamespaceMemory',
        summary: 'Get a memory of a namespace',
        description:
          'Any version, forgotten or not. `include` adds what stands beside it, at most three versions away, and where it comes from.',
        tags,
        params: memoryParams,
        querystring: memoryQuery,
        response: { 200: memoryAnswer },
      },
    },
    async (request) => {
      const { namespace, id } = request.params;
      readScope(callerOf(request), [namespace]);
      const { include = [], relatedLimit = 10 } = request.query;
      const wanted = { related: include.includes('related'), documents: include.includes('documents') };
      const found = await services.memories.find(namespace, id, wanted.related ? relatedLimit : 0);
      if (!found) throw new MemorydError('not_found', 'Memory not found');
      return {
        ...memoryView(found.memory, clock.now()),
        included: include.length > 0 ? includedOfMemory(found, wanted) : undefined,
      };
    },
  );
}

function forgetRoutes(app: Api, { services }: RouteContext): void {
  app.delete(
    '/ns/:namespace/memories',
    {
      schema: {
        operationId: 'forgetNamespaceMemories',
        summary: 'Forget memories of a namespace',
        description: 'By their ids, each on its own. They stay stored, and leave search and profiles.',
        tags,
        params: namespaceParams,
        body: forgetBody,
        response: { 200: forgetAnswer },
      },
    },
    async (request) => {
      const { namespace } = request.params;
      requireWrite(callerOf(request), namespace);
      const [summaries, ids] = [[], []] as [string[], string[]];
      for (const id of new Set(request.body.ids)) (id.startsWith(aggregatedPrefix) ? summaries : ids).push(id);
      const { forgotten, errors } = await services.memories.forgetEach(namespace, ids);
      const refused = summaries.map((id) => ({ id, error: 'A summary of several memories cannot be forgotten' }));
      return { count: forgotten.length, matches: forgotten, errors: [...errors, ...refused] };
    },
  );

  app.delete(
    '/ns/:namespace/memories/semantic',
    {
      schema: {
        operationId: 'forgetMatchingNamespaceMemories',
        summary: 'Forget memories of a namespace by their meaning',
        description: 'Everything that is about the query, at most 100. With dryRun it only says what that is.',
        tags,
        params: namespaceParams,
        body: forgetMatchingBody,
        response: { 200: forgetAnswer },
      },
    },
    async (request) => {
      const { namespace } = request.params;
      requireWrite(callerOf(request), namespace);
      const { query, dryRun } = request.body;
      const { matched } = await services.memories.forgetMatching({
        ...{ containerTag: namespace, query, dryRun, reason: null },
        ...{ threshold: matchingThreshold, maxForget: matchingLimit },
      });
      return { count: matched.length, matches: matched.map(({ id, memory }) => ({ id, memory })), errors: [] };
    },
  );
}
