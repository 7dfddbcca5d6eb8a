import { MemorydError } from '../../base/errors.ts';
import type { Sized } from './batches.ts';
import type { TaskName } from './tasks.ts';
import type { Call } from './text-thread.ts';
import type { Answer } from './text-worker.ts';

/** One call of a task, from when it is asked for until it has a result. */
export interface Job extends Sized {
  isSlow: boolean;
  isAlone: boolean;
  /** It has its result, its error, or nobody who waits for it. */
  readonly isOver: boolean;
  readonly result: Promise<unknown>;
  /** What is sent to the thread; made anew each time, because bytes are gone once they are sent. */
  call(): Call;
  answer(answer: Answer): void;
  reject(error: unknown): void;
}

/** Content as tasks take it: what it is called in their input. */
interface Content {
  text?: string | null;
  turns?: readonly { text: string }[];
  bytes?: Uint8Array;
}

export function createJob(task: TaskName, input: unknown, container = ''): Job {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  let isOver = false;
  const once = (settle: () => void) => {
    isOver = true;
    settle();
  };
  return {
    container,
    size: sizeOf(contentOf(input)),
    isSlow: false,
    isAlone: false,
    get isOver() {
      return isOver;
    },
    result: promise,
    call: () => toCall(task, input),
    answer: (answer) => once(() => ('result' in answer ? resolve(answer.result) : reject(toError(answer.failure)))),
    reject: (error) => once(() => reject(error)),
  };
}

function contentOf(input: unknown): Content {
  const { input: inner } = input as { input?: Content };
  return inner ?? (input as Content);
}

function sizeOf({ text, turns = [], bytes }: Content): number {
  const said = turns.reduce((sum, turn) => sum + turn.text.length, 0);
  return (text?.length ?? 0) + said + (bytes?.length ?? 0);
}

/** A copy of the bytes is sent: the sender keeps its own, and a view of a large buffer does not drag that along. */
function toCall(task: TaskName, input: unknown): Call {
  const { bytes } = contentOf(input);
  if (!bytes) return { task, input, moved: [] };
  const copy = new Uint8Array(bytes);
  const content = { ...contentOf(input), bytes: copy };
  const whole = input as { input?: Content };
  return { task, input: whole.input ? { ...whole, input: content } : content, moved: [copy.buffer] };
}

function toError(failure: Extract<Answer, { failure: unknown }>['failure']): MemorydError {
  return new MemorydError(failure.code, failure.message, {
    shouldRetry: false,
    ...(failure.cause === undefined ? {} : { cause: new Error(failure.cause) }),
  });
}
