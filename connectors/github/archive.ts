import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ConnectorError, transient, type Partition } from 'memoryd/connector';
import { getOf, type GithubContext } from './client.ts';
import { placeOf } from './place.ts';
import { readTar } from './tar.ts';

/** The files of one commit, on disk until the run ends. */
export interface Archive {
  /** Undefined: the archive has no such file. */
  read(path: string): Promise<Uint8Array | undefined>;
}

interface OpenArchive extends Archive {
  close(): Promise<void>;
}

/** The packed size that is held in memory while it is unpacked. */
const maxPackedBytes = 256 * 1024 * 1024;
const maxFileBytes = 25 * 1024 * 1024;
const timeoutMs = 10 * 60_000;

/** Null when there is none of a size that can be held; then files are asked for in batches. */
export function openArchive(ctx: GithubContext, partition: Partition, commit: string): Promise<Archive | null> {
  const { repositoryId } = placeOf(partition);
  return ctx.session(
    `github:archive:${repositoryId}:${commit}`,
    () => download(ctx, repositoryId, commit),
    async (archive) => archive?.close(),
  );
}

async function download(ctx: GithubContext, repositoryId: string, commit: string): Promise<OpenArchive | null> {
  try {
    const options = { maxBytes: maxPackedBytes, timeoutMs, idleTimeoutMs: 60_000, accept: [404] };
    const answer = await getOf(ctx, repositoryId, '/tarball/{ref}', { ref: commit }, options);
    if (answer.status === 404) return null;
    return await unpack(ctx, answer.bytes);
  } catch (error) {
    if (ConnectorError.is(error) && error.kind === 'skip') return null;
    throw error;
  }
}

/** Writes all files behind each other into one file, and remembers where each of them is. */
async function unpack(ctx: GithubContext, packed: Uint8Array): Promise<OpenArchive> {
  const folder = await ctx.temporaryFolder();
  await mkdir(folder, { recursive: true });
  const file = await open(join(folder, 'files'), 'w+');
  const places = new Map<string, { at: number; size: number }>();
  let end = 0;
  try {
    for await (const { path, bytes } of readTar(Readable.from([packed]).pipe(createGunzip()), maxFileBytes)) {
      ctx.signal.throwIfAborted();
      await file.write(bytes, 0, bytes.length, end);
      // The folder around everything is named after the commit.
      places.set(path.slice(path.indexOf('/') + 1), { at: end, size: bytes.length });
      end += bytes.length;
    }
  } catch (error) {
    await file.close();
    ctx.signal.throwIfAborted();
    throw transient('The archive of the repository is damaged.', error);
  }
  return { read: (path) => readAt(file, places.get(path)), close: () => file.close() };
}

async function readAt(
  file: FileHandle,
  place: { at: number; size: number } | undefined,
): Promise<Uint8Array | undefined> {
  if (!place) return undefined;
  const bytes = Buffer.alloc(place.size);
  await file.read(bytes, 0, place.size, place.at);
  return bytes;
}
