/** What an answer of the API says is wrong: a sentence with details, or a list of what is wrong with each field. */
export function errorText(body: string): string | undefined {
  let answer: Record<string, unknown>;
  try {
    answer = JSON.parse(body) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const { error, message, details } = answer;
  const said = [...sentencesOf(error), ...sentencesOf(message), ...sentencesOf(details)];
  return said.length > 0 ? [...new Set(said)].join(': ') : undefined;
}

function sentencesOf(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  if (Array.isArray(value)) return value.flatMap(sentencesOf);
  const { message } = (value ?? {}) as { message?: unknown };
  return typeof message === 'string' ? [message] : [];
}
