import Type from 'typebox';
import { pagination } from '../../api/schemas/shared.ts';
import { containerToRead } from '../container.ts';
import { pageOf, paginationOf } from '../pages.ts';
import { documentFields, inContainer, inPage } from '../schemas.ts';
import { joined, section } from '../text.ts';
import { defineTool } from '../tool.ts';

export const listDocuments = defineTool(
  {
    name: 'listDocuments',
    title: 'List documents',
    description: 'One page of the documents of a space, newest first. getDocument shows the content of one.',
    effect: 'reads',
    input: Type.Object({ ...inPage, ...inContainer }),
    output: Type.Object({ documents: Type.Array(Type.Object(documentFields)), pagination }),
  },
  async (input, call) => {
    const page = pageOf(input);
    const scope = { containerTags: [containerToRead(call, input.containerTag)] };
    const found = await call.services.documents.list({ ...page, scope, sort: 'createdAt', order: 'desc' });
    const documents = found.documents.map(({ id, title, type, status, summary, createdAt, updatedAt }) => ({
      ...{ id, title, type, status, summary },
      createdAt: createdAt.toISOString(),
      updatedAt: updatedAt.toISOString(),
    }));
    const lines = documents.map(({ id, title, status }) => `${title ?? 'Untitled'} (${status}, id ${id})`);
    return {
      text: joined(
        section(`Documents, page ${page.page} of ${found.total} in all`, lines),
        'There are no documents here.',
      ),
      structured: { documents, pagination: paginationOf(page, found.total) },
    };
  },
);
