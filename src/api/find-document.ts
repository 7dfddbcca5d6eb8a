import { MemorydError } from '../base/errors.ts';
import type { Scope } from '../base/scope.ts';
import type { ApiServices } from './services.ts';

/** By id or customId. Throws `not_found`, also for a document outside of the scope. */
export async function findDocument({ documents }: Pick<ApiServices, 'documents'>, id: string, scope: Scope) {
  const document = await documents.find(id, scope);
  if (!document) throw new MemorydError('not_found', 'Document not found');
  return document;
}
