import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { localModels } from '../../src/adapters.ts';
import { runCommand } from '../support/command-line.ts';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { unigramTokenizer } from '../support/library-tokenizers.ts';
import { topics, writeModelFolder, type ModelFolder } from '../support/model-folder.ts';
import { startModelHub, type ModelHub } from '../support/model-hub.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Words of four languages that mean the same. */
const meanings = [
  ['katze', 'chat', 'gato', '猫'],
  ['bahnhof', 'gare', 'estación', '駅'],
  ['brot', 'pain', 'pan', '面包'],
];
const documents = ['Unsere Katze schläft.', 'Wir treffen uns am Bahnhof.', 'Das Brot ist frisch.'];

let hub: ModelHub;
let folder: ModelFolder;
let dataDir: string;
let daemon: Daemon;

beforeAll(async () => {
  hub = await startModelHub();
  dataDir = await temporaryFolder('memoryd-models-');
  const words = [...topics, ...meanings].flat();
  folder = await writeModelFolder({
    topics: [...topics, ...meanings],
    modelFile: 'onnx/model.onnx',
    files: {
      'tokenizer.json': unigramTokenizer(
        words.map((word) => (/\p{Script=Han}/u.test(word) ? word : `▁${word}`)),
        { normalizer: { type: 'Sequence', normalizers: [{ type: 'NFKC' }, { type: 'Lowercase' }] } },
      ),
    },
  });
  await hub.publish('example/multilingual', folder.path);
});
afterAll(async () => {
  await daemon.kill();
  await hub.close();
  await folder.remove();
  await rm(dataDir, { recursive: true });
});

async function call(path: string, body?: object): Promise<any> {
  const response = await fetch(`${daemon.url}${path}`, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { authorization: `Bearer ${daemon.key}`, 'content-type': 'application/json' },
  });
  return response.json();
}

async function found(q: string): Promise<string[]> {
  const { results } = await call('/v4/search', { q, searchMode: 'documents', containerTag: 'home' });
  return results.map((result: { chunk: string }) => result.chunk);
}

function memoryd(...args: string[]) {
  const env = { MEMORYD_EMBEDDER_HUB: hub.url, MEMORYD_DATA_DIR: dataDir };
  return runCommand(args, { env, localModels });
}

it('finds by meaning across languages once a model for them is pulled and used', { timeout: 120_000 }, async () => {
  daemon = await startDaemon({ dataDir });
  for (const content of documents) {
    const { id } = await call('/v3/documents', { content, containerTag: 'home', customId: content.slice(0, 3) });
    await expect.poll(async () => (await call(`/v3/documents/${id}`)).status, { timeout: 30_000 }).toBe('done');
  }
  await daemon.stop();

  const pulled = await memoryd('models', 'pull', 'example/multilingual');
  expect(pulled).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('onnx/model.onnx') });
  expect(await memoryd('models', 'use', 'example/multilingual')).toMatchObject({ exitCode: 0 });
  expect((await memoryd('models', 'list')).stdout).toMatch(/^example--multilingual .* in use$/m);

  daemon = await startDaemon({ dataDir });
  expect(await found('Bahnhof')).toEqual([documents[1]]);
  for (const [index, [, french, spanish, chinese]] of meanings.entries()) {
    for (const query of [french, spanish, chinese]) {
      await expect.poll(async () => (await found(query!))[0], { timeout: 30_000 }).toBe(documents[index]);
    }
  }
});
