import type { Ref } from 'memoryd/connector';
import type { DiskThread } from './disk-thread.ts';
import { lookAt, type FileFacts } from './facts.ts';
import { isAbsent, isDenied } from './faults.ts';
import { toRef } from './map.ts';
import { joinPath } from './names.ts';
import type { Walk, WalkedFile } from './walk.ts';

/** Small enough that reading folders and looking at files overlap. */
const filesPerBatch = 250;
/** So many that the threads of Node's pool find the next one waiting, which spares waking them for each. */
const looksAtOnce = 128;

/**
 * The files of a walk's next steps as refs, at most `limit`. What vanished meanwhile is left out, what
 * cannot be looked at is a failure of the walk.
 */
export async function takeRefs(
  root: string,
  walk: Walk,
  limit: number,
  signal: AbortSignal,
  thread?: DiskThread,
): Promise<Ref[]> {
  const refs: (Ref | undefined)[] = [];
  let pending: Promise<(Ref | undefined)[]> = Promise.resolve([]);
  for (let left = limit; left > 0 && !walk.isDone; left -= filesPerBatch) {
    signal.throwIfAborted();
    const files = await walk.take(Math.min(left, filesPerBatch));
    refs.push(...(await pending));
    pending = readRefs(root, walk, files, signal, thread);
    // An abort can come while the next folders are read; the loop ends with it then.
    pending.catch(() => {});
  }
  refs.push(...(await pending));
  return refs.filter((ref) => ref !== undefined);
}

async function readRefs(
  root: string,
  walk: Walk,
  files: readonly WalkedFile[],
  signal: AbortSignal,
  thread: DiskThread | undefined,
): Promise<(Ref | undefined)[]> {
  const refs = new Array<Ref | undefined>(files.length);
  const facts =
    thread?.isReady && !files.some((file) => file.isLink) ? await lookTogether(root, files, signal, thread) : [];
  const rest: number[] = [];
  for (const [index, file] of files.entries()) {
    const found = facts[index];
    if (found === undefined) rest.push(index);
    else refs[index] = refOf(root, file, found);
  }
  await lookOneByOne(root, walk, files, rest, refs);
  return refs;
}

function lookTogether(root: string, files: readonly WalkedFile[], signal: AbortSignal, thread: DiskThread) {
  return thread.look(
    files.map((file) => joinPath(root, file.path)),
    signal,
  );
}

function refOf(root: string, file: WalkedFile, facts: FileFacts): Ref | undefined {
  return facts.kind === 'file' ? toRef(root, file.path, file.name, facts) : undefined;
}

/** By callbacks: with promises for each file a listing takes twice the time and memory. Never rejects. */
function lookOneByOne(
  root: string,
  walk: Walk,
  files: readonly WalkedFile[],
  indexes: readonly number[],
  refs: (Ref | undefined)[],
): Promise<void> {
  let next = 0;
  let left = indexes.length;
  return new Promise((resolve) => {
    function start(): void {
      if (next === indexes.length) return;
      const index = indexes[next++]!;
      const file = files[index]!;
      lookAt(joinPath(root, file.path), file.isLink, (result) => {
        if (result instanceof Error) {
          if (!isAbsent(result)) walk.problems.add(isDenied(result) ? folderOf(file.path) : file.path, result);
        } else refs[index] = refOf(root, file, result);
        if (--left === 0) resolve();
        else start();
      });
    }
    if (left === 0) resolve();
    for (let count = 0; count < looksAtOnce; count++) start();
  });
}

/** A file may be looked at by everybody who may enter its folder. */
function folderOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf('/'), 0));
}
