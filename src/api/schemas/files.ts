import Type, { type Static } from 'typebox';
import { addBody } from './documents.ts';
import { words } from './shared.ts';

/** Section 12.3 of the API. */

const { content: _content, updateMode: _updateMode, containerTags: _containerTags, ...fields } = addBody.properties;

/** The parts of the form besides the file, once those that hold JSON are parsed. */
const fileParts = Type.Object({
  ...fields,
  containerTags: Type.Optional(
    Type.Unsafe<string[] | string>({ deprecated: true, description: 'Use containerTag. Ignored next to it.' }),
  ),
  fileType: Type.Optional(
    words(
      [
        'text',
        'pdf',
        'tweet',
        'google_doc',
        'google_slide',
        'google_sheet',
        'image',
        'video',
        'audio',
        'notion_doc',
        'webpage',
        'onedrive',
      ],
      { description: 'The MIME type, when the content of the file should not decide.' },
    ),
  ),
  mimeType: Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'Required when fileType is image or video.' }),
  ),
  useAdvancedProcessing: Type.Optional(
    Type.String({ description: 'Taken for the sake of older clients; without effect.' }),
  ),
});
export type FileFields = Static<typeof fileParts>;

/** Closed: a part that nobody knows would be answered as if it had counted. */
export const fileFields = Type.Object(fileParts.properties, { additionalProperties: false });

/** The form as the description of the API shows it. */
export const fileForm = Type.Object({
  file: Type.Unsafe<unknown>({ type: 'string', format: 'binary', description: 'At most 50 MiB.' }),
  ...fileParts.properties,
});
