import { createActivity } from './account/activity.ts';
import { createAudit } from './account/audit.ts';
import { createContainerTags } from './account/container-tags.ts';
import { createErasures } from './account/erasures.ts';
import { createInferredMemories } from './account/inferred-memories.ts';
import { createMerges } from './account/merges.ts';
import type { Organization } from './account/organization.ts';
import { createReset } from './account/reset.ts';
import { createSettings, type SettingsOptions } from './account/settings.ts';
import type { Clock } from './base/clock.ts';
import type { Logger } from './base/log.ts';
import { everyContainer, type Scope } from './base/scope.ts';
import type { Connections } from './connections/connection-service.ts';
import { createConversations } from './engine/conversations.ts';
import { createDocumentFiles } from './engine/document-files.ts';
import { createDocuments } from './engine/document-service.ts';
import { requireWritable } from './engine/add-documents.ts';
import { terms } from './engine/terms.ts';
import { createMemories } from './memory/memories.ts';
import { createProfiles } from './memory/profiles.ts';
import type { Embedder } from './models/embedder.ts';
import type { Answering } from './models/language-model.ts';
import { withAggregation } from './search/aggregate.ts';
import { createSearch } from './search/create-search.ts';
import { createResidentTexts } from './search/resident/resident-texts.ts';
import type { Database } from './store/database.ts';
import type { Search } from './search/search.ts';

export interface ContentServicesOptions {
  database: Database;
  embedder: Embedder;
  /** Null: no language model is configured. */
  answering: Answering | null;
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

/** Services for documents and memories, their containers, and the settings for all of them. */
export function createContentServices(options: ContentServicesOptions) {
  const { database, embedder, clock, connections } = options;

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
  const found = createSearch({ ...options, residentTexts: createResidentTexts(options) });
  const search = options.answering ? withAggregation(found, options.answering, clock) : found;
  return {
    search,
    explainSearch: found.explain,
    activity: createActivity({ database, clock }),
    audit: createAudit({ database, clock, log: options.log }),
    memories: createMemories({
      database,
      embedder,
      index: terms,
      clock,
      requireWritable,
      search: searchMemories(search),
    }),
    profiles: createProfiles({ database, clock }),
    documents: createDocuments(options),
    conversations: createConversations(options),
    files: createDocumentFiles({ database, clock }),
    containerTags,
    merges: createMerges(options),
    erasures: createErasures({ ...options, containerTags }),
    inferredMemories: createInferredMemories({ database, clock }),
    settings,
    reset,
  };
}

/** The search that memories are chosen by: in one container, with nothing but their texts. Passages are none. */
function searchMemories(search: Search) {
  return async (request: { containerTag: string; q: string; threshold: number; limit: number }) => {
    const { containerTag, ...rest } = request;
    const found = await search.search({ ...rest, mode: 'memories only', scope: { containerTags: [containerTag] } });
    return found.map(({ id, text, similarity }) => ({ id, memory: text, score: similarity }));
  };
}
