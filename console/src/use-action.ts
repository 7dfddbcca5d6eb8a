import { useRef, useState } from 'preact/hooks';

export interface Action<Input extends unknown[]> {
  run(...input: Input): void;
  isBusy: boolean;
  error: string;
}

/** Something that a button does: once at a time, and what went wrong is kept to be shown. */
export function useAction<Input extends unknown[]>(act: (...input: Input) => Promise<void>): Action<Input> {
  const [isBusy, setBusy] = useState(false);
  /** Known before the button is drawn as busy. */
  const runs = useRef(false);
  const [error, setError] = useState('');
  return {
    isBusy,
    error,
    run(...input) {
      if (runs.current) return;
      runs.current = true;
      setBusy(true);
      setError('');
      act(...input)
        .catch((reason: unknown) => setError(reason instanceof Error ? reason.message : String(reason)))
        .finally(() => {
          runs.current = false;
          setBusy(false);
        });
    },
  };
}
