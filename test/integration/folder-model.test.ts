import fc from 'fast-check';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FolderConfig } from '../../connectors/folder/config.ts';
import folder from '../../connectors/folder/index.ts';
import { createContext, createRoot, listAll } from './folder-fixture.ts';

/**
 * Random histories of a folder. After each one the connector's paged listing, look-up and fetching must
 * agree with a plain recursive reading of the same tree, written without anything of the connector.
 */
let outer: string;
let remove: () => Promise<void>;
beforeAll(async () => ({ root: outer, remove } = await createRoot()));
afterAll(() => remove());

const names = ['a', 'a-b', 'a.md', 'b', 'é.md', '😀', '\uff5e', '.hid', 'node_modules', 'x~', 'drafts'];
const name = fc.constantFrom(...names);
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('write' as const), path, text: fc.string({ maxLength: 5 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('mkdir' as const), path }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('move' as const), path, to: path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), path }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rmdir' as const), path }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('link' as const),
      path,
      to: fc.oneof(path, fc.constantFrom('.', '..', '../..')),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const config = fc.record(
  {
    hidden: fc.boolean(),
    followSymlinks: fc.boolean(),
    defaultExcludes: fc.boolean(),
    include: fc.constantFrom<string[]>(['*.md'], ['a/**'], ['a', 'b/*']),
    exclude: fc.constantFrom<string[]>(['drafts'], ['a/b'], ['*.md', 'b/'], ['a/**']),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Partial<FolderConfig>>;

/** Whether writing at a path stays inside the root, whatever links are on the way. */
function staysInside(root: string, full: string): boolean {
  const parent = dirname(full);
  return existsSync(parent) ? `${realpathSync(parent)}${sep}`.startsWith(root + sep) : staysInside(root, parent);
}

/** Steps that the tree does not allow (a file where a folder should be) do nothing. */
function apply(root: string, step: Step): void {
  const target = join(root, step.path);
  if (!staysInside(root, target) || (step.do === 'move' && !staysInside(root, join(root, step.to)))) return;
  try {
    if (step.do === 'write') {
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, step.text, { flag: existsSync(target) && !lstatSync(target).isFile() ? 'wx' : 'w' });
    } else if (step.do === 'mkdir') mkdirSync(target, { recursive: true });
    else if (step.do === 'move') renameSync(target, join(root, step.to));
    else if (step.do === 'delete') rmSync(target, { recursive: true });
    else if (step.do === 'rmdir') rmdirSync(target);
    else symlinkSync(step.to.startsWith('.') ? step.to : join(root, step.to), target);
  } catch (error) {
    const codes = ['ENOENT', 'ENOTDIR', 'EISDIR', 'EEXIST', 'ENOTEMPTY', 'EINVAL', 'ELOOP', 'ERR_FS_EISDIR', 'EBUSY'];
    if (!codes.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

interface Expected {
  path: string;
  bytes: number;
}

/** What should be listed, by the words of the README, in byte order. */
function expectedFiles(root: string, rules: Partial<FolderConfig>): Expected[] {
  const found: Expected[] = [];
  function visit(relative: string, isLinked: boolean): void {
    for (const entry of readdirSync(join(root, relative))) {
      const below = relative === '' ? entry : `${relative}/${entry}`;
      const full = join(root, below);
      const isLink = lstatSync(full).isSymbolicLink();
      if (isLink && (isLinked || rules.followSymlinks !== true || !isFollowed(root, full))) continue;
      const stats = statSync(full);
      if (isLeftOut(below, stats.isDirectory(), rules)) continue;
      if (stats.isDirectory()) visit(below, isLinked || isLink);
      else if (isIncluded(below, rules)) found.push({ path: below, bytes: stats.size });
    }
  }
  visit('', false);
  return found.toSorted((first, second) => Buffer.compare(Buffer.from(first.path), Buffer.from(second.path)));
}

function isFollowed(root: string, link: string): boolean {
  if (!existsSync(link)) return false;
  const target = realpathSync(link);
  const isInside = target.startsWith(root + sep);
  const isLoop = `${dirname(link)}${sep}`.startsWith(target + sep);
  return isInside && !isLoop;
}

function isLeftOut(path: string, isFolder: boolean, rules: Partial<FolderConfig>): boolean {
  const last = basename(path);
  if (rules.hidden !== true && last.startsWith('.')) return true;
  if (rules.defaultExcludes !== false && (last === 'node_modules' || last.endsWith('~'))) return true;
  const exclude = rules.exclude?.join();
  if (exclude === 'drafts') return last === 'drafts';
  if (exclude === 'a/b') return path === 'a/b';
  if (exclude === 'a/**') return path.startsWith('a/');
  if (exclude === '*.md,b/') return last.endsWith('.md') || (last === 'b' && isFolder);
  return false;
}

function isIncluded(path: string, rules: Partial<FolderConfig>): boolean {
  const parts = path.split('/');
  const include = rules.include?.join();
  if (include === '*.md') return parts.some((part) => part.endsWith('.md'));
  if (include === 'a/**') return parts[0] === 'a' && parts.length > 1;
  if (include === 'a,b/*') return parts.includes('a') || (parts[0] === 'b' && parts.length > 1);
  return true;
}

let runs = 0;

it('lists, looks up and fetches exactly what is there after any history', { timeout: 120_000 }, async () => {
  let listed = 0;
  const history = fc.array(step, { minLength: 5, maxLength: 60, size: 'max' });
  const losses = fc.infiniteStream(fc.boolean());
  await fc.assert(
    fc.asyncProperty(history, config, fc.integer({ min: 1, max: 7 }), losses, async (steps, rules, pageSize, lost) => {
      const root = join(outer, String(runs++));
      await mkdir(root);
      writeFileSync(join(root, 'first'), '');
      for (const each of steps) apply(root, each);
      const ctx = createContext({ path: root, ...rules });
      const loseSome = () => void (lost.next().value && ctx.loseSessions());
      const listing = await listAll(ctx, root, { pageSize, between: loseSome });
      const expected = expectedFiles(root, rules);
      expect(listing.refs.map((ref) => ({ path: ref.path, bytes: ref.size }))).toEqual(expected);
      expect(listing.incomplete).toBeUndefined();
      await expectAgreement(
        root,
        rules,
        listing.refs.map((ref) => ref.id),
      );
      listed += expected.length;
      await rm(root, { recursive: true });
    }),
    { numRuns: 150 },
  );
  expect(listed).toBeGreaterThan(150);
});

/** Look-up and fetching draw the same line as the listing, for every path of the tree and beyond. */
async function expectAgreement(root: string, rules: Partial<FolderConfig>, listed: string[]): Promise<void> {
  const ctx = createContext({ path: root, ...rules });
  const page = await folder.lookup!(ctx, { id: root }, listed);
  expect(page.refs.map((ref) => ref.id)).toEqual(listed);
  expect(page.gone).toEqual([]);
  const others = [...pathsBelow(root, 4)].filter((each) => !listed.includes(each) && !isFolderAt(each)).slice(0, 50);
  expect((await folder.lookup!(ctx, { id: root }, others)).gone).toEqual(others);
  for (const id of [...listed, ...others]) {
    const fetched = await folder.fetch(ctx, { id: root }, { id, rev: '' });
    const isContent = 'file' in fetched || ('skip' in fetched && fetched.skip === 'empty');
    expect([id, isContent]).toEqual([id, listed.includes(id)]);
  }
}

function isFolderAt(full: string): boolean {
  return existsSync(full) && statSync(full).isDirectory();
}

/** All paths below a folder, through links too, to a depth. */
function* pathsBelow(full: string, depth: number): Generator<string> {
  for (const entry of readdirSync(full)) {
    const below = join(full, entry);
    yield below;
    if (depth > 1 && isFolderAt(below)) yield* pathsBelow(below, depth - 1);
  }
}
