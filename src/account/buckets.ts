import { MemorydError } from '../base/errors.ts';
import type { Bucket } from '../store/container-tags.ts';

export type { Bucket };

/** Parts of every profile, so no bucket can have their names. */
const reserved = ['static', 'dynamic'];

export function isReserved(key: string): boolean {
  return reserved.includes(key);
}

/** Throws `invalid_request` for a reserved key, and for one that is there twice. */
export function checkBuckets(buckets: readonly Bucket[]): void {
  const seen = new Set<string>();
  for (const { key } of buckets) {
    if (isReserved(key)) throw new MemorydError('invalid_request', `The bucket key ${key} is reserved`);
    if (seen.has(key)) throw new MemorydError('invalid_request', `The bucket key ${key} is there twice`);
    seen.add(key);
  }
}

const mostBuckets = 50;

/**
 * The buckets of a container after some of them were written and others taken away. Throws `conflict` for the name of
 * one that the organization has.
 */
export function changedBuckets(
  own: readonly Bucket[],
  { put, remove }: { put: readonly Bucket[]; remove: readonly string[] },
  shared: readonly Bucket[],
): Bucket[] {
  const named = [...put.map(({ key }) => key), ...remove];
  const taken = shared.find(({ key }) => named.includes(key));
  if (taken) {
    const message = `The bucket ${taken.key} is one of the organization`;
    throw new MemorydError('conflict', message, { shouldRetry: false });
  }
  const written = new Map(put.map((bucket) => [bucket.key, bucket]));
  const kept = own.filter(({ key }) => !remove.includes(key)).map((bucket) => written.get(bucket.key) ?? bucket);
  const after = [...kept, ...put.filter(({ key }) => !own.some((bucket) => bucket.key === key))];
  checkBuckets(after);
  if (after.length > mostBuckets) {
    throw new MemorydError('invalid_request', `A container may have ${mostBuckets} buckets of its own`);
  }
  return after;
}

const presets: readonly (Bucket & { words: readonly string[] })[] = [
  preset(
    'preferences',
    'Stated likes, dislikes and settings choices.',
    'prefer like dislike favourite setting taste style',
  ),
  preset(
    'work',
    'Role, employer, projects and work decisions.',
    'job role employer company office decision team business meeting customer',
  ),
  preset('goals', 'What the person wants to achieve.', 'goal plan aim target achieve objective ambition roadmap'),
  preset('interests', 'Topics and activities the person enjoys.', 'interest hobby hobbies music sport game book film'),
  preset(
    'relationships',
    'People, and how they are related.',
    'family friend partner colleague people contact relationship',
  ),
  preset(
    'projects',
    'What is being built or done, and where it stands.',
    'project task milestone deadline product code build repository',
  ),
  preset('skills', 'What the person can do, and how well.', 'skill language technology experience tool expertise'),
  preset(
    'education',
    'Schools, courses and what is being learned.',
    'school study course university learn degree student lesson',
  ),
  preset('health', 'Health, habits and well-being.', 'health medical diet sleep exercise doctor allergy fitness'),
  preset(
    'finances',
    'Income, spending and money decisions.',
    'money finance budget invoice price salary cost payment bank',
  ),
  preset('travel', 'Trips, places and how the person travels.', 'travel trip flight hotel country city visit'),
  preset('values', 'Beliefs and principles that guide decisions.', 'value belief principle ethic opinion'),
];

function preset(key: string, description: string, words: string) {
  return { key, description, words: [key, ...words.split(' ')] };
}

export const leastSuggestions = 3;
export const mostSuggestions = 6;

/** 3 to 6 buckets that fit a description of what is worth keeping; the usual ones come first where nothing fits. */
export function suggestBuckets(prompt: string): Bucket[] {
  const wanted = prompt.toLowerCase().match(/\p{L}+/gu) ?? [];
  const scored = presets.map(({ key, description, words }) => ({
    bucket: { key, description },
    score: wanted.filter((word) => words.some((known) => isAlike(word, known))).length,
  }));
  const fitting = scored.filter(({ score }) => score > 0).sort((left, right) => right.score - left.score);
  const others = scored.filter(({ score }) => score === 0);
  const chosen = [...fitting.slice(0, mostSuggestions), ...others];
  return chosen
    .slice(0, Math.max(leastSuggestions, Math.min(fitting.length, mostSuggestions)))
    .map((one) => one.bucket);
}

/** Words that begin alike: plural and other forms. */
function isAlike(left: string, right: string): boolean {
  const length = Math.min(left.length, right.length);
  return length >= 4 && left.slice(0, Math.max(4, length - 1)) === right.slice(0, Math.max(4, length - 1));
}
