import type { Clock } from '../base/clock.ts';
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

export function createActivity({ database, clock }: { database: Database; clock: Clock }): Activity {
  return {
    async describe({ containerTags }, { hours, days }) {
      const nowMs = clock.now().getTime();
      const since = new Date(nowMs - hours * hourMs);
      // Whole days, today among them.
      const firstDay = new Date(Math.floor(nowMs / (24 * hourMs) - days + 1) * 24 * hourMs);
      const [sources, uploads, growth] = await Promise.all([
        sourceActivity(database, containerTags, since),
        countUploads(database, containerTags, since),
        growthByDay(database, containerTags, firstDay),
      ]);
      return { since, sources, uploads, growth };
    },
  };
}
