/** To be awaited later; a failure until then is not one that nobody handles. */
export function caught<Value>(work: Promise<Value>): Promise<Value> {
  work.catch(() => {});
  return work;
}
