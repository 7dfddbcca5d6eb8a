import { texts } from './texts.ts';
import type { Run } from './types.ts';

/** What a run changed, in a few words; empty where it changed nothing. */
export function changesOf(run: Run): string {
  const { added, updated, deleted, failed } = texts.home;
  return [
    run.itemsAdded > 0 && added(run.itemsAdded),
    run.itemsUpdated > 0 && updated(run.itemsUpdated),
    run.itemsDeleted > 0 && deleted(run.itemsDeleted),
    run.itemsFailed > 0 && failed(run.itemsFailed),
  ]
    .filter(Boolean)
    .join(' · ');
}
