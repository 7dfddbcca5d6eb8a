import type { ModelSettings } from '../onnx-folder/folder-files.ts';

/** One file of a repository. */
export interface HubFile {
  /** Relative to the repository, with slashes. */
  path: string;
  bytes: number;
  /** Hexadecimal digits. */
  sha256: string;
}

/** A model of a hub, as it was published once: other files under its name are refused. */
export interface CatalogueModel {
  name: string;
  /** `owner/name` at the hub. */
  repository: string;
  /** A commit. */
  revision: string;
  languages: string;
  dimensions: number;
  license: string;
  files: readonly HubFile[];
  settings: ModelSettings & { modelFile: string };
}

/** Texts are cut into chunks of 256 tokens; a longer window would only make long queries slow. */
const maxLength = 512;

/** Small models that run on a processor, those for many languages first. Their cards name the prefixes and the pooling. */
export const catalogue: readonly CatalogueModel[] = [
  {
    name: 'bekko-a8m',
    repository: 'hotchpotch/bekko-embedding-v1-a8m',
    revision: 'c721113d59a1d91b447450324f51c4b3332c924a',
    languages: 'many',
    dimensions: 384,
    license: 'MIT',
    files: [
      {
        path: 'onnx/model.onnx',
        bytes: 130_099_079,
        sha256: '96d8cc6199e96357b21b2fb12f6d7ffd2d4abc7b182fe94b5468fbd6dc819af7',
      },
      {
        path: 'tokenizer.json',
        bytes: 34_363_442,
        sha256: '8bd47075711f75a143d1b78e01a41cc65c1c591b00d3cfeffc23db07adce1392',
      },
      {
        path: 'tokenizer_config.json',
        bytes: 46_634,
        sha256: '2ee40d1066ac855e1ea38ac422dbe1f3ddf84c9d415e79272adce569668f3de4',
      },
    ],
    settings: { modelFile: 'onnx/model.onnx', pooling: 'mean', prefixes: { query: '', document: '' }, maxLength },
  },
  {
    name: 'granite-97m-multilingual',
    repository: 'ibm-granite/granite-embedding-97m-multilingual-r2',
    revision: '835ad14087e140460703cf0fae09f97d469d65c2',
    languages: 'many',
    dimensions: 384,
    license: 'Apache-2.0',
    files: [
      {
        path: 'onnx/model_quint8_avx2.onnx',
        bytes: 98_247_878,
        sha256: 'a6022dd8220ea6f6595562a1328ee216f4a94faa55362f2f4747c80f1e78772e',
      },
      {
        path: 'tokenizer.json',
        bytes: 25_301_672,
        sha256: '4f2842d568e2724370aec203652a42ac783c7937f8347a1a2cc7506d71f1582f',
      },
    ],
    settings: {
      modelFile: 'onnx/model_quint8_avx2.onnx',
      pooling: 'cls',
      prefixes: { query: '', document: '' },
      maxLength,
    },
  },
  {
    name: 'arctic-embed-s',
    repository: 'Snowflake/snowflake-arctic-embed-s',
    revision: 'e596f507467533e48a2e17c007f0e1dacc837b33',
    languages: 'English',
    dimensions: 384,
    license: 'Apache-2.0',
    files: [
      {
        path: 'onnx/model_quantized.onnx',
        bytes: 34_015_111,
        sha256: 'f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14',
      },
      {
        path: 'tokenizer.json',
        bytes: 711_649,
        sha256: '91f1def9b9391fdabe028cd3f3fcc4efd34e5d1f08c3bf2de513ebb5911a1854',
      },
    ],
    settings: {
      modelFile: 'onnx/model_quantized.onnx',
      pooling: 'cls',
      prefixes: { query: 'Represent this sentence for searching relevant passages: ', document: '' },
      maxLength,
    },
  },
];
