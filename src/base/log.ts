import { pino, type Logger as PinoLogger } from 'pino';

/** One JSON line per event: a constant message, variables as fields. Never content, tokens or addresses. */
export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'child' | 'level'>;

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug';

export function createLogger(level: LogLevel, destination?: { write(line: string): void }): Logger {
  const options = { level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` };
  return destination ? pino(options, destination) : pino(options, process.stderr);
}

export const silentLogger: Logger = pino({ level: 'silent' });
