import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { CommandFailure, exitCodes } from './exit.ts';

/**
 * Asks whoever sits at the terminal of this process for one line. `hidden`: what is typed is not
 * shown. Throws `interrupted` at Ctrl-C and when the input ends.
 */
export async function askTerminal({
  question,
  hidden,
  signal,
}: {
  question: string;
  hidden: boolean;
  signal: AbortSignal;
}): Promise<string> {
  // The reader writes what is typed, and would write the question again at each key.
  const silent = new Writable({ write: (_, __, done) => done() });
  const output = hidden ? silent : process.stderr;
  const reader = createInterface({ input: process.stdin, output, terminal: true });
  const ended = new AbortController();
  // In this mode the terminal hands Ctrl-C over as a key.
  reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  reader.on('close', () => ended.abort());
  if (hidden) process.stderr.write(question);
  try {
    return await reader.question(hidden ? '' : question, { signal: AbortSignal.any([signal, ended.signal]) });
  } catch (error) {
    throw new CommandFailure(exitCodes.interrupted, 'Interrupted.', { cause: error });
  } finally {
    reader.close();
    if (hidden) process.stderr.write('\n');
  }
}
