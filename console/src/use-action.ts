import { useState } from 'preact/hooks';

export interface Action<Input extends unknown[]> {
  run(...input: Input): void;
  isBusy: boolean;
  error: string;
}

/** Something that a button does: once at a time, and what went wrong is kept to be shown. */
export function useAction<Input extends unknown[]>(act: (...input: Input) => Promise<void>): Action<Input> {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState('');
  return {
    isBusy,
    error,
    run(...input) {
      if (isBusy) return;
      setBusy(true);
      setError('');
      act(...input)
        .catch((reason: unknown) => setError(reason instanceof Error ? reason.message : String(reason)))
        .finally(() => setBusy(false));
    },
  };
}
