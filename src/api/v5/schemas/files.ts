import Type, { type Static } from 'typebox';
import { words } from '../../schemas/shared.ts';
import { closedBody, documentFields, processing } from './shared.ts';

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
export const fileParts = closedBody({ ...documentFields, ...processing, ...kind });
export type FileParts = Static<typeof fileParts>;

/** Older clients put these into the query; the form goes first. */
export const fileQuery = Type.Object({ ...processing, ...kind });

const file = Type.Unsafe<unknown>({ type: 'string', format: 'binary', description: 'At most 50 MiB.' });

/** The forms as the description of the API shows them. `metadata` and `group` are JSON texts. */
export const fileForm = Type.Object({ file, ...fileParts.properties });
export const fileChangeForm = Type.Object({ file: Type.Optional(file), ...fileParts.properties });
