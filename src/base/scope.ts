/** The containers an operation may see: some, or every one (`null`). An empty list sees nothing. */
export type Scope = { readonly containerTags: readonly string[] | null };

export const everyContainer: Scope = { containerTags: null };
