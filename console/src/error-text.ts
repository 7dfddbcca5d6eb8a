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
  return said.length > 0 ? joined([...new Set(said)]) : undefined;
}

/** A sentence that is over stands by itself; what is none yet goes on behind a colon. */
function joined(said: readonly string[]): string {
  return said.reduce((before, next) => `${before}${/[.!?]$/.test(before) ? '' : ':'} ${next}`);
}

function sentencesOf(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  if (Array.isArray(value)) return value.flatMap(sentencesOf);
  const { message } = (value ?? {}) as { message?: unknown };
  return typeof message === 'string' ? [message] : [];
}
