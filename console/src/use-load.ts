import { useEffect, useRef, useState } from 'preact/hooks';
import { returns } from './api.ts';
import { awaited } from './session.ts';

export interface Loaded<Data> {
  data: Data | undefined;
  error: string | undefined;
  isLoading: boolean;
  reload(): void;
}

/** What took long is asked for less often, so that a page that is looked at keeps no large store busy. */
const restShare = 9;

/** When to ask again after an answer that took so long; both in milliseconds. */
export const pauseAfter = (tookMs: number, everyMs: number) => Math.max(everyMs, tookMs * restShare);

/**
 * What `load` answers, read again when one of `keys` changes, when the daemon came back, and every
 * `everyMs` while the page is looked at, or less often where it takes long. What was read before stays until the next
 * answer is there.
 */
export function useLoad<Data>(
  load: (signal: AbortSignal) => Promise<Data>,
  keys: readonly unknown[],
  everyMs?: number,
): Loaded<Data> {
  const [state, setState] = useState<{ data?: Data; error?: string; key?: string }>({});
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const key = JSON.stringify(keys);
  useEffect(() => {
    const abort = new AbortController();
    const begunMs = performance.now();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const askAgain = (pauseMs: number) => {
      timer = setTimeout(() => {
        if (document.hidden || awaited.value) askAgain(pauseMs);
        else setTurn((before) => before + 1);
      }, pauseMs);
    };
    latest
      .current(abort.signal)
      .then((data) => setState({ data, key }))
      .catch((error: Error) => {
        if (!abort.signal.aborted) setState((before) => ({ ...before, error: error.message, key }));
      })
      .finally(() => {
        if (everyMs !== undefined && !abort.signal.aborted) askAgain(pauseAfter(performance.now() - begunMs, everyMs));
      });
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [key, turn, returns.value, everyMs]);
  return {
    data: state.data,
    error: state.error,
    isLoading: state.key !== key,
    reload: () => setTurn((before) => before + 1),
  };
}
