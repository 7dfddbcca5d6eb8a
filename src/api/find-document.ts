import { requireWrite, type Caller } from '../account/access.ts';
import { MemorydError } from '../base/errors.ts';
import type { Scope } from '../base/scope.ts';
import type { ApiServices } from './services.ts';

/** By id or customId. Throws `not_found`, also for a document outside of the scope. */
export async function findDocument({ documents }: Pick<ApiServices, 'documents'>, id: string, scope: Scope) {
  const document = await documents.find(id, scope);
  if (!document) throw new MemorydError('not_found', 'Document not found');
  return document;
}

/** Deletes documents that are named by ids or customIds, each on its own; says of the others why they are not. */
export async function removeEach(
  services: Pick<ApiServices, 'documents'>,
  names: readonly string[],
  caller: Caller,
  scope: Scope,
): Promise<{ deleted: number; errors: { id: string; error: string }[] }> {
  const found = new Set<string>();
  const errors: { id: string; error: string }[] = [];
  for (const id of new Set(names)) {
    try {
      const document = await findDocument(services, id, scope);
      requireWrite(caller, document.containerTag);
      found.add(document.id);
    } catch (error) {
      if (!MemorydError.is(error) || error.status >= 500) throw error;
      errors.push({ id, error: error.message });
    }
  }
  return { deleted: found.size === 0 ? 0 : await services.documents.remove([...found]), errors };
}
