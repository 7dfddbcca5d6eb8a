import { describe, expect, it } from 'vitest';
import { MemorydError } from '../../../src/base/errors.ts';
import { parseTokenizer } from '../../../src/models/token-counting.ts';
import { tokenizerJson } from '../../support/model-folder.ts';

const vocabulary = ['[UNK]', '<s>', '[CLS]', '[SEP]', 'Über', 'uber', 'über', 'ü', '##ber', '北', '京', '北京'];

function parse(changes: Record<string, unknown>) {
  return parseTokenizer(JSON.stringify({ ...tokenizerJson(vocabulary), ...changes }), 'folder/tokenizer.json');
}

function idOf(token: string): number {
  return vocabulary.indexOf(token);
}

describe('tokenizer.json', () => {
  it('takes off accents when it lowers case, unless it says otherwise', () => {
    const normalizer = { type: 'BertNormalizer', lowercase: true, strip_accents: null };
    expect(parse({ normalizer }).encode('Über', 9)).toEqual([idOf('uber')]);
    expect(parse({ normalizer: { ...normalizer, strip_accents: false } }).encode('Über', 9)).toEqual([idOf('über')]);
    expect(parse({ normalizer: { ...normalizer, lowercase: false } }).encode('Über', 9)).toEqual([idOf('Über')]);
  });

  it('makes each ideograph a word, unless it says otherwise', () => {
    expect(parse({}).encode('北京', 9)).toEqual([idOf('北'), idOf('京')]);
    const normalizer = { type: 'BertNormalizer', handle_chinese_chars: false };
    expect(parse({ normalizer }).encode('北京', 9)).toEqual([idOf('北京')]);
  });

  it.each([
    [
      'a template',
      {
        type: 'TemplateProcessing',
        single: [{ SpecialToken: { id: '<s>' } }, { Sequence: { id: 'A' } }, { SpecialToken: { id: '[SEP]' } }],
      },
      '<s>',
      '[SEP]',
    ],
    ['two tokens', { type: 'BertProcessing', cls: ['[SEP]', 3], sep: ['<s>', 1] }, '[SEP]', '<s>'],
    ['nothing', null, '[CLS]', '[SEP]'],
  ])('frames texts by %s', (_, post_processor, start, end) => {
    const framed = parse({ post_processor });
    expect([...framed.start, ...framed.end]).toEqual([idOf(start), idOf(end)]);
  });

  it.each([
    ['model', { model: { type: 'BPE' } }, 'the model is of type "BPE"'],
    ['normalizer', { normalizer: { type: 'Precompiled' } }, 'the normalizer is of type "Precompiled"'],
    ['pre_tokenizer', { pre_tokenizer: null }, 'the pre_tokenizer is of type "none"'],
    ['vocabulary', { model: { type: 'WordPiece', vocab: { a: 0 } } }, 'vocabulary lacks "[UNK]"'],
  ])('says which %s it cannot read', (_, changes, message) => {
    let thrown: unknown;
    try {
      parse(changes);
    } catch (error) {
      thrown = error;
    }
    expect(MemorydError.is(thrown)).toBe(true);
    expect(thrown).toMatchObject({ code: 'model_unavailable', message: expect.stringContaining(message) });
  });

  it('says where the JSON is broken', () => {
    expect(() => parseTokenizer('{', 'folder/tokenizer.json')).toThrow('folder/tokenizer.json is not valid JSON');
  });
});
