import { bucketsOf, type Bucket } from '../store/container-tags.ts';
import type { Queryable } from '../store/database.ts';
import { readSetting } from '../store/settings.ts';
import { standardBucket } from './classify.ts';

/**
 * The buckets of containers: those of the organization and their own, of which the organization's count
 * where both define one; the standard one where there are none.
 */
export async function containerBuckets(
  database: Queryable,
  containerTags: readonly string[],
): Promise<(containerTag: string) => Bucket[]> {
  const settings = await readSetting<{ profileBuckets?: Bucket[] }>(database, 'settings');
  const shared = settings?.profileBuckets ?? [];
  const own = await bucketsOf(database, containerTags);
  return (containerTag) => {
    const others = (own.get(containerTag) ?? []).filter(({ key }) => !shared.some((one) => one.key === key));
    const all = [...shared, ...others];
    return all.length === 0 ? [standardBucket] : all;
  };
}
