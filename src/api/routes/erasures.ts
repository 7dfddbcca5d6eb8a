import Type from 'typebox';
import { nullable, timestamp, words } from '../schemas/shared.ts';
import { requireFullKey, requireManagement } from '../../account/access.ts';
import type { Erasure, ErasureInput } from '../../account/erasures.ts';
import { MemorydError } from '../../base/errors.ts';
import { callerOf, type Api, type RouteContext } from '../request.ts';

const erasureBody = Type.Object(
  {
    documents: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 1_000 }), {
        minItems: 1,
        maxItems: 1_000,
        description: 'Documents by id or customId, also those that a mirror has removed.',
      }),
    ),
    containerTag: Type.Optional(
      Type.String({ minLength: 1, maxLength: 100, description: 'A container with everything in it.' }),
    ),
    deleted: Type.Optional(
      Type.Literal(true, { description: 'All that was deleted and forgotten so far, in all containers.' }),
    ),
    rewrite: Type.Optional(
      Type.Boolean({
        description:
          'Default true. False: only the rows go, for operators who rewrite the files of tables themselves, e.g. with pg_repack.',
      }),
    ),
  },
  { additionalProperties: false },
);

const erasureParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 100 }) });

const erasureAnswer = Type.Object({
  id: Type.String(),
  status: words(['removing', 'rewriting', 'completed'], {
    description: 'rewriting: the rows are gone, and the files of the database are being written anew without them.',
  }),
  documents: Type.Integer({ description: 'Documents that are gone.' }),
  memories: Type.Integer({ description: 'Memories that are gone.' }),
  problem: nullable(Type.String(), { description: 'Why the last attempt came to no end. It is tried again.' }),
  left: Type.Array(Type.String(), { description: 'Where the text may still be that memoryd cannot reach.' }),
  createdAt: timestamp,
  finishedAt: nullable(timestamp),
});

const tags = ['Erasures'];

/** Deleting takes content out of what can be found; erasing takes it out of the files of the database, too. */
export function erasureRoutes(app: Api, { services }: RouteContext): void {
  app.post(
    '/v3/erasures',
    {
      config: { audit: 'erasure' },
      schema: {
        operationId: 'erase',
        summary: 'Erase content for good',
        description:
          'Of documents, of a container, or of all that was deleted and forgotten so far. The rows are gone at the answer, with their versions, copies and terms; then the files of the database are rewritten. Needs a full key that may write.',
        tags,
        body: erasureBody,
        response: { 202: erasureAnswer },
      },
    },
    async (request, reply) => {
      requireManagement(callerOf(request));
      const erasure = await services.erasures.start(inputOf(request.body), { rewrite: request.body.rewrite ?? true });
      request.auditTarget = erasure.id;
      return reply.code(202).send(viewOf(erasure));
    },
  );

  app.get(
    '/v3/erasures/:id',
    {
      schema: {
        operationId: 'getErasure',
        summary: 'How far an erasure is',
        description: 'Kept for 90 days. Needs a full key.',
        tags,
        params: erasureParams,
        response: { 200: erasureAnswer },
      },
    },
    async (request) => {
      requireFullKey(callerOf(request));
      const erasure = await services.erasures.find(request.params.id);
      if (!erasure) throw new MemorydError('not_found', 'Erasure not found');
      return viewOf(erasure);
    },
  );
}

function inputOf(body: { documents?: string[]; containerTag?: string; deleted?: true }): ErasureInput {
  const { documents, containerTag, deleted } = body;
  if ([documents, containerTag, deleted].filter((one) => one !== undefined).length === 1) {
    if (documents) return { documents };
    if (containerTag !== undefined) return { containerTag };
    return { deleted: true };
  }
  throw new MemorydError('invalid_request', 'Provide one of documents, containerTag and deleted');
}

function viewOf({ id, status, documents, memories, problem, left, createdAt, finishedAt }: Erasure) {
  return { id, status, documents, memories, problem, left, createdAt, finishedAt };
}
