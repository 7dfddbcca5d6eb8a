import { Writable } from 'node:stream';
import { createInterface } from 'node:readline/promises';
import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { CommandFailure, exitCodes } from './cli/exit.ts';
import { systemClock } from './base/clock.ts';
import { processEnvironment } from './base/config.ts';
import type { Screen } from './cli/context.ts';
import { openBrowser } from './cli/open-browser.ts';
import { runCommandLine } from './cli/program.ts';

function screenOf(stream: WriteStream): Screen {
  return {
    write: (part) => void stream.write(part),
    isTTY: Boolean(stream.isTTY),
    get columns() {
      return stream.isTTY ? stream.columns : 100;
    },
    // Node's own rules: a terminal with colours, NO_COLOR, FORCE_COLOR.
    color: styleText('bold', 'x', { stream }) !== 'x',
  };
}

/** npm hands a Ctrl-C on to a program that got it from the terminal already. */
const sameInterruptMs = 500;

/** Aborts at the first SIGINT or SIGTERM; the next one ends the process at once, as the shell expects. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  let firstMs = 0;
  for (const [name, number] of Object.entries({ SIGINT: 2, SIGTERM: 15 })) {
    process.on(name, () => {
      const nowMs = systemClock.now().getTime();
      if (!controller.signal.aborted) firstMs = nowMs;
      else if (nowMs - firstMs > sameInterruptMs) endBy(name, 128 + number);
      controller.abort();
    });
  }
  return controller.signal;
}

/** Not by `process.exit`, which ends threads first: one that runs a model would abort the process. */
function endBy(signal: string, exitCode: number): void {
  process.emit('exit', exitCode);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

const isDaemon = process.argv[2] === 'start';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The daemon goes on when nobody reads what it prints, or the disk of its log is full.
  if (isDaemon) return;
  // `memoryd search … | head` closes the pipe early, which is no failure.
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
// What cannot be said here cannot be said anywhere; the next line is tried again.
process.stderr.on('error', () => {});

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const signal = interruption();
const env = processEnvironment();

process.exitCode = await runCommandLine(process.argv.slice(2), {
  version,
  env,
  cwd: process.cwd(),
  clock: systemClock,
  signal,
  stdout: screenOf(process.stdout),
  stderr: screenOf(process.stderr),
  readInput: () => buffer(process.stdin),
  ask: process.stdin.isTTY ? (question, { hidden }) => askTerminal({ question, hidden, signal }) : null,
  openBrowser: (url) => openBrowser(url, { env, clock: systemClock, platform: process.platform, signal }),
  // Loaded only by the commands that need them: the others start in a tenth of the time.
  async createApp(options) {
    const { startOpening } = await import('./opening.ts');
    const opening = startOpening(options);
    // `createApp` throws what fails.
    await opening.catch(() => undefined);
    return (await import('./app.ts')).createApp(options, opening);
  },
  createEmbedder: async (options) => (await import('./adapters.ts')).createEmbedder(options),
  localModels: async (options) => (await import('./adapters.ts')).localModels(options),
  tryLanguageModel: async (options) => (await import('./adapters.ts')).tryLanguageModel(options),
  rotateKeys: async (options, discard) => (await import('./adapters.ts')).rotateKeys(options, discard),
});

/**
 * Asks whoever sits at the terminal of this process for one line. `hidden`: what is typed is not
 * shown. Throws `interrupted` at Ctrl-C and when the input ends.
 */
async function askTerminal({
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
