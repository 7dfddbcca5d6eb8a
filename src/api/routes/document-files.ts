import Type from 'typebox';
import { readScope } from '../../account/access.ts';
import { MemorydError } from '../../base/errors.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { findDocument } from '../find-document.ts';
import { fileParams, fileQuery, fileUrlAnswer } from '../schemas/document-changes.ts';
import { documentParams } from '../schemas/documents.ts';

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
