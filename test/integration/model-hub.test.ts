import { readFileSync } from 'node:fs';
import { readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { catalogue } from '../../src/models/hub/catalogue.ts';
import { createHubClient } from '../../src/models/hub/hub-client.ts';
import { choose, listModels, openChosen, pull } from '../../src/models/hub/local-models.ts';
import { openModelFolders } from '../../src/models/hub/model-folders.ts';
import { pullModel } from '../../src/models/hub/pull.ts';
import { topics, writeModelFolder, type ModelFolder, type ModelFolderOptions } from '../support/model-folder.ts';
import { startModelHub, type ModelHub } from '../support/model-hub.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const repository = 'example/tiny';
const name = 'example--tiny';

let hub: ModelHub;
let dataDir: string;
let folder: ModelFolder;
const written: ModelFolder[] = [];

beforeEach(async () => {
  hub = await startModelHub();
  dataDir = await temporaryFolder();
  folder = await publish();
});
afterEach(async () => {
  await hub.close();
  await rm(dataDir, { recursive: true });
  for (const each of written.splice(0)) await each.remove();
});

/** A tiny model at the hub, in place of the one before. */
async function publish(options: Partial<ModelFolderOptions> = {}): Promise<ModelFolder> {
  const made = await writeModelFolder({ topics, modelFile: 'onnx/model.onnx', ...options });
  written.push(made);
  await hub.publish(repository, made.path);
  return made;
}

interface Changes {
  model?: string;
  hub?: string;
  revision?: string;
  modelFile?: string;
  signal?: AbortSignal;
  onProgress?(progress: { receivedBytes: number; totalBytes: number }): void;
}

function get(changes: Changes = {}) {
  const signal = new AbortController().signal;
  return pull(dataDir, { model: repository, hub: hub.url, signal, onProgress() {}, ...changes });
}

/** A pull that ends after the first 1,000 bytes. */
async function interrupt(): Promise<void> {
  const arrived = Promise.withResolvers<void>();
  hub.faults.breaksAfter.set('onnx/model.onnx', { bytes: 1_000, when: arrived.promise });
  await expect(get({ onProgress: () => arrived.resolve() })).rejects.toMatchObject(
    hubFailed('onnx/model.onnx did not arrive as a whole'),
  );
}

const modelBytes = (from: string) => readFileSync(join(from, 'onnx/model.onnx'));
const installedPath = () => join(dataDir, 'models', name);
const chosen = () => openModelFolders(dataDir).chosen();
const hubFailed = (message: string) => ({ code: 'hub_failed', message: expect.stringContaining(message) });

describe('a model of a hub', { timeout: 30_000 }, () => {
  it('is pulled at one commit, with what its settings say and its hashes', async () => {
    const progress: number[] = [];
    const model = await get({
      onProgress: ({ receivedBytes, totalBytes }) => progress.push(receivedBytes / totalBytes),
    });
    expect(model).toMatchObject({ name, repository, revision: hub.commit, settings: { modelFile: 'onnx/model.onnx' } });
    expect(model.files.map(({ path }) => path)).toEqual([
      'onnx/model.onnx',
      'tokenizer.json',
      'config.json',
      '1_Pooling/config.json',
    ]);
    expect(modelBytes(installedPath())).toEqual(modelBytes(folder.path));
    expect(progress).toEqual(progress.toSorted((left, right) => left - right));
    expect(progress.at(-1)).toBe(1);
    const fetched = hub.requests.filter(({ method }) => method === 'GET');
    expect(fetched.every(({ path }) => path.includes(`/resolve/${hub.commit}/`))).toBe(true);
    expect(await readdir(join(dataDir, 'models'))).toEqual([name]);
  });

  it('is used from then on, and its text vectors are its own', async () => {
    await get();
    const builtIn = await openChosen(dataDir, { threads: 1 });
    expect(builtIn.id).toBe('minilm-l6-v2');
    await builtIn.close();
    await choose(dataDir, repository);
    const embedder = await openChosen(dataDir, { threads: 1 });
    expect(embedder).toMatchObject({ id: expect.stringContaining(`onnx:${name}:`), dimensions: 32, maxTokens: 62 });
    expect(await embedder.verify()).toMatchObject({ ok: true });
    await embedder.close();
    const list = await listModels(dataDir);
    expect(list.filter((model) => model.chosen).map((model) => model.name)).toEqual([name]);
    expect(list.at(-1)).toMatchObject({ name, repository, installed: true });
    await choose(dataDir, 'minilm');
    expect(await chosen()).toBe(null);
  });

  it('goes on where it was interrupted', async () => {
    await interrupt();
    expect(await listModels(dataDir)).not.toContainEqual(expect.objectContaining({ name }));
    await get();
    expect(hub.requests.filter(({ range }) => range !== undefined).map(({ range }) => range)).toContain('bytes=1000-');
    expect(modelBytes(installedPath())).toEqual(modelBytes(folder.path));
  });

  it('is fetched from the beginning by a hub that sends no parts', async () => {
    hub.faults.ignoresRanges = true;
    await interrupt();
    await get();
    expect(modelBytes(installedPath())).toEqual(modelBytes(folder.path));
  });

  it('keeps what has arrived when it is called off', async () => {
    const stop = new AbortController();
    const reason = new Error('enough');
    await expect(get({ signal: stop.signal, onProgress: () => stop.abort(reason) })).rejects.toBe(reason);
    expect(await openModelFolders(dataDir).list()).toEqual([]);
    await get();
    expect(modelBytes(installedPath())).toEqual(modelBytes(folder.path));
  });

  it.each([
    ['other bytes', (bytes: Buffer) => bytes.map((byte) => byte ^ 1), 'is not the file that it must be'],
    ['fewer bytes', (bytes: Buffer) => bytes.subarray(1), 'ended after'],
    ['more bytes', (bytes: Buffer) => Buffer.concat([bytes, bytes]), 'is longer than the'],
  ])('is not installed when the hub sends %s than it states; one that is there stays', async (_, lie, message) => {
    await get();
    const before = modelBytes(installedPath());
    folder = await publish({ topics: topics.toReversed() });
    expect(modelBytes(folder.path)).not.toEqual(before);
    hub.faults.lies.set('onnx/model.onnx', lie(modelBytes(folder.path)));
    await expect(get()).rejects.toMatchObject(hubFailed(message));
    expect(modelBytes(installedPath())).toEqual(before);
    hub.faults.lies.clear();
    await get();
    expect(modelBytes(installedPath())).toEqual(modelBytes(folder.path));
  });

  it('of the catalogue is the one that was published, whatever a hub has under its name', async () => {
    const known = catalogue.find((model) => model.name === 'arctic-embed-s')!;
    await hub.publish(known.repository, folder.path);
    hub.faults.statesNoHash = true;
    const content = Buffer.alloc(known.files[0]!.bytes);
    await writeFile(join(folder.path, known.files[0]!.path), content);
    await hub.publish(known.repository, folder.path);
    await expect(get({ model: known.name })).rejects.toMatchObject(hubFailed('is not the file that it must be'));
    expect(await openModelFolders(dataDir).list()).toEqual([]);
  });

  it.each([
    ['no repository', { model: 'example/none' }, 'hub_failed', 'holds none of model.onnx'],
    ['no such file', { modelFile: 'onnx/int8.onnx' }, 'hub_failed', 'holds none of onnx/int8.onnx'],
    ['a name that nobody knows', { model: 'beko-a8m' }, 'not_found', 'Did you mean bekko-a8m?'],
    ['a path for a name', { model: '../../etc' }, 'not_found', 'There is no model "../../etc".'],
    ['nobody at its address', { hub: 'http://127.0.0.1:9' }, 'hub_failed', '127.0.0.1:9 does not answer: '],
  ])('is asked for in vain: %s', async (_, changes, code, message) => {
    await expect(get(changes)).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
    expect(await openModelFolders(dataDir).list()).toEqual([]);
  });

  it('is refused by a hub that fails, or that says no hash', async () => {
    hub.faults.status = 401;
    await expect(get()).rejects.toMatchObject(hubFailed('only for those who sign in'));
    hub.faults.status = 500;
    await expect(get()).rejects.toMatchObject(hubFailed('answers 500'));
    hub.faults.status = null;
    hub.faults.statesNoHash = true;
    await expect(get()).rejects.toMatchObject(hubFailed('states no hash for onnx/model.onnx'));
  });

  it('is not begun when there is no room for it', async () => {
    const client = createHubClient(hub.url);
    const file = {
      path: 'onnx/model.onnx',
      bytes: Number.MAX_SAFE_INTEGER,
      hash: { kind: 'git', digits: 'a' } as const,
    };
    const model = { name, repository, revision: 'main', files: [file], settings: { modelFile: file.path } };
    const options = {
      client,
      folders: openModelFolders(dataDir),
      signal: new AbortController().signal,
      onProgress() {},
    };
    await expect(pullModel(model, options)).rejects.toMatchObject({ code: 'disk_full' });
    expect(hub.requests).toEqual([]);
    await client.close();
  });

  it.each([
    [
      'has a tokenizer that nobody reads',
      { files: { 'tokenizer.json': { model: { type: 'Whimsical' } } } },
      'Whimsical',
    ],
    ['is no model', { files: { 'onnx/model.onnx': 'not a model' } }, 'cannot be opened as an ONNX model'],
    ['tells nothing apart', { topics: [['a', 'b']] }, 'does not pass its test'],
  ])('is not taken into use when it %s; the one before stays', async (_, options, message) => {
    await get();
    await choose(dataDir, name);
    await hub.close();
    hub = await startModelHub();
    const other = await writeModelFolder({ topics, modelFile: 'onnx/model.onnx', ...options });
    written.push(other);
    await hub.publish('example/other', other.path);
    await get({ model: 'example/other' });
    await expect(choose(dataDir, 'example/other')).rejects.toMatchObject({
      code: 'model_unavailable',
      message: expect.stringContaining(message),
    });
    expect(await chosen()).toBe(name);
  });

  it('that is gone or damaged says how to get it again', async () => {
    await expect(choose(dataDir, 'bekko-a8m')).rejects.toMatchObject({
      message: expect.stringContaining('`memoryd models pull bekko-a8m` gets it'),
    });
    await expect(choose(dataDir, '../..')).rejects.toMatchObject({ code: 'model_unavailable' });
    await get();
    await choose(dataDir, name);
    const path = join(installedPath(), 'onnx/model.onnx');
    const bytes = modelBytes(installedPath());
    await writeFile(
      path,
      bytes.map((byte, index) => (index === 100 ? byte ^ 1 : byte)),
    );
    const embedder = await openChosen(dataDir, { threads: 1 });
    const report = await embedder.verify();
    expect(report.checks[0]).toMatchObject({
      name: 'files',
      ok: false,
      detail: expect.stringContaining('has changed'),
    });
    await embedder.close();
    await truncate(path, 100);
    await expect(openChosen(dataDir, {})).rejects.toMatchObject({
      code: 'model_unavailable',
      message: expect.stringContaining(`has 100 bytes. \`memoryd models pull ${name}\``),
    });
    await rm(installedPath(), { recursive: true });
    await expect(openChosen(dataDir, {})).rejects.toMatchObject({ code: 'model_unavailable' });
  });
});
