/** Where a page stands among all; `page` is 1-based. */
export function paginationOf({ page, limit, total }: { page: number; limit: number; total: number }) {
  return { currentPage: page, limit, totalItems: total, totalPages: Math.ceil(total / limit) };
}
