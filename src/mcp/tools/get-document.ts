import Type from 'typebox';
import { readScope } from '../../account/access.ts';
import { documentIdParameter, nullable } from '../../api/schemas/shared.ts';
import { MemorydError } from '../../base/errors.ts';
import { documentFields } from '../schemas.ts';
import { defineTool } from '../tool.ts';

/** Characters that are shown at the most. */
const maxContentLength = 200_000;

export const getDocument = defineTool(
  {
    name: 'getDocument',
    title: 'Get a document',
    description: 'A document with its text.',
    effect: 'reads',
    input: Type.Object({ documentId: documentIdParameter }),
    output: Type.Object({
      document: Type.Object({
        ...documentFields,
        url: nullable(Type.String()),
        content: nullable(Type.String()),
        contentTruncated: Type.Boolean({ description: `It is longer than the ${maxContentLength} characters shown.` }),
      }),
    }),
  },
  async ({ documentId }, { services, caller }) => {
    const found = await services.documents.find(documentId, readScope(caller, []));
    if (!found) throw new MemorydError('not_found', 'Document not found');
    const { id, title, type, status, summary, url, createdAt, updatedAt } = found;
    const content = found.content?.slice(0, maxContentLength).toWellFormed() ?? null;
    return {
      text: `# ${title ?? 'Untitled'}\n\n${content ?? `It has no text yet (${status}).`}`,
      structured: {
        document: {
          ...{ id, title, type, status, summary, url, content },
          createdAt: createdAt.toISOString(),
          updatedAt: updatedAt.toISOString(),
          contentTruncated: (found.content?.length ?? 0) > maxContentLength,
        },
      },
    };
  },
);
