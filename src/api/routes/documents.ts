import Type from 'typebox';
import { readScope, requireSomeWrite, requireWrite, addedBy } from '../../account/access.ts';
import { firstOf } from '../../base/collections.ts';
import { MemorydError } from '../../base/errors.ts';
import type { DocumentStatus, DocumentListQuery, DocumentSelectionQuery } from '../../engine/document.ts';
import { addInOrder, batchResults, readBatch } from '../batch.ts';
import { readDigits } from '../body.ts';
import { documentInputOf, fileInputOf } from '../document-input.ts';
import { readFileForm } from '../file-form.ts';
import { parseFilters } from '../filters.ts';
import { containersOfWrite, listedTags, findDocument, callerOf, type Api, type RouteContext } from '../request.ts';
import { fileParams, fileQuery, fileUrlAnswer } from '../schemas/document-changes.ts';
import * as schemas from '../schemas/documents.ts';
import { documentParams, addAnswer } from '../schemas/documents.ts';
import { fileForm } from '../schemas/files.ts';
import { formRoute, type Uploads } from '../uploads.ts';
import { noteWithoutV5 } from '../v5/without-counterpart.ts';
import { chunksView, documentView, listedDocumentView, paginationOf } from '../views.ts';

const tags = ['Documents'];

/** Operations on one document: sections 12.4, 12.8, 12.10 and 12.12 of the API. */
export function documentRoutes(app: Api, context: RouteContext): void {
  readRoutes(app, context);
  changeRoutes(app, context);
}

function readRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/documents/:id',
    {
      schema: {
        operationId: 'getDocument',
        summary: 'Get a document',
        description: 'By id or customId; an id match wins. A customId that stands in several containers is 409.',
        tags,
        params: schemas.documentParams,
        response: { 200: schemas.documentAnswer },
      },
    },
    async (request) => {
      const document = await findDocument(services, request.params.id, readScope(callerOf(request), []));
      const memories = document.hasMemories ? await services.documents.memories(document.id) : [];
      return documentView(document, memories);
    },
  );

  app.delete(
    '/v3/documents/:id',
    {
      config: { audit: 'document.delete' },
      schema: {
        operationId: 'deleteDocument',
        summary: 'Delete a document',
        description: 'For good, with its chunks and the memories that come from nothing else.',
        tags,
        params: schemas.documentParams,
        response: { 204: Type.Null({ description: 'Deleted.' }) },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      requireSomeWrite(caller);
      const document = await findDocument(services, request.params.id, readScope(caller, []));
      requireWrite(caller, document.containerTag);
      if ((await services.documents.remove([document.id])) === 0) {
        throw new MemorydError('not_found', 'Document not found');
      }
      return reply.code(204).send(null);
    },
  );
}

function changeRoutes(app: Api, context: RouteContext): void {
  const { services } = context;
  app.get(
    '/v3/documents/:id/chunks',
    {
      schema: {
        operationId: 'listChunks',
        summary: 'List the chunks of a document',
        tags,
        params: schemas.documentParams,
        response: { 200: schemas.chunksAnswer },
      },
    },
    async (request) => {
      const document = await findDocument(services, request.params.id, readScope(callerOf(request), []));
      return chunksView(document.id, await services.documents.chunks(document.id));
    },
  );

  againRoute(app, context, 'retry', {
    operationId: 'retryDocument',
    summary: 'Process a failed document again',
    description: 'Answers 409 for one that has not failed.',
  });
  againRoute(app, context, 'reindex', {
    operationId: 'reindexDocument',
    summary: 'Index a document anew',
    description:
      'Cuts its content, makes words and vectors of each passage and draws memories again, as for a new document; an address is fetched again. It is found as before until that is done. Answers 409 while it is processed.',
  });
}

interface Described {
  operationId: string;
  summary: string;
  description: string;
}

/** An operation that queues one document. */
function againRoute(app: Api, { services }: RouteContext, name: 'retry' | 'reindex', described: Described): void {
  app.post(
    `/v3/documents/:id/${name}`,
    { schema: { ...described, tags, params: schemas.documentParams, response: { 200: schemas.addAnswer } } },
    async (request) => {
      const caller = callerOf(request);
      requireSomeWrite(caller);
      const document = await findDocument(services, request.params.id, readScope(caller, []));
      requireWrite(caller, document.containerTag);
      const { id, status } = await services.documents[name](document.id);
      return { id, status };
    },
  );
}

