import type { MemorydError } from '../base/errors.ts';

/** Instructions of this program, and content that is data to them. */
export interface Prompt {
  /** Names the answer's shape at the endpoint: letters, digits and underscores. */
  name: string;
  instructions: string;
  content: string;
  /** JSON Schema of the answer, made of what endpoints enforce: types, enums, lists and closed objects. */
  schema: object;
  /** Where the endpoint cuts the answer off. */
  maxAnswerTokens: number;
}

/** `lost`: the endpoint may have worked, and charge for it, although nothing came of it. */
export type Completion = { text: string; tokens: number } | { failure: MemorydError; lost: boolean };

/** Answers questions about texts with JSON. */
export interface LanguageModel {
  /** Names the model; stored with what it finds. */
  readonly id: string;
  /**
   * The text of the answer, which is not checked against the schema, and the tokens of prompt and answer.
   * `query` goes before waiting `document` work. Throws only the signal's reason.
   */
  complete(prompt: Prompt, options: { kind: 'document' | 'query'; signal: AbortSignal }): Promise<Completion>;
  /** Tokens that a text may come to; too high rather than too low. */
  estimateTokens(text: string): number;
  /** Aborts what is under way. */
  close(): Promise<void>;
}

export interface Question extends Prompt {
  /** The container whose budget pays; null: the installation's. */
  containerTag: string | null;
  /** `query`: somebody waits for it. */
  kind: 'document' | 'query';
  /** The part of the day's budget that must not be exceeded for this, 0 to 1. Default 1. */
  share?: number;
  /** Keeps the answer with a document, by all that it depends on. Null: it is asked anew each time. */
  cached: { documentId: string; by: readonly unknown[] } | null;
}

/** Answers that are paid for once, within a budget. */
export interface Answering {
  /** Names the model. */
  readonly id: string;
  /**
   * An answer that matches the question's schema, or null: the budget is spent, the model failed, or it
   * answered in another form. Which of these it was is counted. Throws only the signal's reason, and what
   * the database throws.
   */
  ask(question: Question, signal: AbortSignal): Promise<unknown>;
}
