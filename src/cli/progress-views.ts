import type { Clock } from '../base/clock.ts';
import type { Client } from './client.ts';
import type { ProgressAnswer } from './client-connections.ts';
import { CommandFailure, exitCodes } from './exit.ts';

const pollMs = 500;
const comeBackMs = 1_000;
/** Breaks in a row without any news. */
const maxBreaks = 5;

/** Yields the answers of `read`, called again and again until the signal aborts. */
export async function* polledViews<View>(
  read: () => Promise<View>,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<View> {
  while (!signal.aborted) {
    yield await read();
    await clock.sleep(pollMs, signal);
  }
}

/**
 * The progress of a connection as the daemon tells it, by its stream of events where it has one.
 * `run` is the run to follow; without it the one that there is, or the next.
 */
export async function* connectionViews(
  client: Client,
  followed: { id: string; run?: string | undefined },
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<ProgressAnswer> {
  const read = () => client.progress(followed.id);
  let { run } = followed;
  if (run === undefined) {
    for await (const view of polledViews(read, clock, signal)) {
      yield view;
      run = view.run?.id;
      if (run !== undefined) break;
    }
  }
  if (run === undefined) return;
  try {
    yield* streamedViews(client, { id: followed.id, run }, clock, signal);
  } catch (error) {
    // A daemon of an earlier version has no such stream.
    if (!(error instanceof CommandFailure) || error.status !== 404) throw error;
    yield* polledViews(read, clock, signal);
  }
}

async function* streamedViews(
  client: Client,
  { id, run }: { id: string; run: string },
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<ProgressAnswer> {
  let lastEventId: string | null = null;
  for (let breaks = 0; !signal.aborted; breaks++) {
    try {
      for await (const received of client.runEvents(id, run, lastEventId)) {
        breaks = 0;
        lastEventId = received.id;
        yield received.data;
        if (received.event === 'end') return;
      }
    } catch (error) {
      const isBreak = error instanceof CommandFailure && error.exitCode === exitCodes.noDaemon;
      if (!isBreak || breaks >= maxBreaks) throw error;
    }
    await clock.sleep(comeBackMs, signal);
  }
}
