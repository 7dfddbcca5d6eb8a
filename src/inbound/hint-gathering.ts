import type { Clock } from '../base/clock.ts';
import type { RequestedSync } from '../store/connections.ts';
import type { Hint } from '../connector/contract.ts';

export interface HintGatheringOptions {
  clock: Clock;
  /** Hints that arrive within this time become one run. */
  debounceMs: number;
  /** Without it a hint at one item is a hint at everything. */
  canLookUp: boolean;
  signal: AbortSignal;
  /** Asks for the run; `late` is why changes are not seen at once, null where they are. */
  request(sync: RequestedSync, late: string | null): Promise<void>;
  failed(error: unknown): void;
}

/** More hinted ids than this are not worth looking up one by one. */
const maxHintedIds = 5_000;
/** What changes again and again is asked for this rarely at last, so that a file that never rests keeps no run going. */
const longestPauseMs = 10_000;
/** After so much time without a hint the next one counts as the first. */
const forgottenAfterMs = 2 * longestPauseMs;

/** One item by its id, or undefined for everything. */
type Target = { partition: string; id: string } | undefined;

/** Gathers hints for a moment and then asks for one run that serves them all. */
export function createHintGathering(options: HintGatheringOptions): (hint: Hint) => void {
  const { clock, debounceMs, signal } = options;
  const pauses = createPauses(clock, debounceMs);
  const resting = new Set<string>();
  let gathered: Map<string, Target> | null = null;
  let late: string | null = null;

  async function flush(): Promise<void> {
    await clock.sleep(debounceMs, signal);
    const targets = gathered!;
    gathered = null;
    if (signal.aborted) return;
    pauses.taken(targets.keys());
    await options.request(toRequest([...targets.values()]), late);
  }

  function gather(key: string, target: Target): void {
    if (gathered === null) {
      gathered = new Map();
      flush().catch(options.failed);
    }
    gathered.set(key, target);
  }

  async function gatherAfter(pauseMs: number, key: string, target: Target): Promise<void> {
    resting.add(key);
    await clock.sleep(pauseMs, signal);
    resting.delete(key);
    if (!signal.aborted) gather(key, target);
  }

  return (hint) => {
    late = hint.late ?? null;
    for (const target of targetsOf(hint, options.canLookUp)) {
      const key = target === undefined ? '' : JSON.stringify([target.partition, target.id]);
      if (resting.has(key)) continue;
      const pauseMs = pauses.leftMs(key);
      if (pauseMs > 0) gatherAfter(pauseMs, key, target).catch(options.failed);
      else gather(key, target);
    }
  };
}

function targetsOf({ partition, ids }: Hint, canLookUp: boolean): Target[] {
  if (partition === undefined || ids === undefined || !canLookUp) return [undefined];
  return ids.map((id) => ({ partition, id }));
}

function toRequest(targets: readonly Target[]): RequestedSync {
  const base = { mode: 'incremental', trigger: 'event' } as const;
  const named = targets.filter((target) => target !== undefined);
  if (named.length < targets.length || named.length > maxHintedIds) return base;
  const byPartition = Map.groupBy(named, ({ partition }) => partition);
  return { ...base, hints: Object.fromEntries([...byPartition].map(([key, each]) => [key, each.map(({ id }) => id)])) };
}

/** How long each target has to wait since it was last asked for: twice as long each time, from `firstMs` on. */
function createPauses(clock: Clock, firstMs: number) {
  let last = new Map<string, { atMs: number; pauseMs: number }>();
  /** A clock that was set back makes nobody wait. */
  const sinceMs = (atMs: number) => {
    const ms = clock.now().getTime() - atMs;
    return ms < 0 ? Infinity : ms;
  };

  return {
    leftMs(key: string): number {
      const one = last.get(key);
      return one === undefined ? 0 : Math.max(0, one.pauseMs - sinceMs(one.atMs));
    },
    taken(keys: Iterable<string>): void {
      last = new Map([...last].filter(([, { atMs }]) => sinceMs(atMs) < forgottenAfterMs));
      const atMs = clock.now().getTime();
      for (const key of keys) {
        const before = last.get(key);
        last.set(key, { atMs, pauseMs: before ? Math.min(before.pauseMs * 2, longestPauseMs) : firstMs });
      }
    },
  };
}
