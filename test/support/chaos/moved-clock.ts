/** Loaded into a daemon before its program: its clock differs from the machine's by what a file says. */
import { readFileSync } from 'node:fs';

const file = process.env['CHAOS_CLOCK']!;
const RealDate = Date;
/** So seldom that reading the file costs nothing. */
const readEveryMs = 50;
let offsetMs = 0;
let readAt = -Infinity;

function offset(): number {
  if (performance.now() - readAt < readEveryMs) return offsetMs;
  readAt = performance.now();
  const read = Number(readFileSync(file, 'utf8'));
  if (Number.isFinite(read)) offsetMs = read;
  return offsetMs;
}

class MovedDate extends RealDate {
  constructor(...parameters: unknown[]) {
    if (parameters.length === 0) super(RealDate.now() + offset());
    else super(...(parameters as [string]));
  }
  static override now(): number {
    return RealDate.now() + offset();
  }
}

globalThis.Date = MovedDate as DateConstructor;
