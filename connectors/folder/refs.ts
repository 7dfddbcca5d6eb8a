import type { Ref } from 'memoryd/connector';
import { lookAt } from './facts.ts';
import { isAbsent } from './faults.ts';
import { toRef } from './map.ts';
import { joinPath } from './names.ts';
import type { Walk, WalkedFile } from './walk.ts';

/** Small enough that reading folders and looking at files overlap. */
const filesPerBatch = 250;
/** More does not help a disk, and Node's thread pool runs fewer anyway. */
const looksAtOnce = 32;

/**
 * The files of a walk's next steps as refs, at most `limit`. What vanished meanwhile is left out, what
 * cannot be looked at is a failure of the walk.
 */
export async function takeRefs(root: string, walk: Walk, limit: number, signal: AbortSignal): Promise<Ref[]> {
  const refs: (Ref | undefined)[] = [];
  let pending: Promise<(Ref | undefined)[]> = Promise.resolve([]);
  for (let left = limit; left > 0 && !walk.isDone; left -= filesPerBatch) {
    signal.throwIfAborted();
    const files = await walk.take(Math.min(left, filesPerBatch));
    refs.push(...(await pending));
    pending = readRefs(root, walk, files);
  }
  refs.push(...(await pending));
  return refs.filter((ref) => ref !== undefined);
}

/** By callbacks: with promises for each file a listing takes twice the time and memory. Never rejects. */
function readRefs(root: string, walk: Walk, files: readonly WalkedFile[]): Promise<(Ref | undefined)[]> {
  const refs = new Array<Ref | undefined>(files.length);
  let next = 0;
  let left = files.length;
  return new Promise((resolve) => {
    function start(): void {
      if (next === files.length) return;
      const index = next++;
      const file = files[index]!;
      lookAt(joinPath(root, file.path), file.isLink, (result) => {
        if (result instanceof Error) {
          if (!isAbsent(result)) walk.problems.add(file.path, result);
        } else if (result.kind === 'file') refs[index] = toRef(root, file.path, file.name, result);
        if (--left === 0) resolve(refs);
        else start();
      });
    }
    if (left === 0) resolve(refs);
    for (let count = 0; count < looksAtOnce; count++) start();
  });
}
