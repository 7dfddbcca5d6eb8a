/** Names for prepared statements; a connection keeps what has a name parsed. */
export interface StatementNames {
  /** Undefined: not worth a name (seen too seldom, or too many have one). */
  nameOf(text: string): string | undefined;
}

const maxNamed = 256;
const maxCounted = 1_024;
const usesBeforeName = 2;
/** Longer texts are put together from a request. A search keeps more than 1 MB in every connection that named it. */
const maxTextLength = 3_000;

/**
 * Names the statements that come again. Bounded, because a search with filters makes ever new
 * texts, and each named one costs memory in every connection until it closes.
 */
export function createStatementNames(): StatementNames {
  const named = new Map<string, string>();
  const uses = new Map<string, number>();
  return {
    nameOf(text) {
      if (text.length > maxTextLength) return undefined;
      const name = named.get(text);
      if (name !== undefined || named.size >= maxNamed) return name;
      const count = (uses.get(text) ?? 0) + 1;
      uses.delete(text);
      if (count > usesBeforeName) {
        named.set(text, `memoryd_${named.size}`);
        return named.get(text);
      }
      uses.set(text, count);
      if (uses.size > maxCounted) uses.delete(uses.keys().next().value!);
      return undefined;
    },
  };
}
