import { useEffect, useState } from 'preact/hooks';

const delayMs = 250;

/** What is typed, once the typing pauses. */
export function useDelayed(value: string): string {
  const [delayed, setDelayed] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDelayed(value), delayMs);
    return () => clearTimeout(timer);
  }, [value]);
  return delayed;
}
