import type { Reranker } from './reranker.ts';

/** Turns texts into vectors. One implementation runs offline; others call a server. */
export interface Embedder {
  /**
   * Names the model and everything that changes its vectors, e.g. `minilm-l6-v2`. It tags each
   * stored vector; vectors of different ids are never compared.
   */
  readonly id: string;
  readonly dimensions: number;
  /** Tokens of one input beyond which the model cuts; chunks are made no longer than this. */
  readonly maxTokens: number;
  /** Texts that one call takes at the most; callers may pass more, `embed` splits. */
  readonly maxInputs: number;
  /**
   * The cosine similarity from which on two texts count as related (reported as 0.6). It makes
   * the reported similarities of different models comparable.
   */
  readonly relatedAt: number;
  /**
   * One unit-length vector per text, in order. Throws `MemorydError('embed_failed')`,
   * with `retryAfterMs` set when trying again makes sense, `model_unavailable` when its files or
   * libraries are broken, and the signal's reason when it aborts.
   */
  embed(texts: readonly string[], options?: EmbedOptions): Promise<Float32Array[]>;
  /** Scores with the same model, where it can. */
  readonly reranker?: Reranker | undefined;
  /** How the tokens of a text are counted, to size chunks; see `createTokenCounter`. */
  readonly tokens: TokenCounting;
  /** The runtime that computes the vectors: `onnxruntime-node`, `onnxruntime-web`, `http`, `hashing`. Opens a model that is not open yet. */
  runtime(): Promise<string>;
  /** Runs the self-test: known sentences against known vectors or known order. */
  verify(): Promise<EmbedderReport>;
  close(): Promise<void>;
}

/** A way to count tokens that can be sent to another thread. */
export type TokenCounting =
  /** As the model's own tokenizer does, a WordPiece `tokenizer.json`. */
  | { kind: 'word-piece'; path: string }
  /** Too high rather than too low, for a tokenizer that is not known. */
  | { kind: 'estimate' }
  /** A token for each word, more for a long one. */
  | { kind: 'words' };

export interface EmbedOptions {
  /** `query` goes before waiting `document` work; some models also prefix the two differently. */
  kind?: 'document' | 'query' | undefined;
  signal?: AbortSignal | undefined;
}

export interface EmbedderReport {
  id: string;
  /** As `runtime()`, or `none` when it cannot be opened. */
  runtime: string;
  ok: boolean;
  /** One line per check, for people. */
  checks: { name: string; ok: boolean; detail: string }[];
}
