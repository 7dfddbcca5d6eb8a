import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Context, Page, Ref, UnreadPart } from 'memoryd/connector';
import folder from '../../connectors/folder/index.ts';
import { listPage, type ListCursor } from '../../connectors/folder/list.ts';
import { compileConfigGlob } from '../../src/source/context.ts';
import type { FolderConfig } from '../../connectors/folder/config.ts';

export interface LogLine {
  fields: object;
  message: string;
}

export interface TestContext extends Context<FolderConfig> {
  readonly lines: LogLine[];
  /** As when the process dies between two calls. */
  loseSessions(): void;
}

interface ContextOptions {
  signal?: AbortSignal;
  now?: () => Date;
  ownFolders?: readonly string[];
}

/** The least of a context: configuration, sessions, a log that is kept. What a folder has no use for throws. */
export function createContext(config: FolderConfig, options: ContextOptions = {}): TestContext {
  const sessions = new Map<string, unknown>();
  const lines: LogLine[] = [];
  const unused = () => Promise.reject(new Error('not for a folder'));
  const keep = (fields: object, message: string) => void lines.push({ fields, message });
  return {
    config,
    selection: [],
    http: { get: unused, post: unused, request: unused, fetch: unused },
    log: { debug: keep, info: keep, warn: keep },
    signal: options.signal ?? new AbortController().signal,
    now: options.now ?? (() => new Date()),
    token: unused,
    secret: unused,
    async session<Value>(key: string, make: () => Promise<Value>): Promise<Value> {
      if (!sessions.has(key)) sessions.set(key, await make());
      return sessions.get(key) as Value;
    },
    temporaryFolder: unused,
    records: unused,
    addresses: unused,
    ownFolders: options.ownFolders ?? [],
    glob: compileConfigGlob,
    lines,
    loseSessions: () => sessions.clear(),
  };
}

/** An empty folder with its real path, and what removes it. Others may look into it. */
export async function createRoot(): Promise<{ root: string; remove: () => Promise<void> }> {
  const outer = await realpath(await mkdtemp(join(tmpdir(), 'memoryd-folder-')));
  await chmod(outer, 0o755);
  const root = join(outer, 'root');
  await mkdir(root);
  return { root, remove: () => rm(outer, { recursive: true, force: true }) };
}

/** Writes files by their paths from the root; the text is the path unless it is given. */
export async function writeTree(root: string, files: readonly string[] | Record<string, string>): Promise<void> {
  const texts = Array.isArray(files) ? files.map((path: string) => [path, path]) : Object.entries(files);
  for (const [path, text] of texts) {
    await mkdir(dirname(join(root, path!)), { recursive: true });
    await writeFile(join(root, path!), text!);
  }
}

export interface Listing {
  refs: Ref[];
  paths: (string | undefined)[];
  pages: Page<ListCursor>[];
  incomplete: string | undefined;
  unread: UnreadPart[];
}

interface ListingOptions {
  pageSize?: number;
  /** Called between pages. */
  between?: (page: Page<ListCursor>) => unknown;
}

/** A whole listing. Cursors go through JSON, as they do in the database. */
export async function listAll(ctx: TestContext, root: string, options: ListingOptions = {}): Promise<Listing> {
  const pages: Page<ListCursor>[] = [];
  let from: ListCursor | undefined;
  do {
    const page = await listPage(ctx, { id: root }, from, options.pageSize ?? 1_000);
    pages.push(page);
    from = page.next && (JSON.parse(JSON.stringify(page.next)) as ListCursor);
    await options.between?.(page);
  } while (!pages.at(-1)!.done);
  const refs = pages.flatMap((page) => page.refs);
  const unread = pages.flatMap((page) => page.unread ?? []);
  return { refs, paths: refs.map((ref) => ref.path), pages, incomplete: pages.at(-1)!.incomplete, unread };
}

export async function listPaths(config: FolderConfig): Promise<(string | undefined)[]> {
  const ctx = createContext(config);
  const [partition] = await folder.partitions(ctx);
  return (await listAll(ctx, partition!.id)).paths;
}

export async function refOf(root: string, path: string): Promise<Ref> {
  const page = await folder.lookup!(createContext({ path: root }), { id: root }, [join(root, path)]);
  return page.refs[0] ?? { id: join(root, path), rev: '' };
}

/** Runs verbs in a process without the rights of root, where modes count. See folder-child.ts. */
export async function asNobody(task: { config: FolderConfig; verb: string; ids?: string[] }): Promise<any> {
  const other = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const script = join(import.meta.dirname, 'folder-child.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [script, JSON.stringify(task)], other);
  return JSON.parse(stdout);
}
