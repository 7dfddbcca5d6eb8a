import { createContainerTags } from './account/container-tags.ts';
import { createInferredMemories } from './account/inferred-memories.ts';
import { createMerges } from './account/merges.ts';
import type { Organization } from './account/organization.ts';
import { createReset } from './account/reset.ts';
import { createSettings, type SettingsOptions } from './account/settings.ts';
import type { Clock } from './base/clock.ts';
import type { Logger } from './base/log.ts';
import { everyContainer, type Scope } from './base/scope.ts';
import type { Connections } from './connect/connections.ts';
import { createConversations } from './engine/conversations.ts';
import { createDocumentFiles } from './engine/document-files.ts';
import { createDocuments } from './engine/document-service.ts';
import type { Database } from './store/database.ts';

export interface ContentServicesOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  organization: Organization;
  defaultContainerTag: string;
  connections: Pick<Connections, 'list' | 'remove'>;
  /** OAuth clients of the settings. */
  clients: SettingsOptions['clients'];
  /** Called after documents were queued, to wake workers. */
  wake(count: number): Promise<void>;
}

/** What is done with documents, their containers, and the settings for both. */
export function createContentServices(options: ContentServicesOptions) {
  const { database, clock, connections } = options;

  /** Their documents are deleted with all the others. */
  async function removeConnections(scope: Scope): Promise<number> {
    const found = await connections.list(scope);
    for (const { id } of found) await connections.remove(id, { deleteDocuments: false });
    return found.length;
  }

  const settings = createSettings(options);
  const containerTags = createContainerTags({
    ...options,
    removeConnections: (tag) => removeConnections({ containerTags: [tag] }),
  });
  const reset = createReset({
    ...options,
    containerTags,
    settings,
    removeConnections: () => removeConnections(everyContainer),
  });
  return {
    documents: createDocuments(options),
    conversations: createConversations(options),
    files: createDocumentFiles({ database, clock }),
    containerTags,
    merges: createMerges(options),
    inferredMemories: createInferredMemories({ database, clock }),
    settings,
    reset,
  };
}
