/** A signal that aborts with another one, or after a time, until it is ended. */
export interface Deadline {
  readonly signal: AbortSignal;
  readonly passed: boolean;
  end(): void;
}

/** `AbortSignal.any` with `AbortSignal.timeout`, but nothing of it stays on the outer signal, which lives much longer. */
export function startDeadline(outer: AbortSignal, timeoutMs: number): Deadline {
  const controller = new AbortController();
  let passed = false;
  const abort = () => controller.abort(outer.reason);
  const timer = setTimeout(() => {
    passed = true;
    controller.abort(new Error('the time is over'));
  }, timeoutMs);
  if (outer.aborted) abort();
  else outer.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    get passed() {
      return passed;
    },
    end() {
      clearTimeout(timer);
      outer.removeEventListener('abort', abort);
    },
  };
}
