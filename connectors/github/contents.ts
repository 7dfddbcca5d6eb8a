import { transient, type Fetched, type Partition, type Ref } from 'memoryd/connector';
import { openArchive } from './archive.ts';
import { batchesOf, fetchBatch } from './batch.ts';
import { hashOf } from './blob-hash.ts';
import { expectShown, getOf, remember, type GithubContext } from './client.ts';
import { headOfFiles } from './files.ts';
import { binarySkipped, isBinary, linkSkipped, moduleSkipped, toDocument } from './file-document.ts';
import { blobOf, linkMode, moduleMode } from './file-ref.ts';
import { placeOf } from './place.ts';
import { seenPositions } from './position.ts';
import { isDocument } from './rules.ts';

/** From so many files of one run on, one archive is cheaper than asking for them. */
const archiveFrom = 200;
/** A call with so many files after a listing of many is the first of many. */
const manyFiles = 50;

/** From the archive of the commit when there are many, else in batches. Binary documents are left to `fetchFile`. */
export async function* fetchFiles(
  ctx: GithubContext,
  partition: Partition,
  refs: Ref[],
): AsyncGenerator<[string, Fetched]> {
  const plain: Ref[] = [];
  for (const ref of refs) {
    const skipped = skippedByMode(ref);
    if (skipped) yield [ref.id, skipped];
    else plain.push(ref);
  }
  if (plain.length === 0) return;
  const commit = await commitOf(ctx, partition);
  if (commit === null) return;
  const missing: Ref[] = [];
  const archive = (await isMany(ctx, partition, plain.length)) ? await openArchive(ctx, partition, commit) : null;
  for (const ref of plain) {
    const bytes = await archive?.read(ref.path ?? '');
    // Attributes such as export-ignore and export-subst change what an archive holds.
    if (bytes && hashOf(bytes) === blobOf(ref).sha) yield [ref.id, readable(ref, bytes)];
    else missing.push(ref);
  }
  for (const batch of batchesOf(missing)) yield* fetchBatch(ctx, partition, { commit, refs: batch });
}

/** One blob by its hash, which stays readable when the branch has moved on. */
export async function fetchFile(ctx: GithubContext, partition: Partition, ref: Ref): Promise<Fetched> {
  const skipped = skippedByMode(ref);
  if (skipped) return skipped;
  const { repositoryId } = placeOf(partition);
  const blob = { file_sha: blobOf(ref).sha };
  const answer = await getOf(ctx, repositoryId, '/git/blobs/{file_sha}', blob, { format: 'raw', accept: [404] });
  if (answer.status === 404) {
    await expectShown(ctx, repositoryId);
    // Only a tree says that a file is not there: GitHub loses sight of content that it still lists.
    throw transient('GitHub lists the file and does not show its content.');
  }
  if (hashOf(answer.bytes) !== blobOf(ref).sha) throw transient('GitHub answered something else than the file.');
  return readable(ref, answer.bytes);
}

function readable(ref: Ref, bytes: Uint8Array): Fetched {
  return isBinary(bytes) && !isDocument(ref.path ?? '') ? binarySkipped : toDocument(ref, bytes);
}

function skippedByMode(ref: Ref): Fetched | undefined {
  const { mode } = blobOf(ref);
  return mode === linkMode ? linkSkipped : mode === moduleMode ? moduleSkipped : undefined;
}

async function commitOf(ctx: GithubContext, partition: Partition): Promise<string | null> {
  const seen = (await seenPositions(ctx)).get(partition.id);
  return seen ? seen.commit : ((await headOfFiles(ctx, partition))['commit'] as string | null);
}

async function isMany(ctx: GithubContext, partition: Partition, count: number): Promise<boolean> {
  const asked = await remember<number>(ctx, 'asked');
  const listed = (await remember<number>(ctx, 'listed')).get(partition.id) ?? 0;
  const isFirstOfMany = listed > archiveFrom && count >= manyFiles;
  const total = (asked.get(partition.id) ?? 0) + count + (isFirstOfMany ? archiveFrom : 0);
  asked.set(partition.id, total);
  return total > archiveFrom;
}
