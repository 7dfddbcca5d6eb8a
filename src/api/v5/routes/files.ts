import Type, { type Static } from 'typebox';
import type { FastifyRequest } from 'fastify';
import { words } from '../../schemas/shared.ts';
import { firstOf } from '../../../base/collections.ts';
import { requireWrite, addedBy } from '../../../account/access.ts';
import { MemorydError } from '../../../base/errors.ts';
import { callerOf, type Api, type RouteContext, findDocument } from '../../request.ts';
import { fileContentOf } from '../../document-input.ts';
import { readForm, requireFile, type FormParts, type UploadedFile } from '../../file-form.ts';
import { addAnswer } from '../../schemas/documents.ts';
import { formRoute, type Uploads } from '../../uploads.ts';
import { createCheck } from '../../validation.ts';
import { fieldsOf } from '../document-input.ts';
import { closedBody, documentFields, namespaceDocumentParams, namespaceParams, processing } from '../schemas/shared.ts';

const kind = {
  fileType: Type.Optional(
    words(['text', 'pdf', 'image', 'video', 'audio'], {
      description: 'The MIME type, when the content of the file should not decide.',
    }),
  ),
  mimeType: Type.Optional(
    Type.String({
      maxLength: 255,
      pattern: '^[^\\s/]+/[^\\s/]+$',
      'x-expected': 'a media type such as text/markdown',
    }),
  ),
};

/** The parts of a form besides the file, once those that hold JSON are parsed. */
const fileParts = closedBody({ ...documentFields, ...processing, ...kind });
type FileParts = Static<typeof fileParts>;

/** Older clients put these into the query; the form goes first. */
const fileQuery = Type.Object({ ...processing, ...kind });

const file = Type.Unsafe<unknown>({ type: 'string', format: 'binary', description: 'At most 50 MiB.' });

/** The forms as the description of the API shows them. `metadata` and `group` are JSON texts. */
const fileForm = Type.Object({ file, ...fileParts.properties });
const fileChangeForm = Type.Object({ file: Type.Optional(file), ...fileParts.properties });

const form = { tags: ['Namespaces'], consumes: ['multipart/form-data'] };
const parts: FormParts = { check: createCheck(fileParts), json: ['metadata', 'group'] };

type FormRequest = FastifyRequest<any, any, any, any, any, any, any>;

export function namespaceFileRoutes(app: Api, context: RouteContext, uploads: Uploads): void {
  uploadRoute(app, context, uploads);
  changeRoutes(app, context, uploads);
}

function uploadRoute(app: Api, { services, config }: RouteContext, uploads: Uploads): void {
  app.post(
    '/ns/:namespace/document/file',
    {
      ...formRoute(config),
      schema: {
        operationId: 'uploadNamespaceFile',
        summary: 'Upload a file to a namespace',
        description: 'Stored before the answer, processed afterwards. metadata and group are JSON texts.',
        ...form,
        params: namespaceParams,
        querystring: fileQuery,
        body: fileForm,
        response: { 200: addAnswer },
      },
    },
    async (request) => {
      const { namespace } = request.params;
      const caller = callerOf(request);
      requireWrite(caller, namespace);
      return uploads.take(request, async (body, contentType) => {
        const { file, fields } = await readForm(body, contentType, { maxFileBytes: config.limits.maxFileBytes, parts });
        const said = { ...request.query, ...fields } as FileParts;
        const content = fileContentOf(requireFile(file), said);
        const input = { ...content, ...fieldsOf(said), source: 'file', containerTag: namespace, ...addedBy(caller) };
        const result = firstOf(await services.documents.add([input]));
        return { id: result.id, status: result.status };
      });
    },
  );
}

function changeRoutes(app: Api, context: RouteContext, uploads: Uploads): void {
  const { config } = context;
  app.post(
    '/ns/:namespace/document/file/:id',
    {
      ...formRoute(config),
      config: { sensitive: true },
      schema: {
        operationId: 'replaceNamespaceDocumentByFile',
        summary: 'Replace a document of a namespace by a file',
        description: 'With its metadata, group, context and date: what is left out is taken away.',
        ...form,
        params: namespaceDocumentParams,
        querystring: fileQuery,
        body: fileForm,
        response: { 200: addAnswer },
      },
    },
    async (request) =>
      change(context, uploads, request, ({ file, said }) => ({
        ...fileContentOf(requireFile(file), said),
        ...fieldsOf(said),
        clearsFields: true,
      })),
  );

  app.patch(
    '/ns/:namespace/document/file/:id',
    {
      ...formRoute(config),
      config: { sensitive: true },
      schema: {
        operationId: 'updateNamespaceFile',
        summary: 'Change the file of a document of a namespace, or what is said of it',
        description: 'Every part is optional, and what is left out stays. Metadata is merged key by key.',
        ...form,
        params: namespaceDocumentParams,
        querystring: fileQuery,
        body: fileChangeForm,
        response: { 200: addAnswer },
      },
    },
    async (request) =>
      change(context, uploads, request, ({ file, said, isEmpty }) => {
        if (isEmpty) throw new MemorydError('invalid_request', 'Send a file, or fields that describe it');
        return { ...(file && fileContentOf(file, said)), ...fieldsOf(said) };
      }),
  );
}

interface SentForm {
  file: UploadedFile | null;
  said: FileParts;
  /** Nothing is in it. */
  isEmpty: boolean;
}

async function change(
  { services, config }: RouteContext,
  uploads: Uploads,
  request: FormRequest,
  changeOf: (sent: SentForm) => Parameters<RouteContext['services']['documents']['change']>[1],
) {
  const caller = callerOf(request);
  const { namespace, id } = request.params as { namespace: string; id: string };
  requireWrite(caller, namespace);
  return uploads.take(request, async (body, contentType) => {
    const { file, fields } = await readForm(body, contentType, { maxFileBytes: config.limits.maxFileBytes, parts });
    const said = { ...(request.query as object), ...fields } as FileParts;
    const wanted = changeOf({ file, said, isEmpty: file === null && Object.keys(fields).length === 0 });
    const document = await findDocument(services, id, { containerTags: [namespace] });
    const after = await services.documents.change(document.id, { ...wanted, ...(wanted.body && addedBy(caller)) });
    return { id: after.id, status: after.status };
  });
}
