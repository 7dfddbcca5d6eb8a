/** The page that a list tool was asked for. */
export function pageOf({ page = 1, limit = 10 }: { page?: number; limit?: number }) {
  return { page, limit };
}

export function paginationOf({ page, limit }: { page: number; limit: number }, totalItems: number) {
  return { currentPage: page, limit, totalItems, totalPages: Math.ceil(totalItems / limit) };
}
