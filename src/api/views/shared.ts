/** Metadata as callers see it: internal fields (`sm_internal_…`) never leave. */
export function publicMetadata<Value>(metadata: Record<string, Value>): Record<string, Value> {
  const entries = Object.entries(metadata).filter(([key]) => !key.startsWith('sm_internal_'));
  return Object.fromEntries(entries);
}

/** Where a page stands among all; `page` is 1-based. */
export function paginationOf({ page, limit, total }: { page: number; limit: number; total: number }) {
  return { currentPage: page, limit, totalItems: total, totalPages: Math.ceil(total / limit) };
}
