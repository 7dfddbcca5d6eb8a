import { readScope, type Caller, requireWrite } from '../account/access.ts';
import { MemorydError } from '../base/errors.ts';
import type { Connection, ConnectionRef, InstalledConnector } from '../connections/connection-types.ts';
import type { Connections } from '../connections/connection-service.ts';
import { requestedTags, type TagFields } from './tags.ts';
import { invalidField } from './validation.ts';
import type { Scope } from '../base/scope.ts';
import type { ApiServices } from './services.ts';

/** Section 19.1 of the API: names that the published clients know, whether or not their connector is installed. */
const knownProviders = [
  'notion',
  'google-drive',
  'onedrive',
  'gmail',
  'github',
  'web-crawler',
  's3',
  'granola',
  'imap',
  'folder',
];

/**
 * Throws `unsupported_operation` for a known provider without connector, `validation_failed` for an unknown name, and
 * `connector_invalid` with the reason for a connector that cannot be used.
 */
export async function requireInstalled(connections: Connections, provider: string): Promise<InstalledConnector> {
  const found = await connections.connector(provider);
  if (found) return found;
  if (!knownProviders.includes(provider)) throw unknownProvider(connections, provider);
  const details = unloadedNote(connections) || undefined;
  throw new MemorydError('unsupported_operation', 'Connector not installed', { details });
}

export function unknownProvider(connections: Connections, provider: string): MemorydError {
  const message = `${provider.slice(0, 40)} is not the name of a connector`;
  return invalidField(['provider'], [message, unloadedNote(connections)].filter(Boolean).join('. '));
}

/** What was asked for may be in one of these. */
function unloadedNote(connections: Connections): string {
  const plugins = connections.unloadedPlugins();
  return plugins.length === 0 ? '' : `Plugins that could not be loaded: ${plugins.join(', ')}`;
}

/** Throws `validation_failed` for a name that is no provider's, installed or not. */
export async function requireKnown(connections: Connections, provider: string): Promise<void> {
  if (!(await isProvider(connections, provider))) throw unknownProvider(connections, provider);
}

/** Whether a word that may be the id of a connection names a provider, installed or not. */
export async function isProvider(connections: Connections, word: string): Promise<boolean> {
  return knownProviders.includes(word) || (await connections.connector(word)) !== null;
}

/** A connection that the caller may see. A foreign one looks like a missing one. */
export async function findConnection(connections: Connections, id: string, caller: Caller): Promise<ConnectionRef> {
  return known(await connections.find(id, readScope(caller, [])));
}

/** All that is shown of a connection. */
export async function getConnection(connections: Connections, id: string, caller: Caller): Promise<Connection> {
  return known(await connections.get(id, readScope(caller, [])));
}

function known<Found>(connection: Found | null): Found {
  if (!connection) throw new MemorydError('not_found', 'Connection not found');
  return connection;
}

/** The connections of a provider in the containers that the body names, newest first; `not_found` for none. */
export async function matchingConnections(
  connections: Connections,
  provider: string,
  request: { caller: Caller; tags: TagFields },
): Promise<[Connection, ...Connection[]]> {
  await requireInstalled(connections, provider);
  const scope = readScope(request.caller, requestedTags(request.tags));
  const [newest, ...others] = await connections.list(scope, provider);
  if (!newest) throw new MemorydError('not_found', `No connection found for ${provider}`);
  return [newest, ...others];
}

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
