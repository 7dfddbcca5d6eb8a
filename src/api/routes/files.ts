import { tmpdir } from 'node:os';
import { addedBy } from '../../account/caller.ts';
import { MemorydError } from '../../base/errors.ts';
import { readForms } from '../body.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { fileInputOf } from '../document-input.ts';
import { readFileForm } from '../file-form.ts';
import { addAnswer } from '../schemas/documents.ts';
import { fileForm } from '../schemas/files.ts';
import { createUploadSpool } from '../upload-spool.ts';
import { containersOfWrite } from '../tags.ts';

/** What the other parts of the form and its boundaries may take beyond the file. */
const formOverheadBytes = 1024 * 1024;
/** Uploads that are taken apart and stored at once; the others wait on disk. */
const uploadsInMemory = 2;

/** Section 12.3 of the API. In a scope of its own, because only here the body is a form. */
export function fileRoutes(app: Api, { services, config }: RouteContext): void {
  const spool = createUploadSpool({ folder: config.uploadFolder ?? tmpdir(), atOnce: uploadsInMemory });
  readForms(app, spool);
  app.post(
    '/v3/documents/file',
    {
      config: { sensitive: true, replay: true },
      bodyLimit: config.limits.maxFileBytes + formOverheadBytes,
      // The schema describes the form; `readFileForm` checks it, because the body is bytes.
      validatorCompiler: () => (value: unknown) => ({ value }),
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
    async (request) => {
      const { upload } = request;
      const contentType = request.headers['content-type'];
      if (!upload || contentType === undefined) {
        throw new MemorydError('unsupported_media_type', 'Send the body as multipart/form-data');
      }
      return spool.inTurn(async () => {
        const form = await readFileForm(await upload.read(), contentType, config.limits.maxFileBytes);
        await upload.close();
        const caller = callerOf(request);
        const containers = containersOfWrite(caller, tagFieldsOf(form.fields), config);
        const [result] = await services.documents.add([{ ...fileInputOf(form), ...containers, ...addedBy(caller) }]);
        return { id: result!.id, status: result!.status };
      });
    },
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
