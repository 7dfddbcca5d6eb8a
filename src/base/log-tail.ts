import { forgetOldest } from './collections.ts';
import type { Clock } from './clock.ts';
import type { Logger } from './log.ts';

/** A line of the log that says that something is wrong, as often as it was said. */
export interface Warning {
  level: 'warn' | 'error';
  message: string;
  firstAt: Date;
  lastAt: Date;
  count: number;
  /** Ids, names of parts and numbers that stand in the line. */
  fields: Record<string, string | number | boolean>;
}

export interface LogTail {
  /** Writes through to the log that it was made of. */
  log: Logger;
  /** The last ones, newest first. */
  warnings(): Warning[];
}

const kept = 100;
/** Texts among the fields that name a part of memoryd or an id of ours; others may quote what came from outside. */
const namedFields = new Set(['connectionId', 'documentId', 'provider', 'model', 'runtime', 'code', 'plugin', 'runId']);

/** Keeps the last warnings and errors of a log in memory. Messages are constant; of an error only its code is kept. */
export function createLogTail(log: Logger, clock: Clock): LogTail {
  const warnings = new Map<string, Warning>();

  function keep(level: Warning['level'], given: unknown, text: unknown): void {
    const message = typeof given === 'string' ? given : text;
    if (typeof message !== 'string') return;
    const fields = shownFields(given);
    const key = JSON.stringify([level, message, fields['connectionId'], fields['code']]);
    const now = clock.now();
    const known = warnings.get(key);
    // What was said last stands at the end.
    warnings.delete(key);
    warnings.set(key, {
      level,
      message,
      fields,
      count: (known?.count ?? 0) + 1,
      firstAt: known?.firstAt ?? now,
      lastAt: now,
    });
    forgetOldest(warnings, kept);
  }

  function over(inner: Logger): Logger {
    const told = (level: Warning['level']) => (fields: object, message?: string) => {
      keep(level, fields, message);
      inner[level](fields, message);
    };
    return Object.assign(Object.create(inner) as Logger, {
      warn: told('warn'),
      error: told('error'),
      child: (...args: Parameters<Logger['child']>) => over(inner.child(...args)),
    });
  }

  return { log: over(log), warnings: () => [...warnings.values()].toReversed() };
}

function shownFields(given: unknown): Warning['fields'] {
  if (typeof given !== 'object' || given === null) return {};
  const { err, ...fields } = given as Record<string, unknown>;
  const code = err instanceof Error ? ((err as NodeJS.ErrnoException).code ?? err.name) : undefined;
  const shown = Object.entries({ ...fields, ...(typeof code === 'string' && { code }) }).filter(
    ([name, value]) =>
      typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && namedFields.has(name)),
  );
  return Object.fromEntries(shown) as Warning['fields'];
}
