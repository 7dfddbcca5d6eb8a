/** Sizes at which a function is tried grow by this factor, until one takes long enough to be measured. */
const step = 4;
const smallest = 128;
/** From here on a comparison says something. */
const measurableMs = 6;
/** How much shorter the text is that the measured one is compared with. */
const apart = 16;
/** Between 16, where time grows with the length, and 256, where it grows with its square. */
const bound = 72;
const mostAttempts = 8;

export interface Growth {
  size: number;
  /** How much longer a text of this size takes than one of a sixteenth of it. */
  ratio: number;
  ms: number;
}

/**
 * How time grows where it grows faster than the length; null where it does not, or where no text up to `maxSize`
 * takes long enough to be measured. Of several measurements the least counts, because whatever else the machine
 * does only ever adds; and what is found at one size has to show itself at the next one, too.
 */
export async function steepGrowthOf(
  run: (text: string) => unknown,
  make: (size: number) => string,
  { minSize = smallest, maxSize }: { minSize?: number; maxSize: number },
): Promise<Growth | null> {
  for (let size = minSize; size <= maxSize; size *= step) {
    const growth = await growthAt(size, run, make);
    if (growth === null) continue;
    if (growth.ratio <= bound) return null;
    const next = await growthAt(size * step, run, make);
    return next === null || next.ratio <= bound ? null : next;
  }
  return null;
}

/** Null when it takes too short to be measured, be it only because of what the first call of all compiles and loads. */
async function growthAt(
  size: number,
  run: (text: string) => unknown,
  make: (size: number) => string,
): Promise<Growth | null> {
  const text = make(size);
  let ms = await timeOf(run, text);
  if (ms < measurableMs) return null;
  const short = make(size / apart);
  let shortMs = await timeOf(run, short);
  for (let attempt = 0; attempt < mostAttempts && ms > bound * shortMs; attempt++) {
    ms = Math.min(ms, await timeOf(run, text));
    shortMs = Math.min(shortMs, await timeOf(run, short));
  }
  return ms < measurableMs ? null : { size, ratio: ms / shortMs, ms };
}

/** Processor time: on a busy machine a long call is interrupted more often than a short one. */
async function timeOf(run: (text: string) => unknown, text: string): Promise<number> {
  const before = process.cpuUsage();
  await run(text);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
