import { texts } from './texts.ts';
import type { Changes, Run } from './types.ts';

/** What was changed, in a few words; empty where nothing was. */
export function changesOf({ added, updated, deleted, failed }: Changes): string {
  return [
    added > 0 && texts.home.added(added),
    updated > 0 && texts.home.updated(updated),
    deleted > 0 && texts.home.deleted(deleted),
    failed > 0 && texts.home.failed(failed),
  ]
    .filter(Boolean)
    .join(' · ');
}

/** What a run changed, or a dry run would have. */
export function changesOfRun({ report, itemsAdded, itemsUpdated, itemsDeleted, itemsFailed }: Run): Changes {
  return {
    added: report?.added.count ?? itemsAdded,
    updated: report?.updated.count ?? itemsUpdated,
    deleted: report?.deleted.count ?? itemsDeleted,
    failed: itemsFailed,
  };
}