/** Sections 12.1 and 12.2 of the API. */
export function addDocumentRoutes(app: Api, { services, config }: RouteContext): void {
  app.post(
    '/v3/documents',
    {
      config: { replay: true },
      schema: {
        operationId: 'addDocument',
        summary: 'Add a document',
        description:
          'Ingests text, a URL or structured content as a string. Answers at once; poll GET /v3/documents/{id} until status is done. A customId that exists replaces that document.',
        tags,
        body: schemas.addBody,
        response: { 200: schemas.addAnswer },
      },
    },
    async (request) => {
      const input = documentInputOf(request.body, config.limits.maxTextBytes);
      const caller = callerOf(request);
      const containers = containersOfWrite(caller, request.body, config);
      const result = firstOf(await services.documents.add([{ ...input, ...containers, ...addedBy(caller) }]));
      return { id: result.id, status: result.status };
    },
  );

  app.post(
    '/v3/documents/batch',
    {
      config: { replay: true },
      bodyLimit: config.limits.maxBatchBodyBytes,
      schema: {
        operationId: 'addDocuments',
        summary: 'Add many documents',
        description:
          'Up to 600 documents. The other fields are defaults for all of them. A bad item fails alone; the answer is 200 even when every item failed.',
        tags,
        body: schemas.batchBody,
        response: { 200: schemas.batchAnswer },
      },
    },
    async (request) => {
      const items = readBatch(request.body, callerOf(request), config);
      const inputs = items.flatMap((item) => ('input' in item ? [item.input] : []));
      const results = batchResults(items, await addInOrder(services.documents, inputs));
      const failed = results.filter((result) => result.status === 'error').length;
      return { results, success: results.length - failed, failed };
    },
  );
}

/** Section 12.11 of the API, and the route that its links lead to. */
export function documentFileRoutes(app: Api, { services, config }: RouteContext): void {
  app.get(
    '/v3/documents/:id/file-url',
    {
      config: { audit: 'document.export' },
      schema: {
        operationId: 'getFileUrl',
        summary: 'Link to the uploaded file of a document',
        tags: ['Documents'],
        params: documentParams,
        response: { 200: fileUrlAnswer },
      },
    },
    async (request) => {
      const document = await findDocument(services, request.params.id, readScope(callerOf(request), []));
      const link = await services.files.link(document.id);
      if (link === null) throw new MemorydError('not_found', 'Document has no file');
      const base = config.publicUrl ?? `${request.protocol}://${request.host}`;
      return { url: `${base.replace(/\/+$/, '')}${link}` };
    },
  );

  app.get(
    '/files/:key',
    {
      config: { public: true, audit: 'document.export' },
      schema: {
        operationId: 'getFile',
        summary: 'The uploaded file of a document',
        description: 'By the link of GET /v3/documents/{id}/file-url; needs no key.',
        tags: ['Documents'],
        security: [],
        params: fileParams,
        querystring: fileQuery,
        response: { 200: Type.Unsafe<Uint8Array>({ type: 'string', format: 'binary' }) },
      },
    },
    async (request, reply) => {
      const { bytes, name, mimeType } = await services.files.open(request.params.key, request.query);
      // What somebody uploaded must not run as a page of this service.
      reply.headers({
        'content-type': contentType(mimeType),
        'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(name ?? request.params.key)}`,
        'x-content-type-options': 'nosniff',
        'content-security-policy': "sandbox; default-src 'none'",
        'cache-control': 'private, no-store',
      });
      return reply.send(Buffer.from(bytes));
    },
  );
}

function contentType(mimeType: string | null): string {
  const isOne = mimeType !== null && /^[\w.+-]+\/[\w.+-]+(; ?charset=[\w-]+)?$/.test(mimeType);
  return isOne ? mimeType : 'application/octet-stream';
}

const processingStatuses: DocumentStatus[] = ['queued', 'extracting', 'chunking', 'embedding', 'indexing'];

