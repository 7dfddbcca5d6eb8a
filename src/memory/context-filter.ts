/** `filterByMetadata` of a document (section 12.1 of the API): all keys must fit, of an array any entry. */
export type ContextFilter = Readonly<Record<string, unknown>>;

/** Whether a memory with one of these metadata is seen when a document with the filter is read. */
export function isInContext(filter: ContextFilter | null, metadata: readonly Record<string, unknown>[]): boolean {
  if (filter === null) return true;
  return metadata.some((one) => Object.entries(filter).every(([key, wanted]) => haveCommon(one[key], wanted)));
}

function haveCommon(stored: unknown, wanted: unknown): boolean {
  const values = listOf(stored);
  return listOf(wanted).some((one) => values.includes(one));
}

/** Values are compared as filters compare them: by their text. */
function listOf(value: unknown): string[] {
  return value === undefined || value === null ? [] : [value].flat().map(String);
}
