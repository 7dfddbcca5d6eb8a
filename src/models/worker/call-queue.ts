import type { Comparison, Question } from '../comparison.ts';
import type { EmbedOptions } from '../embedder.ts';

export type CallKind = NonNullable<EmbedOptions['kind']>;

/** Texts that one worker runs without a break, out of one or more calls. */
export interface Bundle {
  sequences: Int32Array[];
  /** Compared with the texts, in place of making their vectors. */
  question: Question | undefined;
  resolve(vectors: readonly Float32Array[]): void;
  reject(error: unknown): void;
}

/**
 * Calls that wait for a worker: queries before documents, each in the order of arrival. A call that is longer than a
 * bundle goes to the end after each: the chunks of a huge document keep nobody waiting.
 */
export interface CallQueue {
  /** Rejects with the signal's reason when it aborts; what has not started then never starts. */
  add(texts: readonly string[], kind: CallKind, signal?: AbortSignal): Promise<Float32Array[]>;
  /** How close each text is to the question, one number each; otherwise as a query's `add`. */
  compare(comparison: Comparison, signal?: AbortSignal): Promise<Float32Array[]>;
  /** The next texts to run, or null when nothing waits. */
  take(): Bundle | null;
  hasWork(): boolean;
  rejectAll(error: unknown): void;
}

export interface CallQueueOptions {
  /** Token ids of a text as the model takes them; called just before it runs. */
  encode(text: string, kind: CallKind): Int32Array;
  /** A bundle ends with the text that reaches this many tokens, so a query never waits long for one to end. */
  bundleTokens: number;
}

interface Call {
  /** As text, or as token ids already. */
  texts: readonly (string | Int32Array)[];
  kind: CallKind;
  question: Question | undefined;
  vectors: Float32Array[];
  /** Position of the first text that no bundle holds. */
  next: number;
  unanswered: number;
  settled: boolean;
  resolve(vectors: Float32Array[]): void;
  reject(error: unknown): void;
}

interface Item {
  call: Call;
  position: number;
}

type Waiting = Record<CallKind, Call[]>;

export function createCallQueue({ encode, bundleTokens }: CallQueueOptions): CallQueue {
  const waiting: Waiting = { query: [], document: [] };

  async function wait(asked: Pick<Call, 'texts' | 'kind' | 'question'>, signal?: AbortSignal): Promise<Float32Array[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Float32Array[]>();
    const progress = { vectors: [], next: 0, unanswered: asked.texts.length, settled: false };
    const call: Call = { ...asked, ...progress, resolve, reject };
    const abort = (): void => fail(waiting, call, signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    waiting[call.kind].push(call);
    return promise.finally(() => signal?.removeEventListener('abort', abort));
  }

  return {
    async add(texts, kind, signal) {
      signal?.throwIfAborted();
      return texts.length === 0 ? [] : wait({ texts, kind, question: undefined }, signal);
    },
    async compare({ texts, question }, signal) {
      signal?.throwIfAborted();
      return texts.length === 0 ? [] : wait({ texts, kind: 'query', question }, signal);
    },
    take() {
      const queue = waiting.query.length > 0 ? waiting.query : waiting.document;
      if (queue.length === 0) return null;
      const { items, sequences, question } = collect(queue, encode, bundleTokens);
      return {
        sequences,
        question,
        resolve: (vectors) => items.forEach((item, index) => answer(waiting, item, vectors[index]!)),
        reject: (error) => items.forEach(({ call }) => fail(waiting, call, error)),
      };
    },
    hasWork: () => waiting.query.length + waiting.document.length > 0,
    rejectAll(error) {
      for (const call of [...waiting.query, ...waiting.document]) fail(waiting, call, error);
    },
  };
}

/** Takes texts off the front of a queue until they are `bundleTokens` long; those of calls that ask alike. */
function collect(
  queue: Call[],
  encode: CallQueueOptions['encode'],
  bundleTokens: number,
): { items: Item[]; sequences: Int32Array[]; question: Question | undefined } {
  const items: Item[] = [];
  const sequences: Int32Array[] = [];
  let tokens = 0;
  const { question } = queue[0]!;
  for (let call = queue[0]; call?.question === question && call && tokens < bundleTokens; call = queue[0]) {
    const text = call.texts[call.next]!;
    const sequence = typeof text === 'string' ? encode(text, call.kind) : text;
    items.push({ call, position: call.next });
    sequences.push(sequence);
    tokens += sequence.length;
    call.next++;
    if (call.next === call.texts.length) queue.shift();
  }
  if (queue[0] && items.at(-1)!.call === queue[0]) queue.push(queue.shift()!);
  return { items, sequences, question };
}

function answer(waiting: Waiting, { call, position }: Item, vector: Float32Array): void {
  call.vectors[position] = vector;
  call.unanswered--;
  if (call.unanswered === 0 && settle(waiting, call)) call.resolve(call.vectors);
}

function fail(waiting: Waiting, call: Call, error: unknown): void {
  if (settle(waiting, call)) call.reject(error);
}

/** False when it was settled before; texts of it that still run are then answered in vain. */
function settle(waiting: Waiting, call: Call): boolean {
  if (call.settled) return false;
  call.settled = true;
  const queue = waiting[call.kind];
  const index = queue.indexOf(call);
  if (index >= 0) queue.splice(index, 1);
  return true;
}
