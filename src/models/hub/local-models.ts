import { MemorydError } from '../../base/errors.ts';
import { nearest } from '../../base/did-you-mean.ts';
import type { Embedder } from '../embedder.ts';
import { createMinilmEmbedder } from '../minilm/minilm-embedder.ts';
import { createOnnxFolderEmbedder } from '../onnx-folder/onnx-folder-embedder.ts';
import { runCheck, type SelfCheck } from '../self-test.ts';
import type { LocalModelOptions } from '../transformer-embedder.ts';
import { catalogue } from './catalogue.ts';
import { createHubClient, type HubClient, type RemoteFile } from './hub-client.ts';
import {
  folderNameOf,
  openModelFolders,
  requireUnchanged,
  requireWhole,
  type InstalledModel,
  type ModelFolders,
} from './model-folders.ts';
import { pullModel, wantedOf, type PullProgress, type WantedFile, type WantedModel } from './pull.ts';
import { modelNames } from '../onnx-folder/folder-files.ts';

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

function checkFiles(folder: string, model: InstalledModel): Promise<SelfCheck> {
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

interface RepositoryOptions {
  client: HubClient;
  /** `owner/name`. */
  repository: string;
  /** A branch, a tag or a commit. */
  revision: string;
  /** Which `.onnx` file to take. By default the usual names are tried. */
  modelFile?: string | undefined;
  signal: AbortSignal;
}

/** Each is read where it exists; the pooling, the prefixes and the length of a text stand in them. */
const settingsFiles = [
  'config.json',
  'tokenizer_config.json',
  'sentence_bert_config.json',
  '1_Pooling/config.json',
  'config_sentence_transformers.json',
  'modules.json',
];
const tokenizerNames = ['tokenizer.json', 'onnx/tokenizer.json'];
/** Nobody needs more; a hub that states more is wrong. */
const maxFileBytes = 16 * 1024 ** 3;

/**
 * Lists a repository's files of a sentence-transformers model. All are of the commit that the revision
 * stands for now. Throws `hub_failed` when there is no model or tokenizer, or a hash or size is not stated.
 */
async function describeRepository(options: RepositoryOptions): Promise<WantedModel> {
  const { repository, modelFile } = options;
  const model = await firstOf(options, modelFile === undefined ? modelNames : [modelFile]);
  const pinned = { ...options, revision: model.commit ?? options.revision };
  const files = [
    model.file,
    ...(await existing(pinned, [`${model.file.path}_data`])),
    (await firstOf(pinned, tokenizerNames)).file,
    ...(await existing(pinned, settingsFiles)),
  ];
  return {
    name: folderNameOf(repository),
    repository,
    revision: pinned.revision,
    files,
    settings: { modelFile: model.file.path },
  };
}

async function firstOf(options: RepositoryOptions, paths: readonly string[]) {
  for (const path of paths) {
    const found = await look(options, path);
    if (found) return found;
  }
  const { repository, revision } = options;
  throw new MemorydError('hub_failed', `${repository} (${revision}) holds none of ${paths.join(', ')}.`);
}

async function existing(options: RepositoryOptions, paths: readonly string[]): Promise<WantedFile[]> {
  const found = await Promise.all(paths.map((path) => look(options, path)));
  return found.filter((one) => one !== null).map(({ file }) => file);
}

async function look(options: RepositoryOptions, path: string) {
  const { client, repository, revision, signal } = options;
  const remote: RemoteFile = { repository, revision, path };
  const stated = await client.describe(remote, signal);
  if (stated === null) return null;
  const { bytes, hash, commit } = stated;
  if (bytes === null || bytes > maxFileBytes || hash === null) {
    const what = hash === null ? 'hash' : 'size';
    const message = `The hub states no ${what} for ${path} of ${repository}, so it cannot be told whether it arrives whole.`;
    throw new MemorydError('hub_failed', message);
  }
  return { file: { path, bytes, hash }, commit };
}
