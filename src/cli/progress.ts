import { firstOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import type { StatusLine } from './status-line.ts';
import { counted, duration } from './text.ts';

/** The part of `ConnectionProgress` that is shown. */
export interface ProgressView {
  run: {
    id: string;
    status: 'running' | 'completed' | 'failed';
    itemsSeen: number;
    /** Null while the listing goes on. */
    itemsTotal: number | null;
    error: string | null;
  } | null;
  /** `failed` holds those whose document failed too. */
  items: { pending: number; failed: number; skipped: number };
  documents: { waiting: number; foundByWords?: number; done: number; failed: number };
  heldDeletes: number;
}

/**
 * `312 seen, 20 found by words, 280 done, 2 failed, 41/s, 12 s left`. The time is left out while nobody can know it.
 * Before anything was seen: `looking at what is there`.
 */
export function progressLine(view: ProgressView, perSecond: number | null): string {
  if (isBeginning(view)) return 'looking at what is there';
  const waiting = view.items.pending + view.documents.waiting;
  const counted = view.run !== null && (view.run.itemsTotal !== null || view.run.status !== 'running');
  return [
    ...totals(view),
    ...(perSecond ? [`${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`] : []),
    ...(perSecond && waiting > 0 && counted ? [`${duration((waiting / perSecond) * 1000)} left`] : []),
  ].join(', ');
}

/** Nothing was seen in this run, and nothing is there from one before. */
function isBeginning({ run, items, documents }: ProgressView): boolean {
  const isRunning = run === null || run.status === 'running';
  return isRunning && (run?.itemsSeen ?? 0) + items.failed + documents.done === 0;
}

/** The outcome in one or more lines, with the commands for remaining problems. */
export function progressSummary(view: ProgressView, elapsedMs: number, connectionId: string): string[] {
  const lines = [`${totals(view).join(', ')} in ${duration(elapsedMs)}`];
  if (view.run?.error) lines.push(`The sync ended early: ${view.run.error}`);
  if (view.items.pending > 0) lines.push(`${counted(view.items.pending, 'item')} will be tried again by itself.`);
  if (view.items.failed > 0) lines.push(`\`memoryd failures ${connectionId}\` says why.`);
  if (view.heldDeletes > 0) lines.push(heldNote(view.heldDeletes, connectionId));
  return lines;
}

/** How many deletions the brake holds, and what may be done about it. */
export function heldNote(heldDeletes: number, connectionId: string): string {
  const sync = `memoryd sync ${connectionId}`;
  return (
    `${counted(heldDeletes, 'deletion')} held back: the source shows far fewer items than before. ` +
    `\`${sync} --confirm-deletes\` deletes them, \`${sync} --keep-deletes\` keeps them.`
  );
}

function totals(view: ProgressView): string[] {
  const number = (value: number) => value.toLocaleString('en-US');
  const { foundByWords = 0 } = view.documents;
  return [
    `${number(view.run?.itemsSeen ?? 0)} seen`,
    ...(foundByWords > 0 ? [`${number(foundByWords)} found by words`] : []),
    `${number(view.documents.done)} done`,
    `${number(view.items.failed)} failed`,
    ...(view.items.skipped > 0 ? [`${number(view.items.skipped)} skipped`] : []),
  ];
}

/** The run (or a later one: ids sort by time) is over and its documents can be found. */
export function isFinished(view: ProgressView, sinceRun?: string): boolean {
  if (view.run === null || view.run.status === 'running') return false;
  if (sinceRun !== undefined && view.run.id < sinceRun) return false;
  return view.run.status === 'failed' || view.documents.waiting === 0;
}

/** Documents finished per second, over the last 15 seconds. Null until two moments are known. */
export function createRateMeter(): (finished: number, nowMs: number) => number | null {
  let samples: { finished: number; atMs: number }[] = [];
  return (finished, nowMs) => {
    samples = [...samples.filter(({ atMs }) => atMs > nowMs - 15_000), { finished, atMs: nowMs }];
    const first = firstOf(samples);
    const elapsedMs = nowMs - first.atMs;
    return elapsedMs === 0 ? null : Math.max(0, ((finished - first.finished) / elapsedMs) * 1000);
  };
}

export interface FollowOptions<View extends ProgressView> {
  views: AsyncIterable<View>;
  line: StatusLine;
  /** Stands before the numbers. */
  label: string;
  clock: Clock;
  signal: AbortSignal;
  /** Wait for this run or a later one. */
  sinceRun?: string | undefined;
}

/** Between lines where nobody looks at a terminal. */
const quietMs = 10_000;

/** Shows progress until the sync is over. Null when the views end before, as they do when the signal aborts. */
export async function followProgress<View extends ProgressView>(
  options: FollowOptions<View>,
): Promise<{ view: View; elapsedMs: number } | null> {
  const { clock, line, signal } = options;
  const startedMs = clock.now().getTime();
  const rate = createRateMeter();
  let shownMs = -Infinity;
  try {
    for await (const view of options.views) {
      const nowMs = clock.now().getTime();
      const perSecond = rate(view.documents.done + view.documents.failed, nowMs);
      if (isFinished(view, options.sinceRun)) return { view, elapsedMs: nowMs - startedMs };
      if (!line.live && nowMs - shownMs < quietMs) continue;
      line.show(`${options.label}: ${progressLine(view, perSecond)}`);
      shownMs = nowMs;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    line.clear();
  }
  return null;
}
