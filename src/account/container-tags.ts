import type { Clock } from '../base/clock.ts';
import type { Scope } from '../base/scope.ts';
import { listContainerTagSummaries, type ContainerTagSummary } from '../store/container-tag-summaries.ts';
import type { Database } from '../store/database.ts';

export type { ContainerTagSummary };

export interface ContainerTags {
  /** The containers of the scope that exist, the one with the newest activity first. */
  list(scope: Scope): Promise<ContainerTagSummary[]>;
}

export function createContainerTags(dependencies: { database: Database; clock: Clock }): ContainerTags {
  const { database, clock } = dependencies;
  return { list: (scope) => listContainerTagSummaries(database, scope.containerTags, clock.now()) };
}
