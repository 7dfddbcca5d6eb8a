import { formatNumber } from './format.ts';
import { texts } from './texts.ts';
import type { Changes, Run } from './types.ts';

/** What was changed, in a few words; empty where nothing was. The first of them says of what the source consists. */
export function changesOf({ added, updated, deleted, failed }: Changes, provider = ''): string {
  const { things } = texts;
  const countOf = Object.hasOwn(things, provider) ? things[provider]! : texts.itemsCount;
  const { home } = texts;
  return [
    { count: added, says: home.added },
    { count: updated, says: home.updated },
    { count: deleted, says: home.deleted },
    { count: failed, says: home.failed },
  ]
    .filter(({ count }) => count > 0)
    .map(({ count, says }, index) => says(index === 0 ? countOf(count) : formatNumber(count)))
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
