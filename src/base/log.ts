import { pino } from 'pino';
import { MemorydError } from './errors.ts';

interface LogMethod {
  (fields: object, message?: string): void;
  (message: string): void;
}

/** One JSON line per event: a constant message, variables as fields. Never content, tokens or addresses. */
export interface Logger {
  readonly level: string;
  readonly debug: LogMethod;
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
  /** Another one, with these fields in each line. */
  child(fields: object): Logger;
}

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug';

export function createLogger(level: LogLevel, destination?: { write(line: string): void }): Logger {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    serializers: { err: loggedError },
  };
  return destination ? pino(options, destination) : pino(options, process.stderr);
}

export const silentLogger: Logger = pino({ level: 'silent' });

/**
 * An error as the log may have it. Messages of the database and of parsers quote values, so of
 * these only codes and names are kept; of others the message's beginning.
 */
function loggedError(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown;
  const { name, message, stack, cause } = thrown;
  const { code, routine, constraint, table } = thrown as Error & {
    code?: string;
    routine?: string;
    constraint?: string;
    table?: string;
  };
  const frames = stack
    ?.split('\n')
    .filter((line) => line.startsWith('    at '))
    .slice(0, 8);
  const quotesValues = routine !== undefined || thrown instanceof SyntaxError;
  return {
    error: name,
    ...(quotesValues ? {} : { message: message.slice(0, 200) }),
    code,
    ...(routine === undefined ? {} : { routine, constraint, table }),
    frames,
    ...(cause === undefined ? {} : { cause: MemorydError.is(cause) ? cause.message : loggedError(cause) }),
  };
}
