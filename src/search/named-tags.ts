import type { Database } from '../store/database.ts';
import { containersNaming } from '../store/search/naming-containers.ts';
import type { SearchRequest } from './search.ts';

/**
 * The containers that named tags lead to, within the scope. Where no other container's documents name
 * them, the search is one of these containers and looks at no document.
 */
export async function resolveNamedTags(request: SearchRequest, database: Database): Promise<SearchRequest> {
  const { namedTags, ...rest } = request;
  if (namedTags === undefined) return request;
  const others = (await containersNaming(database, namedTags)).filter((tag) => !namedTags.includes(tag));
  const allowed = request.scope.containerTags;
  const containerTags = [...new Set([...namedTags, ...others])].filter((tag) => allowed?.includes(tag) ?? true);
  return others.length === 0 ? { ...rest, scope: { containerTags } } : { ...request, scope: { containerTags } };
}
