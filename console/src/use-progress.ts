import { useEffect, useState } from 'preact/hooks';
import { addressOf, call, returns } from './api.ts';
import { awaited } from './session.ts';
import type { Progress } from './types.ts';
import { pauseAfter } from './use-load.ts';

export interface LiveProgress {
  progress: Progress | undefined;
  /** Whether the daemon tells by itself; else it is asked every few seconds. */
  isLive: boolean;
  error: string | undefined;
  reload(): void;
}

const askEveryMs = 3_000;

/** The progress of a source: told by server-sent events while a run goes on, asked for otherwise. */
export function useProgress(connectionId: string): LiveProgress {
  const [progress, setProgress] = useState<Progress>();
  const [error, setError] = useState<string>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      const begunMs = performance.now();
      if (!document.hidden && !awaited.value) await read();
      if (!abort.signal.aborted)
        timer = setTimeout(() => void ask(), pauseAfter(performance.now() - begunMs, askEveryMs));
    };
    const read = () =>
      call('GET /v3/connections/{connectionId}/progress', { path: { connectionId }, signal: abort.signal })
        .then((answer) => {
          setProgress(answer);
          setError(undefined);
        })
        .catch((reason: Error) => abort.signal.aborted || setError(reason.message));
    void ask();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [connectionId, turn, returns.value]);
  const isLive = useRunEvents(connectionId, progress, setProgress);
  return { progress, isLive, error, reload: () => setTurn((before) => before + 1) };
}

function useRunEvents(
  connectionId: string,
  progress: Progress | undefined,
  tell: (progress: Progress) => void,
): boolean {
  const [isLive, setLive] = useState(false);
  const run = progress?.run?.status === 'running' ? progress.run.id : undefined;
  useEffect(() => {
    if (run === undefined) return undefined;
    const stream = new EventSource(
      addressOf('GET /v3/connections/{connectionId}/runs/{runId}/events', {
        path: { connectionId, runId: run },
        query: { until: 'documents' },
      }),
    );
    const read = (event: MessageEvent<string>) => tell(JSON.parse(event.data) as Progress);
    stream.addEventListener('open', () => setLive(true));
    stream.addEventListener('error', () => setLive(false));
    stream.addEventListener('progress', read);
    stream.addEventListener('end', (event) => {
      read(event);
      stream.close();
      setLive(false);
    });
    return () => {
      stream.close();
      setLive(false);
    };
    // A stream that was refused while the daemon started is not tried again by the browser.
  }, [connectionId, run, returns.value]);
  return isLive;
}
