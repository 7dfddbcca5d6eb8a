import { MemorydError } from '../../base/errors.ts';
import { modelNames } from '../onnx-folder/folder-files.ts';
import type { HubClient, RemoteFile } from './hub-client.ts';
import { folderNameOf } from './model-folders.ts';
import type { WantedFile, WantedModel } from './pull.ts';

export interface RepositoryOptions {
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
 * What a repository holds of a sentence-transformers model. All files are of the commit that the revision
 * stands for now. Throws `hub_failed` when there is no model or tokenizer, or a hash or size is not stated.
 */
export async function describeRepository(options: RepositoryOptions): Promise<WantedModel> {
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
