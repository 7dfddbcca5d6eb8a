import type { Clock } from '../base/clock.ts';
import { createMemo } from '../base/collections.ts';
import type { Scope } from '../base/scope.ts';
import {
  countUploads,
  growthByDay,
  sourceActivity,
  type GrowthRow,
  type SourceActivityRow,
} from '../store/activity.ts';
import type { Database } from '../store/database.ts';

export interface Activity {
  /** Changes of the last hours, and additions on each of the last days. */
  describe(scope: Scope, period: { hours: number; days: number }): Promise<ActivityReport>;
}

export interface ActivityReport {
  since: Date;
  /** Latest first; connections of which nothing ran are left out. */
  sources: SourceActivityRow[];
  /** Documents that were sent and not mirrored. */
  uploads: number;
  growth: GrowthRow[];
}

const hourMs = 60 * 60_000;

export interface ActivityOptions {
  database: Database;
  clock: Clock;
  /** What came of more documents than this is read once in `keptMs`. */
  manyDocuments?: number;
  keptMs?: number;
}

type Read = Pick<ActivityReport, 'uploads' | 'growth'>;

export function createActivity(options: ActivityOptions): Activity {
  const { database, clock, manyDocuments = 20_000, keptMs = 60_000 } = options;
  const remembered = createMemo<Read>(clock, { maxEntries: 1_000, lifetimeMs: keptMs });

  /** Reads every document of the days. */
  async function readDocuments(containerTags: readonly string[] | null, since: Date, firstDay: Date): Promise<Read> {
    const [uploads, growth] = await Promise.all([
      countUploads(database, containerTags, since),
      growthByDay(database, containerTags, firstDay),
    ]);
    return { uploads, growth };
  }

  return {
    async describe({ containerTags }, { hours, days }) {
      const nowMs = clock.now().getTime();
      const since = new Date(nowMs - hours * hourMs);
      // Whole days, today among them.
      const firstDay = new Date(Math.floor(nowMs / (24 * hourMs) - days + 1) * 24 * hourMs);
      const key = JSON.stringify([containerTags, hours, firstDay]);
      const known = remembered.get(key);
      const [sources, read] = await Promise.all([
        sourceActivity(database, containerTags, since),
        known ?? readDocuments(containerTags, since, firstDay),
      ]);
      const documents = read.growth.reduce((sum, day) => sum + day.documents, read.uploads);
      if (!known && documents > manyDocuments) remembered.set(key, read);
      return { since, sources, ...read };
    },
  };
}
