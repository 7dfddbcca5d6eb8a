import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Scope } from '../base/scope.ts';
import { removeDocuments, removeSelected } from '../engine/remove.ts';
import { requireWritable } from '../engine/add-documents.ts';
import { lockContainers } from '../store/container-merges.ts';
import {
  clearContainer,
  deleteContainer,
  deleteMemoriesOf,
  findContainer,
  insertContainer,
  listContainerTagSummaries,
  pageOfContainerTags,
  writeContainer,
  type Bucket,
  type ContainerRow,
  type ContainerTagSummary,
} from '../store/container-tags.ts';
import type { Database } from '../store/database.ts';
import { selectDocuments } from '../store/document-selection.ts';
import { noteSettingChange } from '../store/memory-settings.ts';
import { countUsage, usageOf, type Quota, type Usage } from '../store/quotas.ts';
import { changedBuckets, checkBuckets } from './buckets.ts';
import { readContentSettings } from './settings.ts';

export type { ContainerTagSummary };

/** The settings of a container. */
export type Container = ContainerRow;

/** Changes to a container; absent fields stay as they are. */
export interface ContainerChange {
  name?: string;
  entityContext?: string | null;
  /** Documents elsewhere are ingested without memories; null: everywhere. */
  memoryFilesystemPaths?: string[] | null;
  /** Which content becomes a memory; null: direct input, the owner's own content and transcripts. */
  memories?: Container['memories'];
  /** Absent limits stay as they are. */
  quota?: Partial<Quota>;
  /** The whole list of its own. */
  profileBuckets?: Bucket[];
}

export interface BucketChange {
  put?: readonly Bucket[];
  /** Names; unknown ones count for nothing. */
  remove?: readonly string[];
}

export interface RemovedContainer {
  documents: number;
  memories: number;
}

export interface ContainerTags {
  /** The containers of the scope that exist, the one with the newest activity first. */
  list(scope: Scope): Promise<ContainerTagSummary[]>;
  /** A page of them, newest first, and the number in all. */
  page(
    scope: Scope,
    page: { page: number; limit: number },
  ): Promise<{ containers: ContainerTagSummary[]; total: number }>;
  find(tag: string): Promise<Container | null>;
  /** Its usage; null without a quota. */
  usage(container: Container): Promise<Usage | null>;
  /** Makes the container when there is none, unless told otherwise. Throws `invalid_request` for buckets that cannot be, `not_found`. */
  change(tag: string, change: ContainerChange, options?: { makes: boolean }): Promise<Container>;
  /**
   * Changes some of its own buckets, and leaves the others. Throws `not_found`, `conflict` for the name of a bucket of
   * the organization, `invalid_request` for buckets that cannot be.
   */
  changeBuckets(tag: string, change: BucketChange): Promise<void>;
  /**
   * Deletes a container with everything in it; the default one is emptied and stays. Null when there
   * is none. Throws `conflict` while it is merged.
   */
  remove(tag: string): Promise<RemovedContainer | null>;
}

export interface ContainerTagsOptions {
  database: Database;
  clock: Clock;
  /** Stays when it is removed. */
  defaultContainerTag: string;
  /** Ends the connections of a container; their documents stay. */
  removeConnections(containerTag: string): Promise<number>;
}

export function createContainerTags(options: ContainerTagsOptions): ContainerTags {
  const { database, clock } = options;

  return {
    list: (scope) => listContainerTagSummaries(database, scope.containerTags, clock.now()),
    async page(scope, wanted) {
      const { tags, total } = await pageOfContainerTags(database, scope.containerTags, wanted);
      const summaries = await listContainerTagSummaries(database, tags, clock.now());
      const byTag = new Map(summaries.map((one) => [one.containerTag, one]));
      return { containers: tags.flatMap((tag) => byTag.get(tag) ?? []), total };
    },
    find: (tag) => findContainer(database, tag),
    usage: async ({ containerTag, quota }) =>
      quota.documents === null && quota.bytes === null ? null : usageOf(database, containerTag),
    change: (tag, changes, how) => change(options, tag, changes, how),
    changeBuckets: (tag, changes) => changeBuckets(options, tag, changes),
    async remove(tag) {
      if (!(await findContainer(database, tag))) return null;
      await database.transaction((tx) => requireWritable(tx, [tag]));
      await options.removeConnections(tag);
      const memories = await database.transaction((tx) => deleteMemoriesOf(tx, tag));
      const documents = await removeSelected(database, { containerTags: [tag] }, clock);
      return { memories, documents: documents + (await end(options, tag)) };
    },
  };
}

async function change(
  { database, clock }: ContainerTagsOptions,
  tag: string,
  changes: ContainerChange,
  { makes } = { makes: true },
): Promise<Container> {
  if (changes.profileBuckets) checkBuckets(changes.profileBuckets);
  const now = clock.now();
  return database.transaction(async (tx) => {
    if (changes.quota) await countUsage(tx, { kind: 'container', id: tag });
    if (makes) await insertContainer(tx, { tag, id: newId(now) }, now);
    await requireWritable(tx, [tag]);
    const before = await findContainer(tx, tag);
    if (!before) throw new MemorydError('not_found', 'Container not found');
    const quota = { ...before.quota, ...changes.quota };
    const after = { ...before, ...changes, quota, updatedAt: now };
    if (after.memories !== before.memories) await noteSettingChange(tx, { scope: 'container', id: tag });
    return writeContainer(tx, after);
  });
}

async function changeBuckets(
  { database, clock }: ContainerTagsOptions,
  tag: string,
  { put = [], remove = [] }: BucketChange,
): Promise<void> {
  await database.transaction(async (tx) => {
    // Changes at the same time come one after the other.
    if ((await lockContainers(tx, [tag])).length === 0) throw new MemorydError('not_found', 'Container not found');
    await requireWritable(tx, [tag]);
    const before = (await findContainer(tx, tag))!;
    const { profileBuckets: shared } = await readContentSettings(tx);
    const after = changedBuckets(before.profileBuckets, { put, remove }, shared);
    await writeContainer(tx, { ...before, profileBuckets: after, updatedAt: clock.now() });
  });
}

/** Additions that began while the rest was deleted have ended once the container is locked. */
async function end({ database, clock, defaultContainerTag }: ContainerTagsOptions, tag: string): Promise<number> {
  return database.transaction(async (tx) => {
    await lockContainers(tx, [tag]);
    const late = await selectDocuments(tx, { containerTags: [tag] }, 10_000);
    await removeDocuments(tx, late, clock.now());
    if (tag === defaultContainerTag) await clearContainer(tx, tag, clock.now());
    else await deleteContainer(tx, tag);
    return late.length;
  });
}
