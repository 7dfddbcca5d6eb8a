import type { BudgetSpec, SourceAnswer, Verdict } from 'memoryd/connector';

const headers = { remaining: 'x-ratelimit-remaining', reset: 'x-ratelimit-reset', resetUnit: 'delta-seconds' } as const;

/**
 * The documented average of three requests a second, in steps so small that nobody waits long for a turn. What an answer
 * says is left counts where it is less. https://developers.notion.com/reference/request-limits
 */
export const budgets: BudgetSpec[] = [{ match: '* api.notion.com/**', rate: 9, perMs: 3_000, headers }];

/** By Notion’s own words, which say more than the status. https://developers.notion.com/reference/status-codes */
export function classify(answer: SourceAnswer): Verdict | undefined {
  if (answer.status < 400) return undefined;
  const { code } = (answer.json() ?? {}) as { code?: unknown };
  if (code === 'rate_limited' || code === 'service_overload') return { kind: 'rate_limited' };
  if (code === 'unauthorized') {
    const remedy = 'The token was revoked or replaced. Copy it again from the integration, or log in again.';
    return { kind: 'auth_expired', remedy };
  }
  // Two edits met; the same request is answered a moment later.
  return code === 'conflict_error' ? { kind: 'transient' } : undefined;
}
