/** Settles as the work does, or rejects with the signal's reason when it aborts first, even if the work goes on. */
export async function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  work.catch(() => {});
  const { promise, reject } = Promise.withResolvers<never>();
  const fail = () => reject(signal.reason as Error);
  if (signal.aborted) fail();
  signal.addEventListener('abort', fail, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', fail);
  }
}

/** To be awaited later; a failure until then is not one that nobody handles. */
export function caught<Value>(work: Promise<Value>): Promise<Value> {
  work.catch(() => {});
  return work;
}