/** Sections 12.6 and 12.7 of the API. */
export function documentListRoutes(app: Api, context: RouteContext): void {
  const { services, config } = context;
  processingRoute(app, context);
  app.post(
    '/v3/documents/list',
    {
      preValidation: readDigits('page', 'limit'),
      schema: {
        operationId: 'listDocuments',
        summary: 'List documents',
        description: 'One page of documents, newest first unless asked otherwise. The array is called memories.',
        tags,
        body: schemas.listBody,
        response: { 200: schemas.listAnswer },
      },
    },
    async (request) => {
      const { body } = request;
      const query = { ...listQuery(body), ...listedTags(callerOf(request), body, config) };
      const view = (documents: Parameters<typeof listedDocumentView>[0][]) =>
        documents.map((document) => listedDocumentView(document, query.includeContent ?? false));
      if (body.cursor !== undefined) {
        const { documents, next } = await services.documents.listFrom(query, body.cursor);
        return { memories: view(documents), next };
      }
      const { documents, total } = await services.documents.list(query);
      return { memories: view(documents), pagination: paginationOf({ ...query, total }) };
    },
  );

  app.post(
    '/v3/documents/count',
    {
      schema: {
        operationId: 'countDocuments',
        summary: 'Count documents',
        description:
          'Those that POST /v3/documents/list with the same selection lists on all its pages. More than 20,000 are counted once in five seconds; those that wait are always those of now.',
        tags,
        body: schemas.countBody,
        response: { 200: schemas.countAnswer },
      },
    },
    async (request) => {
      const { body } = request;
      const query = { ...selectionQuery(body), ...listedTags(callerOf(request), body, config) };
      const { total, ...counts } = await services.documents.count(query);
      return { totalItems: total, ...counts };
    },
  );
}

function processingRoute(app: Api, { services, config }: RouteContext): void {
  app.get(
    '/v3/documents/processing',
    {
      schema: {
        operationId: 'listProcessingDocuments',
        summary: 'List documents in processing',
        tags,
        querystring: schemas.processingQuery,
        response: { 200: schemas.processingAnswer },
      },
    },
    async (request) => {
      const { documents, total } = await services.documents.list({
        ...listedTags(callerOf(request), request.query, config),
        statuses: processingStatuses,
        sort: 'createdAt',
        order: 'desc',
        limit: 100,
        page: 1,
      });
      return { documents: documents.map((document) => listedDocumentView(document, false)), totalCount: total };
    },
  );
}

function listQuery(body: schemas.ListBody): Omit<DocumentListQuery, 'scope'> {
  return {
    ...selectionQuery(body),
    sort: body.sort ?? 'createdAt',
    order: body.order ?? 'desc',
    limit: body.limit ?? 10,
    page: body.page ?? 1,
    includeContent: body.includeContent,
  };
}

function selectionQuery(body: schemas.CountBody): Omit<DocumentSelectionQuery, 'scope'> {
  const { filepath, q: text, connectionId, type } = body;
  const filters = parseFilters(body.filters);
  const statuses = body.status === undefined ? undefined : ([body.status].flat() as DocumentStatus[]);
  const sources = [...(body.source === undefined ? [] : [body.source]), ...(body.sources ?? [])];
  return { filters, statuses, sources: sources.length > 0 ? sources : undefined, filepath, text, connectionId, type };
}

/** Section 12.3 of the API. */
export function fileRoutes(app: Api, { services, config }: RouteContext, uploads: Uploads): void {
  app.post(
    '/v3/documents/file',
    {
      ...formRoute(config),
      schema: {
        operationId: 'uploadFile',
        summary: 'Upload a file',
        description: 'Stored before the answer, processed afterwards.',
        tags: ['Documents'],
        consumes: ['multipart/form-data'],
        body: fileForm,
        response: { 200: addAnswer },
      },
    },
    async (request, reply) =>
      uploads.take(request, async (body, contentType) => {
        const form = await readFileForm(body, contentType, config.limits.maxFileBytes);
        noteWithoutV5(request, reply, form.fields);
        const caller = callerOf(request);
        const containers = containersOfWrite(caller, tagFieldsOf(form.fields), config);
        const result = firstOf(
          await services.documents.add([{ ...fileInputOf(form), ...containers, ...addedBy(caller) }]),
        );
        return { id: result.id, status: result.status };
      }),
  );
}

/** `containerTags` comes as one tag or as the JSON text of an array. */
function tagFieldsOf(fields: { containerTag?: string | undefined; containerTags?: string | string[] | undefined }) {
  const { containerTag, containerTags } = fields;
  if (typeof containerTags !== 'string') return { containerTag };
  const isList = containerTags.startsWith('[');
  return { containerTag, containerTags: isList ? parsedTags(containerTags) : [containerTags] };
}

function parsedTags(text: string): string[] {
  try {
    return (JSON.parse(text) as unknown[]).map(String);
  } catch {
    return [];
  }
}
