import { useEffect, useRef, useState } from 'preact/hooks';
import { returns } from './api.ts';

interface Page<Row> {
  items: Row[];
  /** Where the next page begins; null after the last one. */
  next: string | null;
}

export interface Pages<Row> {
  rows: Row[];
  error: string | undefined;
  isLoading: boolean;
  /** Reads the next page; undefined where there is none, and after a failure, which a list would repeat again and again. */
  readMore: (() => void) | undefined;
  reload(): void;
}

interface Read<Row> {
  rows: Row[];
  next: string | null;
  error?: string;
  isLoading: boolean;
}

/** A list that is read page by page as it is scrolled; begun anew when one of `keys` changes. */
export function usePages<Row>(
  read: (cursor: string, signal: AbortSignal) => Promise<Page<Row>>,
  keys: readonly unknown[],
): Pages<Row> {
  const [state, setState] = useState<Read<Row>>({ rows: [], next: null, isLoading: true });
  const [turn, setTurn] = useState(0);
  const latest = useRef(read);
  latest.current = read;
  const reading = useRef<AbortController>(undefined);
  const load = (cursor: string, before: Row[]) => {
    reading.current?.abort();
    const abort = new AbortController();
    reading.current = abort;
    setState((now) => ({ ...now, isLoading: true }));
    latest
      .current(cursor, abort.signal)
      .then(({ items, next }) => setState({ rows: [...before, ...items], next, isLoading: false }))
      .catch((error: Error) => {
        if (!abort.signal.aborted) setState((now) => ({ ...now, error: error.message, isLoading: false }));
      });
  };
  useEffect(() => {
    load('', []);
    return () => reading.current?.abort();
  }, [JSON.stringify(keys), turn, returns.value]);
  const { rows, next, error, isLoading } = state;
  return {
    rows,
    error,
    isLoading,
    readMore: next === null || isLoading || error !== undefined ? undefined : () => load(next, rows),
    reload: () => setTurn((before) => before + 1),
  };
}
