import type { Page } from 'playwright-core';

/** Of the main thread of the page: what it worked, without what other programs took of the processor. */
export interface BrowserTrace {
  tasksMs: number[];
  workBeforeFirstContentMs: number;
}

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** Microseconds. */
  ts: number;
  /** Microseconds that the thread itself worked. */
  tdur?: number;
  args?: { name?: string };
}

/** What the page's thread worked while `act` went on. */
export async function traced(page: Page, act: () => Promise<void>): Promise<BrowserTrace> {
  const browser = page.context().browser()!;
  await browser.startTracing(page, { categories: ['toplevel', 'loading', 'blink.user_timing', '__metadata'] });
  let bytes: Buffer;
  try {
    await act();
  } finally {
    bytes = await browser.stopTracing();
  }
  return read((JSON.parse(bytes.toString()) as { traceEvents: TraceEvent[] }).traceEvents);
}

/** Throws where no task was seen: then nothing was measured. */
export function longestTaskMs({ tasksMs }: BrowserTrace): number {
  if (tasksMs.length === 0) throw new Error('The trace has no task of the page.');
  return Math.max(...tasksMs);
}

function read(events: TraceEvent[]): BrowserTrace {
  const mains = events.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain');
  const isMain = (event: TraceEvent) => mains.some(({ pid, tid }) => pid === event.pid && tid === event.tid);
  const tasks = events.filter((event) => event.tdur !== undefined && event.name.endsWith('RunTask') && isMain(event));
  // A trace that begins after the page was drawn has none: then there was no work before it.
  const painted = events.find(({ name }) => name === 'firstContentfulPaint')?.ts ?? -Infinity;
  const worked = (some: TraceEvent[]) => some.reduce((sum, { tdur }) => sum + tdur! / 1_000, 0);
  return {
    tasksMs: tasks.map(({ tdur }) => tdur! / 1_000),
    workBeforeFirstContentMs: worked(tasks.filter(({ ts }) => ts < painted)),
  };
}
