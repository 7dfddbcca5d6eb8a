import { mkdir, open, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { MemorydError } from '../../base/errors.ts';
import type { CatalogueModel, HubFile } from './catalogue.ts';
import { hashesOfFile } from './file-hash.ts';
import type { HubClient, RemoteFile, StatedFile } from './hub-client.ts';
import type { InstalledModel, ModelFolders } from './model-folders.ts';

/** A file that is to be had: how large it is and what it must hash to. */
export interface WantedFile {
  path: string;
  bytes: number;
  hash: NonNullable<StatedFile['hash']>;
}

/** A model to fetch from one commit of a repository. */
export interface WantedModel {
  name: string;
  repository: string;
  revision: string;
  files: readonly WantedFile[];
  settings: InstalledModel['settings'];
}

/** How far a model has arrived. */
export interface PullProgress {
  file: string;
  receivedBytes: number;
  totalBytes: number;
}

export interface PullOptions {
  client: HubClient;
  folders: ModelFolders;
  signal: AbortSignal;
  onProgress(progress: PullProgress): void;
}

/** Left free beside a model, for the database and everybody else. */
const spareBytes = 64 * 1024 * 1024;

export function wantedOf({ name, repository, revision, files, settings }: CatalogueModel): WantedModel {
  const wanted = files.map(({ path, bytes, sha256 }) => ({
    path,
    bytes,
    hash: { kind: 'sha256', digits: sha256 } as const,
  }));
  return { name, repository, revision, files: wanted, settings };
}

/**
 * Gets the files of a model and installs it when each of them has the hash that it must have. What has
 * arrived is kept when it ends early, and the next pull goes on from there; a model of the same name stays
 * until then. Throws `hub_failed`, `disk_full`, and the signal's reason.
 */
export async function pullModel(model: WantedModel, options: PullOptions): Promise<InstalledModel> {
  const { folders, onProgress } = options;
  const arrival = folders.arrivalOf(model.name);
  await mkdir(arrival, { recursive: true, mode: 0o700 });
  await requireSpace(arrival, model);
  const totalBytes = sum(model.files.map(({ bytes }) => bytes));
  const files: HubFile[] = [];
  for (const file of model.files) {
    const before = sum(files.map(({ bytes }) => bytes));
    const onBytes = (bytes: number) => onProgress({ file: file.path, receivedBytes: before + bytes, totalBytes });
    files.push(await translatingFullDisks(() => pullFile(model, file, { ...options, arrival, onBytes })));
  }
  const { name, repository, revision, settings } = model;
  const installed: InstalledModel = { name, repository, revision, files, settings };
  await folders.install(installed);
  return installed;
}

interface FileOptions extends PullOptions {
  arrival: string;
  onBytes(received: number): void;
}

/**
 * The file under its name, once its hash is right. Parts are named by the hash: those of another file never mix.
 * A partial file of an earlier pull is discarded when it turns out to be wrong, and the file is fetched whole.
 */
async function pullFile(model: WantedModel, file: WantedFile, options: FileOptions): Promise<HubFile> {
  const path = join(options.arrival, file.path);
  const part = partOf(path, file);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  for (;;) {
    const arrived = await sizeOf(path);
    const earlier = arrived ?? (await sizeOf(part));
    if (arrived === null) {
      await receive({ ...model, path: file.path }, file, part, options);
      await rename(part, path);
    }
    const found = await hashesOfFile(path);
    options.onBytes(found.bytes);
    if (found.bytes === file.bytes && found[file.hash.kind] === file.hash.digits) {
      return { path: file.path, bytes: found.bytes, sha256: found.sha256 };
    }
    await rm(path, { force: true });
    if (earlier === null) throw anotherFile(model, file, found[file.hash.kind]);
  }
}

/** Appends to what is there. What was written stays when the hub breaks off. */
async function receive(remote: RemoteFile, file: WantedFile, part: string, options: FileOptions): Promise<void> {
  const { client, signal, onBytes } = options;
  const there = (await sizeOf(part)) ?? 0;
  const { from, content } = await client.read(remote, there < file.bytes ? there : 0, signal);
  const handle = await open(part, from > 0 ? 'a' : 'w', 0o600);
  let received = from;
  try {
    for await (const bytes of content) {
      received += bytes.length;
      if (received > file.bytes) throw tooLong(remote, file);
      await handle.writeFile(bytes);
      onBytes(received);
    }
  } finally {
    await handle.close();
  }
  if (received === file.bytes) return;
  const message = `${file.path} of ${remote.repository} ended after ${received} of ${file.bytes} bytes.`;
  throw new MemorydError('hub_failed', message);
}

function partOf(path: string, { hash }: WantedFile): string {
  return `${path}.${hash.digits.slice(0, 12)}.part`;
}

function anotherFile({ repository }: WantedModel, { path, hash }: WantedFile, found: string): MemorydError {
  const message = `${path} of ${repository} is not the file that it must be; it was thrown away.`;
  return new MemorydError('hub_failed', message, { details: `Its hash is ${found}, expected ${hash.digits}.` });
}

function tooLong({ repository }: RemoteFile, { path, bytes }: WantedFile): MemorydError {
  return new MemorydError(
    'hub_failed',
    `${path} of ${repository} is longer than the ${bytes} bytes that it should have.`,
  );
}

/** Parts that have arrived already count as used space. */
async function requireSpace(folder: string, { name, files }: WantedModel): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const parts = files.flatMap((file) => [file.path, partOf(file.path, file)]);
  const there = sum(await Promise.all(parts.map(async (path) => (await sizeOf(join(folder, path))) ?? 0)));
  const needed = sum(files.map(({ bytes }) => bytes)) - there + spareBytes;
  if (bavail * bsize >= needed) return;
  const message = `${name} needs ${needed} bytes in ${folder}, and ${bavail * bsize} are free.`;
  throw new MemorydError('disk_full', message);
}

async function translatingFullDisks<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw cause;
    throw new MemorydError('disk_full', 'The disk is full; the parts of the model that have arrived are kept.', {
      cause,
    });
  }
}

async function sizeOf(path: string): Promise<number | null> {
  return stat(path).then(
    ({ size }) => size,
    () => null,
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
