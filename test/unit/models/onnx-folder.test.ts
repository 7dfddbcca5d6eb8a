import { basename } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Embedder } from '../../../src/models/embedder.ts';
import {
  createOnnxFolderEmbedder,
  type OnnxFolderOptions,
} from '../../../src/models/onnx-folder/onnx-folder-embedder.ts';
import { cosine } from '../../../src/models/vector.ts';
import { unigramTokenizer } from '../../support/library-tokenizers.ts';
import {
  fatalWord,
  topics,
  writeModelFolder,
  type ModelFolder,
  type ModelFolderOptions,
} from '../../support/model-folder.ts';

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

async function write(options: Partial<ModelFolderOptions> = {}): Promise<ModelFolder> {
  const folder = await writeModelFolder({ topics, ...options });
  cleanUps.push(() => folder.remove());
  return folder;
}

async function open(
  folderOptions: Partial<ModelFolderOptions> = {},
  options: Partial<OnnxFolderOptions> = {},
): Promise<Embedder> {
  const { path } = await write(folderOptions);
  const embedder = await createOnnxFolderEmbedder({ folder: path, threads: 1, ...options });
  cleanUps.push(() => embedder.close());
  return embedder;
}

describe('ONNX folder', { timeout: 30_000 }, () => {
  it('is described by its files', async () => {
    const { path } = await write({ files: { 'sentence_bert_config.json': { max_seq_length: 40 } } });
    const embedder = await createOnnxFolderEmbedder({ folder: path });
    expect(embedder).toMatchObject({ dimensions: 32, maxTokens: 38 });
    expect(embedder.id).toMatch(new RegExp(`^onnx:${basename(path)}:[0-9a-f]{12}$`));
    expect(embedder.relatedAt).toBeGreaterThan(0.2);
    expect(await embedder.verify()).toMatchObject({ ok: true, runtime: 'onnxruntime-node' });
    await embedder.close();
  });

  it.each(['model.onnx', 'onnx/model.onnx', 'model_quantized.onnx', 'onnx/model_quantized.onnx'])(
    'finds %s',
    async (modelFile) => {
      expect(await (await open({ modelFile })).embed(['meeting'])).toHaveLength(1);
    },
  );

  it('takes the file it is told to take', async () => {
    const embedder = await open({ modelFile: 'onnx/model_fp16.onnx' }, { modelFile: 'onnx/model_fp16.onnx' });
    expect(await embedder.embed(['meeting'])).toHaveLength(1);
  });

  it('feeds int32 and int64, on both libraries, with the same result', async () => {
    const expected = await (await open()).embed(['meeting on thursday']);
    for (const idType of ['int32', 'int64'] as const) {
      for (const runtime of ['onnxruntime-node', 'onnxruntime-web'] as const) {
        const [vector] = await (await open({ idType }, { runtime })).embed(['meeting on thursday']);
        expect(cosine(vector!, expected[0]!)).toBeGreaterThan(0.99999);
      }
    }
  });

  it('takes the mean of the tokens, the first token, or what the model has pooled', async () => {
    const firstToken = { '1_Pooling/config.json': { pooling_mode_cls_token: true, pooling_mode_mean_tokens: false } };
    const [mean, first, pooled] = [
      await open(),
      await open({ files: firstToken }),
      await open({ output: 'sentence_embedding', files: firstToken }),
    ];
    const text = ['meeting database music'];
    const vectors = [await mean.embed(text), await first.embed(text), await pooled.embed(text)].map(
      ([vector]) => vector!,
    );
    expect(cosine(vectors[0]!, vectors[2]!)).toBeGreaterThan(0.99999);
    // The first token is [CLS] whatever the text is.
    expect(vectors[1]).toEqual((await first.embed(['puppy']))[0]);
    expect(cosine(vectors[0]!, vectors[1]!)).toBeLessThan(0.99);
  });

  it('reads a tokenizer that is not of the BERT family', async () => {
    const words = topics.flat().map((word) => `▁${word}`);
    const embedder = await open({ files: { 'tokenizer.json': unigramTokenizer(words) } });
    const plain = await open();
    // Both vocabularies begin with four special tokens, and the words follow in the same order.
    const [vector] = await embedder.embed(['meeting database']);
    const [expected] = await plain.embed(['meeting database']);
    expect(cosine(vector!, expected!)).toBeGreaterThan(0.9);
    expect(embedder.tokens).toEqual({ kind: 'estimate' });
  });

  it('puts the prompts of the folder before the texts, unless it is given others', async () => {
    const files = { 'config_sentence_transformers.json': { prompts: { query: 'music jazz ', passage: 'dog ' } } };
    const plain = await open();
    const prompted = await open({ files });
    const given = await open({ files }, { prefixes: { query: '', document: 'nuts ' } });
    const query = { kind: 'query' } as const;
    expect(await prompted.embed(['meeting'], query)).toEqual(await plain.embed(['music jazz meeting']));
    expect(await prompted.embed(['meeting'])).toEqual(await plain.embed(['dog meeting']));
    expect(await given.embed(['meeting'], query)).toEqual(await plain.embed(['meeting']));
    expect(await given.embed(['meeting'])).toEqual(await plain.embed(['nuts meeting']));
    expect(new Set([plain.id, prompted.id, given.id].map((id) => id.split(':')[2])).size).toBe(3);
  });

  it.each<[string, Partial<ModelFolderOptions>, string]>([
    ['no model', { files: { 'model.onnx': null } }, 'holds none of model.onnx'],
    ['no tokenizer', { files: { 'tokenizer.json': null } }, 'holds none of tokenizer.json'],
    ['a damaged model', { files: { 'model.onnx': 'not a model' } }, 'cannot be opened as an ONNX model'],
    ['settings that are not JSON', { files: { 'config.json': '{' } }, 'config.json is not valid JSON'],
    [
      'a tokenizer that nobody knows',
      { files: { 'tokenizer.json': { model: { type: 'Whimsical' } } } },
      'Unknown TokenizerModel type: Whimsical',
    ],
    [
      'another pooling',
      { files: { '1_Pooling/config.json': { pooling_mode_max_tokens: true } } },
      'pooling_mode_max_tokens',
    ],
    ['another output', { output: 'logits' }, 'has the outputs logits'],
    [
      'layers after the pooling that the file lacks',
      { files: { 'modules.json': [{ type: 'sentence_transformers.models.Dense' }] } },
      'one of sentence_embedding is needed',
    ],
  ])('refuses a folder with %s', async (_, folderOptions, message) => {
    await expect(open(folderOptions)).rejects.toMatchObject({
      code: 'model_unavailable',
      message: expect.stringContaining(message),
    });
  });

  it('fails only the call whose text ends the thread, and starts another one', async () => {
    const embedder = await open();
    const expected = await embedder.embed(['meeting']);
    await expect(embedder.embed([fatalWord])).rejects.toMatchObject({ code: 'embed_failed', retryAfterMs: 1_000 });
    const long = `meeting ${'the '.repeat(60)}`;
    const [failed, ...served] = await Promise.allSettled([
      embedder.embed([`${long} ${fatalWord}`, fatalWord], { kind: 'query' }),
      ...Array.from({ length: 6 }, () => embedder.embed(['meeting'])),
    ]);
    expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'embed_failed' } });
    for (const outcome of served) expect(outcome).toEqual({ status: 'fulfilled', value: expected });
  });
});
