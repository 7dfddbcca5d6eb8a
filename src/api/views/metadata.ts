/** Metadata as callers see it: internal fields (`sm_internal_…`) never leave. */
export function publicMetadata<Value>(metadata: Record<string, Value>): Record<string, Value> {
  const entries = Object.entries(metadata).filter(([key]) => !key.startsWith('sm_internal_'));
  return Object.fromEntries(entries);
}
