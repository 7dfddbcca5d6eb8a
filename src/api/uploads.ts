import { tmpdir } from 'node:os';
import type { Readable } from 'node:stream';
import type { FastifyRequest, FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { MemorydError } from '../base/errors.ts';
import { readForms } from './body.ts';
import type { Api } from './request.ts';
import type { ApiConfig } from './services.ts';
import { createUploadSpool } from './upload-spool.ts';
import { compileRouteSchema } from './validation.ts';

/** Bytes allowed for the form's other parts and boundaries, beside the file. */
const formOverheadBytes = 1024 * 1024;
/** Uploads that are taken apart and stored at once; the others wait on disk. */
const uploadsInMemory = 2;

type AnyRequest = FastifyRequest<any, any, any, any, any, any, any>;

export interface Uploads {
  /** Hands the form of a request over when its turn comes. Throws `unsupported_media_type` when there is none. */
  take<Result>(request: AnyRequest, use: (body: Readable, contentType: string) => Promise<Result>): Promise<Result>;
}

/** For a scope of its own: in all of its routes the body is a form. */
export function createUploads(app: Api, config: ApiConfig): Uploads {
  const spool = createUploadSpool({ folder: config.uploadFolder ?? tmpdir(), atOnce: uploadsInMemory });
  readForms(app, spool);
  return {
    async take(request, use) {
      const { upload } = request;
      const contentType = request.headers['content-type'];
      if (!upload || contentType === undefined) {
        throw new MemorydError('unsupported_media_type', 'Send the body as multipart/form-data');
      }
      return spool.inTurn(() => use(upload.read(), contentType));
    },
  };
}

/** The schema of the body describes the form; `readForm` checks it, because the body is bytes. */
const compileAroundForm: FastifySchemaCompiler<TSchema> = (part) =>
  part.httpPart === 'body' ? (value: unknown) => ({ value }) : compileRouteSchema(part);

/** Options shared by routes that take a form. */
export function formRoute({ limits }: ApiConfig) {
  return {
    config: { sensitive: true, replay: true },
    bodyLimit: limits.maxFileBytes + formOverheadBytes,
    validatorCompiler: compileAroundForm,
  };
}
