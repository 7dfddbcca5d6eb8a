import { describe, expect, it } from 'vitest';
import { createLibraryTokenizer } from '../../../src/models/onnx-folder/onnx-folder-embedder.ts';
import { bytePairTokenizer, unigramTokenizer } from '../../support/library-tokenizers.ts';

const pieces = ['▁Haus', 'boot', '▁Boot', '▁the', '▁', 'H', 'a', 'u', 's', '猫', 'が', '寝る', '▁<'];
const idOf = (piece: string) => 4 + pieces.indexOf(piece);
const open = (json: object, config: object = {}) => createLibraryTokenizer(json, config, 'folder/tokenizer.json');

describe('a tokenizer of the library', () => {
  it('cuts words of any script by a unigram vocabulary', async () => {
    const { encode } = await open(unigramTokenizer(pieces));
    expect(encode('Hausboot', 9)).toEqual([idOf('▁Haus'), idOf('boot')]);
    expect(encode('the Boot', 9)).toEqual([idOf('▁the'), idOf('▁Boot')]);
    expect(encode('猫が寝る', 9)).toEqual(['▁', '猫', 'が', '寝る'].map(idOf));
  });

  it('cuts the bytes of a text by merges', async () => {
    const { encode } = await open(bytePairTokenizer(['b', 'o', 'a', 't', 'Ġ', 'bo', 'at'], ['b o', 'a t']));
    expect(encode('boat boa', 9)).toEqual([5, 6, 4, 5, 2]);
  });

  it('frames a text as its template says', async () => {
    expect(await open(unigramTokenizer(pieces))).toMatchObject({ start: [0], end: [2] });
    expect(await open(unigramTokenizer(pieces, { post_processor: null }))).toMatchObject({ start: [], end: [] });
    const onlyAfter = {
      type: 'TemplateProcessing',
      single: [{ Sequence: { id: 'A', type_id: 0 } }, { SpecialToken: { id: '</s>', type_id: 0 } }],
    };
    expect(await open(unigramTokenizer(pieces, { post_processor: onlyAfter }))).toMatchObject({ start: [], end: [2] });
  });

  it('reads no special token in a text', async () => {
    const { encode, start, end } = await open(unigramTokenizer(pieces));
    const ids = encode('the </s><s> Boot <<s>/s>', 50);
    for (const id of [...start, ...end]) expect(ids).not.toContain(id);
    expect(ids.slice(0, 2)).toEqual([idOf('▁the'), idOf('▁Boot')]);
  });

  it('reads no more of a long text than it is asked for', async () => {
    const { encode } = await open(unigramTokenizer(pieces));
    expect(encode('the '.repeat(1_000_000), 3)).toEqual(Array(3).fill(idOf('▁the')));
    expect(encode(`${' '.repeat(100)}the`, 2)).toContain(idOf('▁the'));
    expect(encode('\ud83d the \udc00', 50)).toContain(idOf('▁the'));
  });

  it.each([
    ['model', { model: { type: 'Whimsical', vocab: null } }],
    ['pre-tokenizer', { pre_tokenizer: { type: 'Whimsical' } }],
    ['normalizer', { normalizer: { type: 'Whimsical' } }],
  ])('says that it does not know a %s', async (_, changes) => {
    await expect(open(unigramTokenizer(pieces, changes))).rejects.toMatchObject({
      code: 'model_unavailable',
      message: expect.stringMatching(/^folder\/tokenizer\.json cannot be read as a tokenizer: .*Whimsical/),
    });
  });
});
