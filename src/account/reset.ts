import { MemorydError } from '../base/errors.ts';
import { allContainerTags } from '../store/container-tags.ts';
import type { Database } from '../store/database.ts';
import type { ContainerTags } from './container-tags.ts';
import type { Organization } from './organization.ts';
import type { Settings } from './settings.ts';

export interface ResetReport {
  connections: number;
  documents: number;
  documentBatches: number;
  memories: number;
  /** Containers that are gone. */
  containers: number;
  /** The default container had been used. */
  clearedDefault: boolean;
}

export interface ResetOptions {
  database: Database;
  organization: Organization;
  containerTags: Pick<ContainerTags, 'remove'>;
  settings: Pick<Settings, 'clear'>;
  defaultContainerTag: string;
  /** Ends all connections; their documents stay. */
  removeConnections(): Promise<number>;
}

const batchSize = 500;

/**
 * Deletes all content and settings; the organization and its keys stay. Throws `invalid_request`
 * unless the confirmation is the organization's slug or name.
 */
export function createReset(options: ResetOptions): (confirmation: string) => Promise<ResetReport> {
  const { database, organization, containerTags, settings, defaultContainerTag } = options;
  return async function reset(confirmation) {
    if (confirmation !== organization.slug && confirmation !== organization.name) {
      throw new MemorydError('invalid_request', 'confirmation must be the slug or the name of the organization');
    }
    const report: ResetReport = {
      connections: await options.removeConnections(),
      documents: 0,
      documentBatches: 0,
      memories: 0,
      containers: 0,
      clearedDefault: false,
    };
    for (const tag of await allContainerTags(database)) {
      const removed = await containerTags.remove(tag);
      if (!removed) continue;
      report.documents += removed.documents;
      report.documentBatches += Math.ceil(removed.documents / batchSize);
      report.memories += removed.memories;
      if (tag === defaultContainerTag) report.clearedDefault = true;
      else report.containers += 1;
    }
    await settings.clear();
    return report;
  };
}
