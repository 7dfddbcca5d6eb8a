import { present } from '../../base/collections.ts';
import { parentPort } from 'node:worker_threads';
import { stepBack } from '../../base/concurrency.ts';
import { MemorydError, type ErrorCode } from '../../base/errors.ts';
import { tasks, type TaskName } from './tasks.ts';

/** A request to a thread; `input` is the task's own. */
export interface Question {
  task: TaskName;
  input: unknown;
}

/** A thread's answer to one question. */
export type ThreadAnswer = { result: unknown } | { failure: { code: ErrorCode; message: string; cause?: string } };

/** First that everything is loaded, so that loading does not count as work; then answers, in the order of the questions. */
export type Message = 'ready' | ThreadAnswer[];

stepBack();
parentPort?.on('message', (questions: readonly Question[]) => {
  void answerAll(questions).then((answers) => parentPort?.postMessage(answers));
});
parentPort?.postMessage('ready' satisfies Message);

/** One after the other: the thread has one processor, and few results are held at a time. */
async function answerAll(questions: readonly Question[]): Promise<ThreadAnswer[]> {
  const answers: ThreadAnswer[] = [];
  for (const question of questions) answers.push(await answer(question));
  return answers;
}

async function answer({ task, input }: Question): Promise<ThreadAnswer> {
  try {
    return { result: await (tasks[task] as (input: unknown) => unknown)(input) };
  } catch (error) {
    const code = MemorydError.is(error) ? error.code : 'extract_failed';
    const message = MemorydError.is(error) ? error.message : 'The content cannot be read.';
    // The cause is for the log of the daemon; parsers put no content into their messages.
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : undefined;
    return { failure: { code, message, ...present({ cause }) } };
  }
}
