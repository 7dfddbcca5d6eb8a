import { useEffect, useRef, useState } from 'preact/hooks';
import { returns } from './api.ts';
import { awaited } from './session.ts';

export interface Loaded<Data> {
  data: Data | undefined;
  error: string | undefined;
  isLoading: boolean;
  reload(): void;
}

/**
 * What `load` answers, read again when one of `keys` changes, when the daemon came back, and every
 * `everyMs` while the page is looked at. What was read before stays until the next answer is there.
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
    latest
      .current(abort.signal)
      .then((data) => setState({ data, key }))
      .catch((error: Error) => {
        if (!abort.signal.aborted) setState((before) => ({ ...before, error: error.message, key }));
      });
    return () => abort.abort();
  }, [key, turn, returns.value]);
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => document.hidden || awaited.value || setTurn((before) => before + 1), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return {
    data: state.data,
    error: state.error,
    isLoading: state.key !== key,
    reload: () => setTurn((before) => before + 1),
  };
}
