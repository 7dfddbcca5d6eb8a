import type { Partition } from 'memoryd/connector';
import type { ContentKind } from './config.ts';

/** The content of a partition, as its id tells it: `{repository id}:files`, `…:files@{branch}`, `…:issues` and so on. */
export interface Place {
  repositoryId: string;
  kind: ContentKind;
  /** Undefined: the default branch, whichever it is. */
  branch: string | undefined;
}

export function partitionIdOf({ repositoryId, kind, branch }: Place): string {
  return `${repositoryId}:${kind}${branch === undefined ? '' : `@${branch}`}`;
}

export function placeOf(partition: Pick<Partition, 'id'>): Place {
  const [, repositoryId, kind, branch] = /^(\d+):(files|issues|releases|discussions|wiki)(?:@(.+))?$/s.exec(
    partition.id,
  )!;
  return { repositoryId: repositoryId!, kind: kind as ContentKind, branch };
}

/** The repository’s number outlives renames and transfers. */
export function fileIdOf({ repositoryId, branch }: Place, path: string): string {
  return `${repositoryId}:file${branch === undefined ? '' : `@${branch}`}:${path}`;
}

export const issueIdOf = (repositoryId: string, number: number) => `${repositoryId}:issue:${number}`;
export const releaseIdOf = (repositoryId: string, id: number) => `${repositoryId}:release:${id}`;
export const discussionIdOf = (repositoryId: string, number: number) => `${repositoryId}:discussion:${number}`;
export const pageIdOf = (repositoryId: string, path: string) => `${repositoryId}:wiki:${path}`;
/** The number at the end of the id of an issue, a discussion or a release. */
export const numberIn = (id: string) => Number(id.slice(id.lastIndexOf(':') + 1));
