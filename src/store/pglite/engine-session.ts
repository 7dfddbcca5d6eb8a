import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { EngineWorker } from './engine-worker.ts';

/**
 * The engine that is running now. When it breaks down (a full disk under its log, no memory) the
 * next use starts it again, and it recovers from its log as a server does; what was under way fails.
 */
export interface EngineSession {
  /** The running engine, started if need be. Throws why it cannot be started. */
  current(): Promise<EngineWorker>;
  /** Never use this engine (or the running one) again. */
  discard(engine?: EngineWorker): Promise<void>;
  /** Ends the engine cleanly and for good. */
  close(): Promise<void>;
  /** The same while the process exits. */
  closeNow(timeoutMs: number): boolean;
}

const restartPauseMs = 1_000;

export function createEngineSession(
  first: EngineWorker,
  options: { restart: () => Promise<EngineWorker>; clock: Clock; log: Logger },
): EngineSession {
  let running: EngineWorker | undefined;
  let refusal: { error: unknown; until: number } | undefined;

  function watch(engine: EngineWorker): EngineWorker {
    running = engine;
    void engine.brokeDown.then((error) => {
      if (running !== engine) return;
      running = undefined;
      options.log.error({ reason: error.message }, 'embedded database broke down');
    });
    return engine;
  }

  async function start(): Promise<EngineWorker> {
    if (refusal && options.clock.now().getTime() < refusal.until) throw refusal.error;
    try {
      const engine = watch(await options.restart());
      options.log.warn({}, 'embedded database restarted');
      refusal = undefined;
      return engine;
    } catch (error) {
      // Every waiting statement comes here; a disk that is full now is full in a millisecond too.
      refusal = { error, until: options.clock.now().getTime() + restartPauseMs };
      throw error;
    }
  }

  watch(first);
  return {
    current: async () => running ?? (await start()),
    async discard(engine = running) {
      if (running === engine) running = undefined;
      await engine?.kill();
    },
    async close() {
      const engine = running;
      running = undefined;
      try {
        await engine?.close();
      } catch (error) {
        // What was committed is in the log; the next start replays it.
        options.log.warn({ reason: String(error) }, 'embedded database did not end cleanly');
        await engine?.kill();
      }
    },
    closeNow: (timeoutMs) => running?.closeNow(timeoutMs) ?? true,
  };
}
