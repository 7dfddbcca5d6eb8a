import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MemorydError } from '../../base/errors.ts';
import type { CatalogueModel, HubFile } from './catalogue.ts';
import { hashesOfFile } from './file-hash.ts';

/** The record that is written beside a model's files once all of them are there. */
export type InstalledModel = Pick<CatalogueModel, 'name' | 'repository' | 'revision' | 'files' | 'settings'>;

/** The models of a data directory, each in a folder of its name, and which of them is chosen. */
export interface ModelFolders {
  pathOf(name: string): string;
  /** Where the files of a model arrive. */
  arrivalOf(name: string): string;
  list(): Promise<InstalledModel[]>;
  find(name: string): Promise<InstalledModel | null>;
  /** Makes what has arrived the model of this name, in place of one that was there. */
  install(model: InstalledModel): Promise<void>;
  /** Null: the built-in one. Throws `model_unavailable` when the choice cannot be read. */
  chosen(): Promise<string | null>;
  choose(name: string | null): Promise<void>;
}

const manifestName = 'memoryd-model.json';
const choiceName = 'chosen.json';
const arrival = '.part';
const privateMode = 0o700;
const plainName = /^[A-Za-z0-9][\w.-]*$/;

/** A repository has a folder too, named `owner--name`. */
export function folderNameOf(model: string): string {
  return model.replace('/', '--');
}

export function openModelFolders(dataDir: string): ModelFolders {
  const root = join(dataDir, 'models');
  const pathOf = (name: string) => join(root, name);
  const arrivalOf = (name: string) => join(root, name + arrival);
  const find = async (name: string) =>
    plainName.test(name) ? readJson<InstalledModel>(join(pathOf(name), manifestName)) : null;
  return {
    pathOf,
    arrivalOf,
    find,
    async list() {
      const names = (await readdir(root).catch(() => [])).filter((name) => !name.endsWith(arrival));
      const found = await Promise.all(names.map((name) => find(name).catch(() => null)));
      return found.filter((model) => model !== null);
    },
    async install(model) {
      const [from, to, old] = [arrivalOf(model.name), pathOf(model.name), `${pathOf(model.name)}.old${arrival}`];
      await writeFile(join(from, manifestName), `${JSON.stringify(model, null, 2)}\n`);
      await rm(old, { recursive: true, force: true });
      await rename(to, old).catch(unlessMissing);
      await rename(from, to);
      await rm(old, { recursive: true, force: true });
    },
    async chosen() {
      return (await readJson<{ name: string | null }>(join(root, choiceName)))?.name ?? null;
    },
    async choose(name) {
      await mkdir(root, { recursive: true, mode: privateMode });
      await writeFile(join(root, choiceName + arrival), `${JSON.stringify({ name })}\n`);
      await rename(join(root, choiceName + arrival), join(root, choiceName));
    },
  };
}

/** Throws `model_unavailable` when a file is missing or has another size than when it arrived. Reads none of them. */
export async function requireWhole(folder: string, { name, files }: InstalledModel): Promise<void> {
  for (const file of files) {
    const found = await stat(join(folder, file.path)).catch(() => null);
    if (found?.size !== file.bytes) throw damaged(name, file, found ? `has ${found.size} bytes` : 'is missing');
  }
}

/** The same by the contents of the files. */
export async function requireUnchanged(folder: string, model: InstalledModel): Promise<void> {
  await requireWhole(folder, model);
  for (const file of model.files) {
    const { sha256 } = await hashesOfFile(join(folder, file.path));
    if (sha256 !== file.sha256) throw damaged(model.name, file, 'has changed since it arrived');
  }
}

function damaged(name: string, { path }: HubFile, what: string): MemorydError {
  const message = `${path} of the model ${name} ${what}. \`memoryd models pull ${name}\` gets it again.`;
  return new MemorydError('model_unavailable', message);
}

async function readJson<Content>(path: string): Promise<Content | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Content;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new MemorydError('model_unavailable', `${path} cannot be read.`, { cause });
  }
}

function unlessMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
