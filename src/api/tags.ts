import type { Caller } from '../account/caller.ts';
import { writeTag } from '../account/access.ts';
import { MemorydError } from '../base/errors.ts';
import type { ApiConfig } from './services.ts';

export interface TagFields {
  containerTag?: string | undefined;
  containerTags?: string[] | undefined;
}

/** Reads take one tag, several, or both; together they are a union (section 5 rule 9). */
export function requestedTags({ containerTag, containerTags = [] }: TagFields): string[] {
  return containerTag === undefined ? containerTags : [containerTag, ...containerTags];
}

/** The container of a write. `containerTags` alone is refused unless the operator allows it (rules 7 and 11). */
export function tagOfWrite(caller: Caller, fields: TagFields, config: ApiConfig): string {
  return writeTag(caller, fields.containerTag ?? pluralTag(fields.containerTags, config), config.defaultContainerTag);
}

function pluralTag(containerTags: string[] | undefined, config: ApiConfig): string | undefined {
  if (containerTags === undefined) return undefined;
  const [first] = containerTags;
  if (config.compat?.includes('plural-tags') && first !== undefined) return first;
  throw new MemorydError(
    'invalid_request',
    'Use containerTag (a single string); containerTags is not supported as the only scope on writes',
  );
}

/** Where the published schema has only `containerTags`, one element stands for `containerTag` (rule 8). */
export function singleTag({ containerTag, containerTags }: TagFields): string | undefined {
  if (containerTag !== undefined || containerTags === undefined) return containerTag;
  if (containerTags.length === 1) return containerTags[0];
  throw new MemorydError('invalid_request', 'containerTags must have exactly one element here; use containerTag');
}
