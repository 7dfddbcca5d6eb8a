import type { FastifyRequest } from 'fastify';
import { readScope, writeTag, type Caller } from '../account/access.ts';
import { MemorydError } from '../base/errors.ts';
import type { Scope } from '../base/scope.ts';
import type { ApiConfig } from './services.ts';
import { invalidField } from './validation.ts';

export interface TagFields {
  containerTag?: string | undefined;
  containerTags?: string[] | undefined;
}

/** Reads take one tag, several, or both; together they are a union (section 5 rule 9 of the API). */
export function requestedTags({ containerTag, containerTags = [] }: TagFields): string[] {
  return containerTag === undefined ? containerTags : [containerTag, ...containerTags];
}

/** The container of a write, with all that the caller named where older clients may name several (rule 11). */
export function containersOfWrite(caller: Caller, fields: TagFields, config: ApiConfig): Containers {
  const containerTag = tagOfWrite(caller, fields, config);
  const { containerTags = [] } = fields;
  return fields.containerTag === undefined && containerTags.length > 1
    ? { containerTag, containerTags }
    : { containerTag };
}

export interface Containers {
  containerTag: string;
  containerTags?: string[];
}

/** The container of a write. Several `containerTags` are refused unless the operator allows them (rules 7 and 11). */
function tagOfWrite(caller: Caller, fields: TagFields, config: ApiConfig): string {
  return writeTag(caller, fields.containerTag ?? pluralTag(fields.containerTags, config), config.defaultContainerTag);
}

const tagPattern = /^[a-zA-Z0-9_:-]{1,100}$/;

/** One tag in a list is as good as the tag; of several, which older clients send, the first is the container. */
function pluralTag(containerTags: string[] | undefined, config: ApiConfig): string | undefined {
  if (containerTags === undefined) return undefined;
  const [first] = containerTags;
  if (first === undefined || (containerTags.length > 1 && !config.compat?.includes('plural-tags'))) {
    throw new MemorydError(
      'invalid_request',
      'Use containerTag (a single string) on writes, or containerTags with one tag; several tags need the setting COMPAT=plural-tags of the daemon',
    );
  }
  const wrong = containerTags.findIndex((tag) => !tagPattern.test(tag));
  if (wrong === -1) return first;
  throw invalidField(['containerTags', wrong], 'must be 1 to 100 letters, digits, underscores, colons and hyphens');
}

/**
 * For bodies whose schema wants `containerTag`: `containerTags` alone stands for it when it holds one
 * tag, and where older clients may send several, its first element is the container (rules 7 and 11).
 */
export function readPluralTag(config: ApiConfig) {
  return async function convertPluralTag(request: FastifyRequest): Promise<void> {
    const body = request.body as TagFields | null | undefined;
    if (typeof body !== 'object' || body === null) return;
    if (body.containerTag !== undefined || !Array.isArray(body.containerTags)) return;
    body.containerTag = pluralTag(body.containerTags, config);
    delete body.containerTags;
  };
}

/** Where the published schema has only `containerTags`, one element stands for `containerTag` (rule 8). */
export function singleTag({ containerTag, containerTags }: TagFields): string | undefined {
  if (containerTag !== undefined || containerTags === undefined) return containerTag;
  if (containerTags.length === 1) return containerTags[0];
  throw new MemorydError('invalid_request', 'containerTags must have exactly one element here; use containerTag');
}

/**
 * The containers that a list of documents covers. Where older clients may name several tags, a tag also finds the
 * documents that name it beside their container; the key's own containers stay the limit.
 */
export function listedTags(
  caller: Caller,
  fields: TagFields,
  config: ApiConfig,
): { scope: Scope; namedTags?: string[] } {
  const namedTags = requestedTags(fields);
  const isPlural = config.compat?.includes('plural-tags') === true && namedTags.length > 0;
  return isPlural ? { scope: readScope(caller, []), namedTags } : { scope: readScope(caller, namedTags) };
}

/** The containers that a search covers: the same; a container that the key may not read is refused. */
export function searchedTags(caller: Caller, fields: TagFields, config: ApiConfig): ReturnType<typeof listedTags> {
  readScope(caller, requestedTags(fields));
  return listedTags(caller, fields, config);
}
