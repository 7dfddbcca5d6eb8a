import type { Clock } from '../base/clock.ts';
import type { Bucket } from '../store/container-tags.ts';
import type { Database } from '../store/database.ts';
import { profileMemories, type ProfileQuery } from '../store/memory-lists.ts';
import { containerBuckets } from './container-buckets.ts';

export type Section = 'static' | 'dynamic' | 'buckets';

export interface ProfileRequest {
  containerTag: string;
  filters?: NonNullable<ProfileQuery['filters']>;
  sections: readonly Section[];
  /** Only these; absent: all that are defined. */
  buckets?: readonly string[];
}

export interface Profile {
  static?: string[];
  dynamic?: string[];
  buckets?: Record<string, string[]>;
}

/** What is known of a container, in short (section 15 of the API). */
export interface Profiles {
  /** Containers that do not exist have an empty one. */
  read(request: ProfileRequest): Promise<Profile>;
  buckets(containerTag: string): Promise<Bucket[]>;
}

const most = { static: 100, dynamic: 20, bucket: 30 };

export function createProfiles({ database, clock }: { database: Database; clock: Clock }): Profiles {
  const bucketsOf = async (containerTag: string) => (await containerBuckets(database, [containerTag]))(containerTag);
  return {
    buckets: bucketsOf,
    async read({ containerTag, filters, sections, buckets }) {
      const wanted = sections.includes('buckets');
      const keys = wanted ? [...new Set(buckets ?? (await bucketsOf(containerTag)).map(({ key }) => key))] : [];
      const found = await profileMemories(database, {
        containerTags: [containerTag],
        now: clock.now(),
        buckets: keys,
        most,
        ...(filters && { filters }),
      });
      return {
        ...(sections.includes('static') && { static: found.static }),
        ...(sections.includes('dynamic') && { dynamic: found.dynamic }),
        ...(wanted && { buckets: Object.fromEntries(found.buckets) }),
      };
    },
  };
}
