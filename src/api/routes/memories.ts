import { readScope, requireWrite, addedBy } from '../../account/access.ts';
import { MemorydError } from '../../base/errors.ts';
import { storableText } from '../../base/storable.ts';
import { topicOf, type MemoryChange, type MemoryChoice, type TemporalContext } from '../../memory/memories.ts';
import { readDigits } from '../body.ts';
import { callerOf, type Api, type RouteContext, readPluralTag, requestedTags } from '../request.ts';
import { parseFilters } from '../filters.ts';
import { paginationOf, memoryEntryView, writtenMemoryView } from '../views.ts';
import * as schemas from '../schemas/memories.ts';
import { invalidField, momentOf, pastTime } from '../validation.ts';

const tags = ['Memories'];

/** Section 16 of the API. */
export function memoryRoutes(app: Api, context: RouteContext): void {
  createRoute(app, context);
  listRoute(app, context);
  updateRoute(app, context);
  forgetRoutes(app, context);
}

function createRoute(app: Api, { services, clock, config }: RouteContext): void {
  app.post(
    '/v4/memories',
    {
      config: { replay: true },
      preValidation: readPluralTag(config),
      schema: {
        operationId: 'createMemories',
        summary: 'Write memories directly',
        description: 'They can be found when the answer arrives. An exact duplicate answers the memory that is there.',
        tags,
        body: schemas.createBody,
        response: { 201: schemas.createAnswer },
      },
    },
    async (request, reply) => {
      const { containerTag, memories, entityContext } = request.body;
      const caller = callerOf(request);
      requireWrite(caller, containerTag);
      const inputs = memories.map((memory, place) => newMemory(memory, ['memories', place], clock.now()));
      const created = await services.memories.create(containerTag, inputs, {
        entityContext,
        ...addedBy(caller),
      });
      return reply.code(201).send({
        documentId: created.documentId,
        memories: created.memories.map((one) => ({ ...writtenMemoryView(one), isStatic: one.isStatic })),
      });
    },
  );
}

function newMemory(memory: schemas.CreateBody['memories'][number], path: (string | number)[], now: Date) {
  const forgetAfter = timeOf(memory.forgetAfter ?? null, [...path, 'forgetAfter']);
  if (forgetAfter && forgetAfter <= now)
    throw invalidField([...path, 'forgetAfter'], 'forgetAfter must be in the future');
  return {
    content: storableText(memory.content),
    isStatic: memory.isStatic ?? false,
    metadata: memory.metadata ?? null,
    temporalContext: memory.temporalContext
      ? temporalContextOf(memory.temporalContext, [...path, 'temporalContext'])
      : null,
    forgetAfter,
    forgetReason: forgetAfter === null ? null : (memory.forgetReason ?? null),
  };
}

function timeOf(text: string | null, path: (string | number)[]): Date | null {
  const time = text === null ? null : momentOf(text);
  if (text !== null && time === null) throw invalidField(path, 'forgetAfter must be a time that exists');
  return time;
}

function temporalContextOf(input: TemporalContext, path: (string | number)[]): TemporalContext {
  const { documentDate, eventDate } = input;
  if (typeof documentDate === 'string' && !isDate(documentDate)) {
    throw invalidField([...path, 'documentDate'], 'documentDate must be an ISO date');
  }
  const wrong = eventDate?.findIndex((date) => !isDate(date)) ?? -1;
  if (wrong !== -1) throw invalidField([...path, 'eventDate', wrong], 'eventDate must hold ISO dates');
  return {
    ...(documentDate !== undefined && { documentDate: documentDate && momentOf(documentDate)!.toISOString() }),
    ...(eventDate !== undefined && { eventDate }),
  };
}

function isDate(text: string): boolean {
  return /^\d{4}(?:-\d{2}){0,2}/.test(text) && momentOf(text) !== null;
}

function listRoute(app: Api, { services, config }: RouteContext): void {
  app.post(
    '/v4/memories/list',
    {
      preValidation: readDigits('page', 'limit'),
      schema: {
        operationId: 'listMemories',
        summary: 'List memories',
        description: 'The latest version of each, with the earlier ones.',
        tags,
        body: schemas.listBody,
        response: { 200: schemas.listAnswer },
      },
    },
    async (request) => {
      const { page = 1, limit = 10, sort = 'createdAt', order = 'desc', includeForgotten = false } = request.body;
      const requested = requestedTags(request.body);
      if (requested.length === 0)
        throw invalidField(['containerTags'], 'containerTags must name at least one container');
      const { containerTags } = readScope(callerOf(request), requested);
      const filters = parseFilters(request.body.filters);
      const { memories, total } = await services.memories.list({
        ...{ containerTags: containerTags ?? requested, page, limit, sort, order, includeForgotten },
        filters,
        ...pastTime(request.body.asOf),
      });
      return {
        memoryEntries: memories.map((entry) => memoryEntryView(entry, config.organization.id)),
        pagination: paginationOf({ page, limit, total }),
      };
    },
  );
}

