import { MemorydError } from '../base/errors.ts';

/** Exit codes of the process. */
export const exitCodes = {
  success: 0,
  failure: 1,
  /** The command line or the configuration is wrong. */
  usage: 2,
  /** No daemon runs, or it does not answer. */
  noDaemon: 3,
  /** The daemon refused the key. */
  refused: 4,
  /** Ended by Ctrl-C, as shells count it: 128 + SIGINT. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends a command with an exit code and a message for people. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode;
  /** How to mend it. */
  readonly remedy: string | undefined;
  /** HTTP status of the answer that caused it. */
  readonly status: number | undefined;

  constructor(
    exitCode: ExitCode,
    message: string,
    options: { remedy?: string | undefined; status?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CommandFailure';
    this.exitCode = exitCode;
    this.remedy = options.remedy;
    this.status = options.status;
  }
}

export interface FailureReport {
  exitCode: ExitCode;
  message: string;
  details: string | null;
}

/** The exit code and the message for an error. A stack is shown only for unexpected errors. */
export function reportFailure(error: unknown): FailureReport {
  if (error instanceof CommandFailure) {
    return { exitCode: error.exitCode, message: error.message, details: error.remedy ?? null };
  }
  if (MemorydError.is(error)) {
    const details = [error.details, error.remedy].filter((line) => line !== undefined).join('\n');
    const exitCode = error.code === 'config_invalid' ? exitCodes.usage : exitCodes.failure;
    return { exitCode, message: error.message, details };
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { exitCode: exitCodes.failure, message: `Unexpected failure: ${text}`, details: null };
}
