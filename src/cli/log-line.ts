const levels: Record<number, string> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' };

/** A JSON log line as people read it in a terminal: `12:00:03 info  sync finished  itemsSeen=8`. */
export function readableLogLine(line: string): string {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return line;
  }
  const { level, time, msg, ...fields } = entry;
  const localTime = new Date(String(time)).toTimeString().slice(0, 8);
  const values = Object.entries(fields).map(([name, value]) => `${name}=${fieldText(value)}`);
  const stacks = Object.values(fields).flatMap((value) => stackOf(value) ?? []);
  const head = `${localTime} ${(levels[Number(level)] ?? String(level)).padEnd(5)} ${[msg, ...values].join('  ')}`;
  return `${[head, ...stacks].join('\n')}\n`;
}

function fieldText(value: unknown): string {
  if (stackOf(value) !== null) return JSON.stringify((value as { message?: unknown }).message);
  return typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value);
}

/** Errors are logged as objects with a stack. */
function stackOf(value: unknown): string | null {
  const stack = (value as { stack?: unknown } | null)?.stack;
  return typeof stack === 'string' ? stack : null;
}
