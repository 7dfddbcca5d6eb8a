import { parentPort } from 'node:worker_threads';
import { MemorydError } from '../../base/errors.ts';
import { convert } from './convert.ts';
import type { Extracted, Source } from './extracted.ts';
import type { ErrorCode } from '../../base/errors.ts';

/** What a worker thread answers to a `Source`. */
export type Answer = { extracted: Extracted } | { failure: { code: ErrorCode; message: string; cause?: string } };

parentPort?.on('message', (source: Source) => {
  void answer(source).then((message) => parentPort?.postMessage(message));
});

async function answer(source: Source): Promise<Answer> {
  try {
    return { extracted: await convert(source) };
  } catch (error) {
    const code = MemorydError.is(error) ? error.code : 'extract_failed';
    const message = MemorydError.is(error) ? error.message : 'The content cannot be read.';
    // The cause is for the log of the daemon; parsers put no content into their messages.
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : undefined;
    return { failure: { code, message, ...(cause === undefined ? {} : { cause }) } };
  }
}