function updateRoute(app: Api, { services, config }: RouteContext): void {
  app.patch(
    '/v4/memories',
    {
      preValidation: readPluralTag(config),
      schema: {
        operationId: 'updateMemory',
        summary: 'Write a new version of a memory',
        tags,
        body: schemas.updateBody,
        response: { 200: schemas.updateAnswer },
      },
    },
    async (request) => {
      requireWrite(callerOf(request), request.body.containerTag);
      const memory = await services.memories.update(choiceOf(request.body), changeOf(request.body));
      const { version, parentMemoryId, rootMemoryId } = memory;
      return { ...writtenMemoryView(memory), version, parentMemoryId, rootMemoryId };
    },
  );
}

function changeOf(body: schemas.UpdateBody): MemoryChange {
  const { newContent, metadata, forgetAfter, forgetReason, temporalContext } = body;
  return {
    newContent: storableText(newContent),
    metadata,
    forgetAfter: forgetAfter !== undefined ? timeOf(forgetAfter, ['forgetAfter']) : undefined,
    forgetReason,
    temporalContext: temporalContext ? temporalContextOf(temporalContext, ['temporalContext']) : undefined,
  };
}

function choiceOf({
  containerTag,
  id,
  content,
}: {
  containerTag: string;
  id?: string;
  content?: string;
}): MemoryChoice {
  if (id !== undefined) return { containerTag, id: storableText(id) };
  if (content !== undefined) return { containerTag, content: storableText(content) };
  throw new MemorydError('invalid_request', 'Either id or content is required');
}

function forgetRoutes(app: Api, { services, config }: RouteContext): void {
  app.delete(
    '/v4/memories',
    {
      preValidation: readPluralTag(config),
      schema: {
        operationId: 'forgetMemory',
        summary: 'Forget a memory',
        description: 'It stays stored, and leaves search and profiles.',
        tags,
        body: schemas.forgetBody,
        response: { 200: schemas.forgetAnswer },
      },
    },
    async (request) => {
      requireWrite(callerOf(request), request.body.containerTag);
      const id = await services.memories.forget(choiceOf(request.body), request.body.reason ?? null);
      return { id, forgotten: true as const };
    },
  );

  app.post(
    '/v4/memories/forget-matching',
    {
      config: { replay: true },
      preValidation: readPluralTag(config),
      schema: {
        operationId: 'forgetMatchingMemories',
        summary: 'Forget memories by their meaning',
        description: 'Everything whose similarity to the topic reaches the threshold, or the given ids.',
        tags,
        body: schemas.matchingBody,
        response: { 200: schemas.matchingAnswer },
      },
    },
    async (request) => {
      requireWrite(callerOf(request), request.body.containerTag);
      const matching = matchingOf(request.body);
      const { forgetBatchId, matched } = await services.memories.forgetMatching(matching);
      const { dryRun } = matching;
      return {
        ...{ dryRun, forgetBatchId, count: matched.length, summary: summaryOf(dryRun, matched.length, matching.query) },
        ...(dryRun ? { candidates: matched } : { forgotten: matched }),
      };
    },
  );
}

function matchingOf(body: schemas.MatchingBody) {
  const {
    containerTag,
    query,
    ids,
    dryRun = false,
    threshold = schemas.matchingThreshold,
    maxForget = schemas.matchingLimit,
    reason = null,
  } = body;
  if ((query === undefined) === (ids === undefined)) {
    throw new MemorydError('invalid_request', 'Exactly one of query and ids is required');
  }
  return {
    ...{ containerTag, dryRun, threshold, maxForget, reason },
    query,
    ids: ids?.map((id) => storableText(id)),
  };
}

function summaryOf(dryRun: boolean, count: number, query: string | undefined): string {
  const what = `${count} ${count === 1 ? 'memory' : 'memories'}`;
  const about = query === undefined ? '' : ` about "${topicOf(query)}"`;
  return `${dryRun ? 'Would forget' : 'Forgot'} ${what}${about}.`;
}
