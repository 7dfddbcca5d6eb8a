/** Questions about values that come from connectors. */

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether the database can store a text as it is: without U+0000 and without half surrogate pairs. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000');
}

/** The text with what cannot be stored taken out. */
export function storable(text: string): string {
  return isStorable(text) ? text : text.replaceAll('\u0000', '').toWellFormed();
}

const maxDepth = 50;

/** Whether a value comes back as it was from JSON and the database. Properties that are undefined do not count. */
export function isPlainJson(value: unknown, depth = 0): boolean {
  if (depth > maxDepth) return false;
  switch (typeof value) {
    case 'string':
      return isStorable(value);
    case 'number':
      return Number.isFinite(value);
    case 'boolean':
      return true;
    case 'object':
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (Array.isArray(value)) return value.every((one) => isPlainJson(one, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.entries(value).every(
    ([name, one]) => isStorable(name) && (one === undefined || isPlainJson(one, depth + 1)),
  );
}

/** The time that a text of ISO 8601 names; undefined for any other value. */
export function timeOf(value: unknown): Date | undefined {
  if (typeof value !== 'string') return undefined;
  const time = new Date(value);
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999 ? time : undefined;
}
