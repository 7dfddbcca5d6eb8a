import { MemorydError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import type { Embedder } from '../embedder.ts';
import { createMinilmEmbedder } from '../minilm/minilm-embedder.ts';
import { createOnnxFolderEmbedder } from '../onnx-folder/onnx-folder-embedder.ts';
import { runCheck, type Check } from '../self-test.ts';
import type { LocalModelOptions } from '../transformer-embedder.ts';
import { catalogue } from './catalogue.ts';
import { describeRepository } from './describe-repository.ts';
import { createHubClient } from './hub-client.ts';
import {
  folderNameOf,
  openModelFolders,
  requireUnchanged,
  requireWhole,
  type InstalledModel,
  type ModelFolders,
} from './model-folders.ts';
import { pullModel, wantedOf, type PullProgress } from './pull.ts';

/** One line of the list. */
export interface ListedModel {
  name: string;
  /** Null for the built-in one. */
  repository: string | null;
  /** Null when it was not said: a model that is not of the catalogue. */
  languages: string | null;
  dimensions: number | null;
  license: string | null;
  /** Of all files; null for the built-in one, which is part of the installation. */
  bytes: number | null;
  installed: boolean;
  chosen: boolean;
}

export interface PullRequest {
  /** A name of the catalogue, or `owner/name` of a repository. */
  model: string;
  hub: string;
  /** Of a repository: a branch, a tag or a commit. Default `main`. */
  revision?: string | undefined;
  /** Of a repository: the `.onnx` file to take. */
  modelFile?: string | undefined;
  signal: AbortSignal;
  onProgress(progress: PullProgress): void;
}

const builtIn = 'minilm';
const repositoryName = /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*$/;

/** The models that this machine has or could get. */
export async function listModels(dataDir: string): Promise<ListedModel[]> {
  const folders = openModelFolders(dataDir);
  const [installed, chosen] = [await folders.list(), (await folders.chosen()) ?? builtIn];
  const isInstalled = (name: string) => installed.some((model) => model.name === name);
  const own = installed.filter(({ name }) => catalogue.every((model) => model.name !== name));
  return [
    { name: builtIn, languages: 'English', dimensions: 384, license: 'Apache-2.0', ...nowhere, installed: true },
    ...catalogue.map(({ files, settings: _, revision: __, ...model }) => ({
      ...{ ...model, bytes: bytesOf(files), installed: isInstalled(model.name) },
    })),
    ...own.map(({ name, repository, files }) => ({
      ...{ name, repository, languages: null, dimensions: null, license: null, bytes: bytesOf(files), installed: true },
    })),
  ].map((model) => ({ ...model, chosen: model.name === chosen }));
}

const nowhere = { repository: null, bytes: null };

function bytesOf(files: readonly { bytes: number }[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Throws `not_found` for a name that nobody knows; otherwise as `describeRepository` and `pullModel`. */
export async function pull(dataDir: string, request: PullRequest): Promise<InstalledModel> {
  const client = createHubClient(request.hub);
  try {
    const known = catalogue.find(({ name }) => name === request.model);
    if (!known && !repositoryName.test(request.model)) throw unknownName(request.model);
    const { model: repository, revision = 'main', modelFile, signal, onProgress } = request;
    const wanted = known
      ? wantedOf(known)
      : await describeRepository({ client, repository, revision, modelFile, signal });
    return await pullModel(wanted, { client, folders: openModelFolders(dataDir), signal, onProgress });
  } finally {
    await client.close();
  }
}

/**
 * Opens a model, tests it, and makes it the chosen one when it passes. Throws `model_unavailable` when it is
 * not installed, does not open or does not pass; the choice is as before then.
 */
export async function choose(dataDir: string, asked: string): Promise<void> {
  const folders = openModelFolders(dataDir);
  if (asked === builtIn) return folders.choose(null);
  const name = folderNameOf(asked);
  const embedder = await openInstalled(dataDir, name, { threads: 1 });
  try {
    const failed = (await embedder.verify()).checks.filter(({ ok }) => !ok);
    if (failed.length > 0) {
      const details = failed.map((check) => `${check.name}: ${check.detail}`).join('\n');
      throw new MemorydError('model_unavailable', `${name} does not pass its test; nothing has changed.`, { details });
    }
  } finally {
    await embedder.close();
  }
  await folders.choose(name);
}

/** The embedder of the chosen model, or the built-in one. Throws `model_unavailable` when it is gone or damaged. */
export async function openChosen(dataDir: string, options: LocalModelOptions): Promise<Embedder> {
  const name = await openModelFolders(dataDir).chosen();
  return name === null ? createMinilmEmbedder(options) : openInstalled(dataDir, name, options);
}

async function openInstalled(dataDir: string, name: string, options: LocalModelOptions): Promise<Embedder> {
  const folders = openModelFolders(dataDir);
  const model = await folders.find(name);
  if (model === null) throw await notInstalled(name, folders);
  const folder = folders.pathOf(name);
  await requireWhole(folder, model);
  return createOnnxFolderEmbedder({
    ...options,
    ...model.settings,
    folder,
    checkFiles: async () => [await checkFiles(folder, model)],
  });
}

function checkFiles(folder: string, model: InstalledModel): Promise<Check> {
  return runCheck('files', async () => {
    await requireUnchanged(folder, model);
    return { ok: true, detail: `${model.files.length} files in ${folder} are as they arrived` };
  });
}

function unknownName(name: string): MemorydError {
  const meant = nearest(
    name,
    catalogue.map((model) => model.name),
  );
  const guess = meant === null ? '' : ` Did you mean ${meant}?`;
  const message = `There is no model "${name}".${guess} \`memoryd models list\` shows those that are known; a repository of the hub is named owner/name.`;
  return new MemorydError('not_found', message);
}

async function notInstalled(name: string, folders: ModelFolders): Promise<MemorydError> {
  const installed = (await folders.list()).map((model) => model.name);
  const message = `The model "${name}" is not on this machine. \`memoryd models pull ${name}\` gets it; here are ${[builtIn, ...installed].join(', ')}.`;
  return new MemorydError('model_unavailable', message);
}
