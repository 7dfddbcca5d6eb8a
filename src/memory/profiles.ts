import type { Clock } from '../base/clock.ts';
import type { Bucket } from '../store/container-tags.ts';
import type { Database } from '../store/database.ts';
import {
  citedMemories,
  profileMemories,
  type CitedMemoryRow,
  type ProfileLine,
  type ProfileQuery,
} from '../store/memory-lists.ts';
import { containerBuckets } from './buckets.ts';

export type Section = 'static' | 'dynamic' | 'buckets';
export type { CitedMemoryRow as CitedMemory, ProfileLine };

export interface ProfileRequest {
  containerTag: string;
  filters?: NonNullable<ProfileQuery['filters']> | undefined;
  /** Shows the state of memory at this time. */
  asOf?: Date | undefined;
  sections: readonly Section[];
  /** Only these; absent: all that are defined. */
  buckets?: readonly string[] | undefined;
}

export interface Profile {
  static?: ProfileLine[];
  dynamic?: ProfileLine[];
  buckets?: Record<string, ProfileLine[]>;
  /** The memories behind the lines of all sections, with where they come from; newest first. */
  facts: CitedMemoryRow[];
}

/** Short accounts of containers (section 15 of the API). */
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
    async read({ containerTag, filters, asOf, sections, buckets }) {
      const wanted = sections.includes('buckets');
      const keys = wanted ? [...new Set(buckets ?? (await bucketsOf(containerTag)).map(({ key }) => key))] : [];
      const found = await profileMemories(database, {
        containerTags: [containerTag],
        now: clock.now(),
        buckets: keys,
        most,
        filters,
        asOf,
      });
      const lists = (['static', 'dynamic'] as const).filter((name) => sections.includes(name));
      const lines = [...lists.flatMap((name) => found[name]), ...[...found.buckets.values()].flat()];
      return {
        ...Object.fromEntries(lists.map((name) => [name, found[name]])),
        ...(wanted && {
          buckets: Object.fromEntries(found.buckets),
        }),
        facts: await citedMemories(database, [...new Set(lines.map(({ id }) => id))]),
      };
    },
  };
}
