import { bucketsOf, type Bucket } from '../store/container-tags.ts';
import type { Queryable } from '../store/database.ts';
import { readSetting } from '../store/settings.ts';

/** The bucket of a profile for which none are defined. */
const standardBucket: Bucket = {
  key: 'preferences',
  description: 'Preferences the person stated in the first person.',
};

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

/** Words that say what a category of statement is about, to meet those of a bucket's key and description. */
const topics: Record<string, string> = {
  employer: 'work job employer company career',
  role: 'work job role career',
  home: 'home place location city country address',
  origin: 'home origin background',
  partner: 'family relationships people partner',
  diet: 'diet food health preferences',
  taste: 'preferences likes dislikes interests',
  schedule: 'schedule meetings calendar',
  preference: 'preferences likes dislikes',
  plan: 'plans goals achieve upcoming',
  event: 'events history',
};

/** Words of descriptions that say nothing about what belongs in a bucket. */
const vague = new Set(
  'stated person people user first wants want things thing they their anything everything about facts fact'.split(' '),
);

/** Keys of the buckets that a statement belongs in: those that share a word with it or with its topic. */
export function classify(
  statement: { text: string; category: string | null; slot: string | null },
  buckets: readonly Bucket[],
  termsOf: (text: string) => readonly string[],
): string[] {
  const slot = statement.slot?.split(':')[0] ?? '';
  const isPreference = statement.category === 'preference';
  const about = new Set(termsOf(`${statement.text} ${topics[slot] ?? ''} ${topics[statement.category ?? ''] ?? ''}`));
  return buckets
    .filter(({ key, description }) => {
      if (key === standardBucket.key) return isPreference;
      const words = `${key.replaceAll(/[_-]/g, ' ')} ${description}`.toLowerCase().match(/\p{L}{3,}/gu) ?? [];
      return termsOf(words.filter((word) => !vague.has(word)).join(' ')).some((term) => about.has(term));
    })
    .map(({ key }) => key);
}
