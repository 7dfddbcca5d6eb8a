import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { ConnectionProgress, Connections } from '../connections/connections.ts';
import { eventText, heartbeatText, retryText } from './event-stream.ts';
import { progressView } from './views/sync-runs.ts';

export interface RunEventsOptions {
  connections: Pick<Connections, 'run' | 'progress'>;
  connectionId: string;
  runId: string;
  /** The stream ends with the run, or once the run's documents can be found as well. */
  until: 'run' | 'documents';
  /** The last event that the client has seen. */
  lastEventId: string | undefined;
  clock: Clock;
  signal: AbortSignal;
}

/** The id of the last event of a stream; a client that comes back with it has seen everything. */
export const endId = 'end';

const lookEveryMs = 500;
/** Items and documents are counted less often than the run is looked at: that reads many rows. */
const countEveryMs = 1_000;
const heartbeatEveryMs = 15_000;
const comeBackAfterMs = 2_000;

/**
 * The progress of a run as server-sent events: `progress` whenever it has moved, and `end` as the
 * last one. An event's id stands for what it says, so that a client that comes back is not told the
 * same again, by whichever process it reaches. Ends without `end` when the signal aborts or the
 * connection is gone.
 */
export async function* runEvents(options: RunEventsOptions): AsyncGenerator<string> {
  const { clock, signal } = options;
  const look = createLook(options);
  let seenId = options.lastEventId;
  let sentMs = clock.now().getTime();
  yield retryText(comeBackAfterMs);
  while (!signal.aborted) {
    const view = await look();
    if (view === null) return;
    const data = progressView(view);
    if (isOver(view, options.until)) return yield eventText({ event: 'end', id: endId, data });
    const id = createHash('sha256').update(JSON.stringify(data)).digest('base64url').slice(0, 16);
    const nowMs = clock.now().getTime();
    if (id !== seenId || nowMs - sentMs >= heartbeatEveryMs) {
      yield id === seenId ? heartbeatText : eventText({ event: 'progress', id, data });
      seenId = id;
      sentMs = nowMs;
    }
    await clock.sleep(lookEveryMs, signal);
  }
}

function createLook({ connections, connectionId, runId, clock }: RunEventsOptions) {
  let counted: ConnectionProgress | null = null;
  let countedMs = -Infinity;
  let wasRunning = true;
  return async (): Promise<ConnectionProgress | null> => {
    const run = await connections.run(connectionId, runId);
    if (!run) return null;
    const isRunning = run.status === 'running';
    const nowMs = clock.now().getTime();
    // What a run has done last is counted after its end.
    if (counted === null || nowMs - countedMs >= countEveryMs || (wasRunning && !isRunning)) {
      counted = await connections.progress(connectionId);
      countedMs = nowMs;
    }
    wasRunning = isRunning;
    return { ...counted, run };
  };
}

function isOver({ run, documents }: ConnectionProgress, until: RunEventsOptions['until']): boolean {
  if (run === null || run.status === 'running') return false;
  return until === 'run' || run.status === 'failed' || documents.waiting === 0;
}
