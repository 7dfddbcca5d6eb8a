import { firstOf } from '../../base/collections.ts';
import { addedBy } from '../../account/access.ts';
import { callerOf, type Api, type RouteContext, containersOfWrite } from '../request.ts';
import { fileInputOf } from '../document-input.ts';
import { readFileForm } from '../file-form.ts';
import { addAnswer } from '../schemas/documents.ts';
import { fileForm } from '../schemas/files.ts';
import { formRoute, type Uploads } from '../uploads.ts';
import { noteWithoutV5 } from '../v5/without-counterpart.ts';

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
