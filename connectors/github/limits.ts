import type { BudgetSpec, SourceAnswer, Verdict } from 'memoryd/connector';

const headers = { remaining: 'x-ratelimit-remaining', reset: 'x-ratelimit-reset', resetUnit: 'unix-seconds' } as const;
const hour = { rate: 5_000, perMs: 3_600_000, headers, reserve: 0.2 };

/** Both APIs have a quota of their own, and GitHub watches the pace of all requests together. */
export const budgets: BudgetSpec[] = [
  { match: 'GET */**', ...hour },
  { match: 'POST */**', ...hour },
  { match: '*', rate: 900, perMs: 60_000 },
];

const pauseMs = 60_000;

/** What GitHub means where its status does not tell. Limits with `retry-after` or a spent quota are told by their headers. */
export function classify(answer: SourceAnswer): Verdict | undefined {
  if (answer.status === 403 || answer.status === 429) return refusal(answer);
  if (answer.status === 451)
    return { kind: 'forbidden', remedy: 'GitHub has closed this repository for legal reasons.' };
  if (answer.status === 200 && answer.headers['x-ratelimit-resource'] === 'graphql') return spentPoints(answer);
  return undefined;
}

function refusal(answer: SourceAnswer): Verdict | undefined {
  if (answer.headers['retry-after'] !== undefined || answer.headers['x-ratelimit-remaining'] === '0') return undefined;
  // Without a time GitHub asks for a minute at least; the framework waits longer each time.
  if (/secondary rate|abuse detection/i.test(answer.text())) return { kind: 'rate_limited', retryAfterMs: pauseMs };
  if (answer.status === 403 && answer.headers['x-github-sso'] !== undefined) {
    return { kind: 'forbidden', remedy: 'Authorize the token for the organization’s single sign-on.' };
  }
  return undefined;
}

function spentPoints(answer: SourceAnswer): Verdict | undefined {
  const errors: { type?: string }[] = answer.json()?.errors ?? [];
  if (!errors.some(({ type }) => type === 'RATE_LIMITED')) return undefined;
  const reset = Number(answer.headers['x-ratelimit-reset']);
  return reset > 0
    ? { kind: 'rate_limited', retryAt: new Date(reset * 1_000) }
    : { kind: 'rate_limited', retryAfterMs: pauseMs };
}
