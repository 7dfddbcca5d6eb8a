/** Scores texts against a query, more exactly and more slowly than comparing one vector of each. */
export interface Reranker {
  /**
   * How close each text is to the query, in order: higher is closer. Numbers of one call can be compared
   * with each other only. Throws as `Embedder.embed` does.
   */
  score(query: string, texts: readonly string[], signal?: AbortSignal): Promise<number[]>;
}
