/** What the work comes to, or the signal's reason when it aborts first: work that does not listen is not waited for. */
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
