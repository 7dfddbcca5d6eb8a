import { posix } from 'node:path';
import type { Context, Page, Partition, Ref } from 'memoryd/connector';
import type { FolderConfig } from './config.ts';
import { readFacts } from './facts.ts';
import { faultCode, isAbsent } from './faults.ts';
import { resolveListed } from './links.ts';
import { describeProblems, type ListCursor } from './list.ts';
import { toRef } from './map.ts';
import { joinPath, relativePath } from './names.ts';
import { takeRefs } from './refs.ts';
import { assertMounted, onSteadyRoot } from './root.ts';
import { createRules, type Rules } from './rules.ts';
import { openWalk } from './walk.ts';

/** Files that are named for a folder among the ids; a folder with more is left to a listing. */
const filesPerFolder = 1_000;

interface Search {
  root: string;
  rules: Rules;
  followLinks: boolean;
  signal: AbortSignal;
}

/** The result for one id: refs (several for a folder), or the reason why it is unknown. */
interface Finding {
  refs: Ref[];
  incomplete?: string;
}

/** The present refs of some ids, and of the files below ids that are folders; the rest is gone. */
export async function lookUp(
  ctx: Context<FolderConfig>,
  partition: Partition,
  ids: string[],
): Promise<Page<ListCursor>> {
  const root = partition.id;
  const rules = createRules(root, ctx);
  const search = { root, rules, followLinks: ctx.config.followSymlinks === true, signal: ctx.signal };
  return onSteadyRoot(root, async () => {
    const refs = new Map<string, Ref>();
    const unclear = new Map<string, string>();
    for (const id of ids) {
      ctx.signal.throwIfAborted();
      const finding = await findById(search, id);
      for (const ref of finding.refs) refs.set(ref.id, ref);
      if (finding.incomplete !== undefined) unclear.set(id, finding.incomplete);
    }
    const gone = ids.filter((id) => !refs.has(id) && !unclear.has(id));
    if (gone.length > 0) await assertMounted(root);
    const incomplete = unclear.values().next().value;
    return { refs: [...refs.values()], gone, done: true, ...(incomplete === undefined ? {} : { incomplete }) };
  });
}

async function findById(search: Search, id: string): Promise<Finding> {
  const path = relativePath(search.root, id);
  if (path === undefined) return { refs: [] };
  try {
    const listed = await resolveListed(search, path);
    if (listed === undefined) return { refs: [] };
    const facts = await readFacts(listed);
    if (facts.kind === 'folder') return await findBelow(search, path, listed !== joinPath(search.root, path));
    if (facts.kind !== 'file' || !(await search.rules.allowsFile(path))) return { refs: [] };
    return { refs: [toRef(search.root, path, posix.basename(path), facts)] };
  } catch (error) {
    if (isAbsent(error) || faultCode(error) === 'ELOOP') return { refs: [] };
    if (faultCode(error) === undefined) throw error;
    return { refs: [], incomplete: `${id} could not be looked at (${faultCode(error)}).` };
  }
}

async function findBelow(search: Search, folder: string, isLinked: boolean): Promise<Finding> {
  const walk = await openWalk({ ...search, folder, isLinked });
  const refs = await takeRefs(search.root, walk, filesPerFolder, search.signal);
  const incomplete = walk.isDone
    ? describeProblems(walk.problems.take())
    : `${joinPath(search.root, folder)} holds more than ${filesPerFolder} files.`;
  return { refs, ...(incomplete === undefined ? {} : { incomplete }) };
}
